//! Recognises random text: the forms that libraries give the names of temporary files, and letters
//! and digits in an order that words do not have.

use crate::tuning::naming::{
    LONGEST_DRAWN_WORD, MIN_DRAWN, MIN_HEXADECIMAL, MIN_LONG_NUMBER, MIN_PLAIN_DRAWN,
};

/// Position of a run of letters and digits.
#[derive(Clone, Copy, Debug)]
pub(super) struct WordPosition {
    /// Whether the run is below a folder of temporary files, or in an abstract name.
    pub(super) is_temporary: bool,
    /// Whether the run ends its component of the path, as names by `mkstemp` and `mkdtemp` do.
    pub(super) is_last: bool,
    /// The character before the run in the component.
    pub(super) before: Option<char>,
}

/// Returns whether a component of a path is a folder for temporary files, by its name.
pub(super) fn is_temporary(component: &str) -> bool {
    matches!(component, "tmp" | "temp" | "TMP" | "TEMP")
}

/// Returns the length of the part before the random part, if a component of a path has the default
/// form of a library's temporary files: `tmp` and 8 characters (Python), `.tmp` and 6 (Rust),
/// `tmp.` and 10 (`mktemp`). `None` for any other form.
pub(super) fn library_prefix_length(component: &str) -> Option<usize> {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric();
    let is_of_python = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_');
    let is_drawn = |prefix: &str, length: usize, may: &dyn Fn(u8) -> bool| {
        let rest = component.strip_prefix(prefix).filter(|rest| rest.len() == length)?;
        rest.bytes().all(may).then_some(prefix.len())
    };
    is_drawn("tmp.", 10, &is_letter)
        .or_else(|| is_drawn(".tmp", 6, &is_letter))
        .or_else(|| is_drawn("tmp", 8, &is_of_python))
}

/// Returns whether an abstract name is one that the kernel gave an unnamed socket (unix(7),
/// autobind): five hexadecimal digits.
pub(super) fn is_autobound(name: &str) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    name.strip_prefix('@').is_some_and(|rest| rest.len() == 5 && rest.bytes().all(is_digit))
}

/// Returns the length of the UUID that a text begins with.
pub(super) fn uuid_length(text: &str) -> Option<usize> {
    const GROUPS: [usize; 5] = [8, 4, 4, 4, 12];
    let mut at = 0;
    for (place, length) in GROUPS.into_iter().enumerate() {
        if place > 0 {
            at += text.get(at..)?.starts_with('-').then_some(1)?;
        }
        let group = text.get(at..at + length)?;
        group.bytes().all(|byte| byte.is_ascii_hexdigit()).then_some(())?;
        at += length;
    }
    let goes_on = text.get(at..)?.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '-');
    (!goes_on).then_some(at)
}

/// Returns whether a number is longer than any that distinguishes services: a time, or a random
/// one.
pub(super) fn is_long_number(number: &str) -> bool {
    number.len() >= MIN_LONG_NUMBER
}

/// Returns whether a run may be random if names of the same form show that it is.
pub(super) fn may_be_drawn(word: &str) -> bool {
    word.len() >= MIN_DRAWN
}

/// Returns whether a run of letters and digits looks random: by itself, or for its position.
pub(super) fn is_drawn(word: &str, place: WordPosition) -> bool {
    if word.len() < MIN_DRAWN || is_wordlike(word) {
        return false;
    }
    let begins = place.before.is_none_or(|before| !before.is_alphanumeric());
    if place.is_temporary && begins {
        return true;
    }
    let has = |of: fn(u8) -> bool| word.bytes().any(of);
    let is_hexadecimal = word.len() >= MIN_HEXADECIMAL
        && word.bytes().all(|byte| byte.is_ascii_hexdigit())
        && has(|byte| byte.is_ascii_digit())
        && !(has(|byte| byte.is_ascii_lowercase()) && has(|byte| byte.is_ascii_uppercase()));
    let runs = character_runs(word);
    let longest = runs.iter().map(|run| run.len()).max().unwrap_or_default();
    let is_mixed = 2 * runs.len() >= word.len() && longest <= LONGEST_DRAWN_WORD;
    let is_last = place.is_last && place.before.is_some_and(|before| ".-_".contains(before));
    is_hexadecimal || (is_mixed && (is_last || word.len() >= MIN_PLAIN_DRAWN))
}

/// Returns whether a run is made of words as people write them: each has two letters or more, and
/// may begin with a capital or consist of capitals; a short number may follow the last one.
fn is_wordlike(word: &str) -> bool {
    word.split('_').filter(|word| !word.is_empty()).all(|word| {
        let runs = character_runs(word);
        let (last, first) = match runs.split_last() {
            Some((last, first)) => (*last, first),
            None => return true,
        };
        let is_number = |run: &str| run.bytes().all(|byte| byte.is_ascii_digit());
        let is_text = |run: &str| !is_number(run) && run.len() >= 2;
        match first {
            [] => !is_number(last) || last.len() < MIN_LONG_NUMBER,
            first if is_number(last) => {
                last.len() <= 4 && (first.iter().all(|run| is_text(run)) || first.len() == 1)
            }
            first => is_text(last) && first.iter().all(|run| is_text(run)),
        }
    })
}

/// Returns the runs of a word that a reader sees: capitals, a capital with the small letters after
/// it, small letters, digits.
fn character_runs(word: &str) -> Vec<&str> {
    let bytes = word.as_bytes();
    let class = |byte: u8| match byte {
        b'0'..=b'9' => 0,
        b'A'..=b'Z' => 1,
        _ => 2,
    };
    let mut boundaries = vec![0];
    for at in 1..bytes.len() {
        let [before, here] = [class(bytes[at - 1]), class(bytes[at])];
        let next = bytes.get(at + 1).map(|byte| class(*byte));
        let is_boundary = match (before, here) {
            (1, 2) => false,
            // The last of several capitals begins a word: `SQLServer`.
            (1, 1) => next == Some(2),
            (before, here) => before != here,
        };
        if is_boundary {
            boundaries.push(at);
        }
    }
    boundaries.push(bytes.len());
    boundaries.windows(2).filter_map(|pair| word.get(pair[0]..pair[1])).collect()
}
