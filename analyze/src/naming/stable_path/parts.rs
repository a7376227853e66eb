//! The parts of a socket's name: runs of letters and digits, and what stands between them. A number
//! behind letters (`app812`) is a part of its own.

use super::random::{self, Place};

/// A part of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part<'name> {
    pub(super) text: &'name str,
    kind: Kind,
    /// Whether it looks as if it was drawn at random.
    pub(super) is_random: bool,
}

/// What a part may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// What is the same each time: separators, and short words.
    Fixed,
    /// A number.
    Number,
    /// Letters and digits, or letters alone.
    Word,
}

impl Part<'_> {
    /// Whether it may be another one each time.
    pub(super) fn may_change(&self) -> bool {
        self.kind != Kind::Fixed
    }

    /// The number that it is.
    pub(super) fn number(&self) -> Option<u32> {
        if self.kind != Kind::Number {
            return None;
        }
        // One of more digits is no process id, and nothing else asks.
        Some(self.text.parse().unwrap_or(u32::MAX))
    }
}

/// The parts of `name`; together they are the name.
pub(super) fn of(name: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    if random::is_autobound(name) {
        let (sign, number) = name.split_at(1);
        push(&mut parts, sign, Kind::Fixed, false);
        push(&mut parts, number, Kind::Word, true);
        return parts;
    }
    // Abstract names are made up as those of temporary files are: nobody looks for them in folders.
    let mut is_temporary = name.starts_with('@');
    for component in name.split_inclusive('/') {
        let (component, slash) = match component.strip_suffix('/') {
            Some(component) => (component, "/"),
            None => (component, ""),
        };
        of_component(component, is_temporary, &mut parts);
        push(&mut parts, slash, Kind::Fixed, false);
        is_temporary |= random::is_temporary(component);
    }
    parts
}

fn of_component<'name>(component: &'name str, is_temporary: bool, parts: &mut Vec<Part<'name>>) {
    if let Some(prefix) = random::drawn_by_library(component).filter(|_| is_temporary) {
        let (prefix, drawn) = component.split_at(prefix);
        push(parts, prefix, Kind::Fixed, false);
        push(parts, drawn, Kind::Word, true);
        return;
    }
    let is_word = |c: char| c.is_ascii_alphanumeric() || (is_temporary && c == '_');
    let mut rest = component;
    let mut before = None;
    while !rest.is_empty() {
        let uuid = random::uuid(rest).filter(|_| before.is_none_or(|c: char| !is_word(c)));
        let first = rest.chars().next();
        let of_word = first.is_some_and(is_word);
        let end =
            uuid.unwrap_or_else(|| rest.find(|c| is_word(c) != of_word).unwrap_or(rest.len()));
        let (part, behind) = rest.split_at(end);
        if uuid.is_some() {
            push(parts, part, Kind::Word, true);
        } else if of_word {
            let place = Place { is_temporary, is_last: behind.is_empty(), before };
            of_word_at(part, place, parts);
        } else {
            push(parts, part, Kind::Fixed, false);
        }
        before = part.chars().next_back();
        rest = behind;
    }
}

/// The parts of a run of letters and digits.
fn of_word_at<'name>(word: &'name str, place: Place, parts: &mut Vec<Part<'name>>) {
    if random::is_drawn(word, place) {
        push(parts, word, Kind::Word, true);
        return;
    }
    for word in word.split_inclusive('_') {
        let (word, sign) = match word.strip_suffix('_') {
            Some(word) => (word, "_"),
            None => (word, ""),
        };
        // A number behind letters: `app812`.
        let letters = word.trim_end_matches(|c: char| c.is_ascii_digit());
        let (letters, number) = word.split_at(letters.len());
        let kind = match number.is_empty() && random::may_be_drawn(word) {
            true => Kind::Word,
            false => Kind::Fixed,
        };
        push(parts, letters, kind, false);
        push(parts, number, Kind::Number, random::is_long_number(number));
        push(parts, sign, Kind::Fixed, false);
    }
}

fn push<'name>(parts: &mut Vec<Part<'name>>, text: &'name str, kind: Kind, is_random: bool) {
    if !text.is_empty() {
        parts.push(Part { text, kind, is_random });
    }
}
