//! Lines of IMAP: tags, the known verbs, greetings, and the literal after a line.

use crate::cursor::parse_decimal;

/// Commands of RFC 9051, RFC 3501 and common extensions.
const VERBS: &[&str] = &[
    "CAPABILITY",
    "NOOP",
    "LOGOUT",
    "STARTTLS",
    "AUTHENTICATE",
    "LOGIN",
    "ENABLE",
    "SELECT",
    "EXAMINE",
    "CREATE",
    "DELETE",
    "RENAME",
    "SUBSCRIBE",
    "UNSUBSCRIBE",
    "LIST",
    "LSUB",
    "NAMESPACE",
    "STATUS",
    "APPEND",
    "IDLE",
    "CLOSE",
    "UNSELECT",
    "EXPUNGE",
    "SEARCH",
    "FETCH",
    "STORE",
    "COPY",
    "MOVE",
    "CHECK",
    "SORT",
    "THREAD",
    "ID",
    "GETQUOTA",
    "GETQUOTAROOT",
    "COMPRESS",
];

/// Words that may follow `UID`.
const UID_VERBS: [(&str, &str); 8] = [
    ("FETCH", "UID FETCH"),
    ("STORE", "UID STORE"),
    ("SEARCH", "UID SEARCH"),
    ("COPY", "UID COPY"),
    ("MOVE", "UID MOVE"),
    ("EXPUNGE", "UID EXPUNGE"),
    ("SORT", "UID SORT"),
    ("THREAD", "UID THREAD"),
];

/// Parses the tag and verb of a client's line.
pub(super) fn parse_command(line: &[u8]) -> Option<(&[u8], &'static str)> {
    let mut words = line.split(|byte| *byte == b' ');
    let tag = words.next().filter(|tag| is_tag(tag))?;
    let word = words.next()?;
    let is = |word: &[u8], name: &str| name.as_bytes().eq_ignore_ascii_case(word);
    if is(word, "UID") {
        let word = words.next()?;
        return UID_VERBS.iter().find(|(name, _)| is(word, name)).map(|(_, name)| (tag, *name));
    }
    VERBS.iter().find(|name| is(word, name)).map(|name| (tag, *name))
}

/// Whether a server's line is a greeting.
pub(super) fn is_greeting(line: &[u8]) -> bool {
    [b"* OK".as_slice(), b"* PREAUTH", b"* BYE"].iter().any(|of| line.starts_with(of))
}

pub(super) fn is_tag(tag: &[u8]) -> bool {
    (1..=24).contains(&tag.len()) && tag.iter().all(|of| of.is_ascii_alphanumeric() || *of == b'.')
}

/// Whether a line begins with a tag that equals the tag of the command `call` except for the digits
/// at its end (`a7`, `a8`): then the line is another command, even with an unknown verb.
pub(super) fn has_tag_like(line: &[u8], call: u64) -> bool {
    let tag = line.split(|byte| *byte == b' ').next().unwrap_or_default();
    let letters = |tag: &[u8]| {
        let digits = tag.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
        (digits > 0).then(|| tag[..tag.len() - digits].to_vec())
    };
    let call = call.to_be_bytes();
    let known =
        letters(call.get(call.iter().take_while(|byte| **byte == 0).count()..).unwrap_or(&[]));
    is_tag(tag) && known.is_some() && letters(tag) == known
}

/// Encodes a tag as a number: its bytes, with a longer tag folded together.
pub(super) fn tag_number(tag: &[u8]) -> u64 {
    tag.iter().fold(0, |number: u64, byte| number.rotate_left(8) ^ u64::from(*byte))
}

/// Length of the literal after a line: `{12}` or `{12+}`.
pub(super) fn literal_length(line: &[u8]) -> Option<u64> {
    let inner = line.strip_suffix(b"}")?;
    let begin = inner.iter().rposition(|byte| *byte == b'{')? + 1;
    let digits = inner.get(begin..)?;
    parse_decimal(digits.strip_suffix(b"+").unwrap_or(digits))
}
