//! The fragments of a socket's name: runs of letters and digits, and the separators between them. A
//! number after letters (`app812`) is a fragment of its own.

use super::random::{self, WordPosition};

/// A fragment of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NameFragment<'name> {
    pub(super) text: &'name str,
    kind: FragmentKind,
    /// Whether the fragment looks as if it was drawn at random.
    pub(super) is_random: bool,
}

/// Kinds of fragments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FragmentKind {
    /// Never varies: separators, and short words.
    Fixed,
    /// A number.
    Number,
    /// Letters and digits, or letters alone.
    Word,
}

impl NameFragment<'_> {
    /// Returns whether the fragment may vary.
    pub(super) fn may_change(&self) -> bool {
        self.kind != FragmentKind::Fixed
    }

    /// Returns the value of the fragment if it is a number.
    pub(super) fn as_number(&self) -> Option<u32> {
        if self.kind != FragmentKind::Number {
            return None;
        }
        // A number with more digits is not a process id, which is all that matters.
        Some(self.text.parse().unwrap_or(u32::MAX))
    }
}

/// Splits `name` into fragments, which together are the name.
pub(super) fn split_name(name: &str) -> Vec<NameFragment<'_>> {
    let mut parts = Vec::new();
    if random::is_autobound(name) {
        let (sign, number) = name.split_at(1);
        push_fragment(&mut parts, sign, FragmentKind::Fixed, false);
        push_fragment(&mut parts, number, FragmentKind::Word, true);
        return parts;
    }
    // Abstract names are made up like those of temporary files, since they are not found by
    // browsing folders.
    let mut is_temporary = name.starts_with('@');
    for component in name.split_inclusive('/') {
        let (component, slash) = match component.strip_suffix('/') {
            Some(component) => (component, "/"),
            None => (component, ""),
        };
        split_component(component, is_temporary, &mut parts);
        push_fragment(&mut parts, slash, FragmentKind::Fixed, false);
        is_temporary |= random::is_temporary(component);
    }
    parts
}

fn split_component<'name>(
    component: &'name str,
    is_temporary: bool,
    parts: &mut Vec<NameFragment<'name>>,
) {
    if let Some(prefix) = random::library_prefix_length(component).filter(|_| is_temporary) {
        let (prefix, drawn) = component.split_at(prefix);
        push_fragment(parts, prefix, FragmentKind::Fixed, false);
        push_fragment(parts, drawn, FragmentKind::Word, true);
        return;
    }
    let is_word = |c: char| c.is_ascii_alphanumeric() || (is_temporary && c == '_');
    let mut rest = component;
    let mut before = None;
    while !rest.is_empty() {
        let uuid = random::uuid_length(rest).filter(|_| before.is_none_or(|c: char| !is_word(c)));
        let first = rest.chars().next();
        let of_word = first.is_some_and(is_word);
        let end =
            uuid.unwrap_or_else(|| rest.find(|c| is_word(c) != of_word).unwrap_or(rest.len()));
        let (part, tail) = rest.split_at(end);
        if uuid.is_some() {
            push_fragment(parts, part, FragmentKind::Word, true);
        } else if of_word {
            let place = WordPosition { is_temporary, is_last: tail.is_empty(), before };
            split_word(part, place, parts);
        } else {
            push_fragment(parts, part, FragmentKind::Fixed, false);
        }
        before = part.chars().next_back();
        rest = tail;
    }
}

/// Splits a run of letters and digits.
fn split_word<'name>(word: &'name str, place: WordPosition, parts: &mut Vec<NameFragment<'name>>) {
    if random::is_drawn(word, place) {
        push_fragment(parts, word, FragmentKind::Word, true);
        return;
    }
    for word in word.split_inclusive('_') {
        let (word, sign) = match word.strip_suffix('_') {
            Some(word) => (word, "_"),
            None => (word, ""),
        };
        // A number after letters: `app812`.
        let letters = word.trim_end_matches(|c: char| c.is_ascii_digit());
        let (letters, number) = word.split_at(letters.len());
        let kind = match number.is_empty() && random::may_be_drawn(word) {
            true => FragmentKind::Word,
            false => FragmentKind::Fixed,
        };
        push_fragment(parts, letters, kind, false);
        push_fragment(parts, number, FragmentKind::Number, random::is_long_number(number));
        push_fragment(parts, sign, FragmentKind::Fixed, false);
    }
}

fn push_fragment<'name>(
    parts: &mut Vec<NameFragment<'name>>,
    text: &'name str,
    kind: FragmentKind,
    is_random: bool,
) {
    if !text.is_empty() {
        parts.push(NameFragment { text, kind, is_random });
    }
}
