//! A key in words: its owner, and its validity.

use collector::keys::{KeyContents, KeyRole, RevocationList};
use jiff::Timestamp;

/// Whether a machine's key is on a list.
pub(super) fn is_revoked(list: Option<&RevocationList>, key: &KeyContents) -> bool {
    key.role.is_some() && list.is_some_and(|list| list.contains(&key.certificate))
}

/// The owner of a key.
pub(super) fn owner_words(role: Option<KeyRole>, names: &[String]) -> String {
    match role {
        None => "the authority".to_owned(),
        Some(KeyRole::Collector) => "the collector".to_owned(),
        Some(KeyRole::Host) => format!("host {}", names.join(", ")),
    }
}

/// The owner of a key, and its validity.
pub(super) fn key_line(
    KeyContents { role, names, valid: [from, until], .. }: &KeyContents,
    revoked: bool,
    now: i64,
) -> String {
    let owner = owner_words(*role, names);
    let state = match now {
        _ if revoked => ", revoked",
        _ if now < *from => ", not yet valid",
        _ if now > *until => ", expired",
        _ => "",
    };
    format!("{owner}, from {} until {}{state}", format_day(*from), format_day(*until))
}

/// A time in a certificate as text.
pub(super) fn format_day(seconds: i64) -> String {
    Timestamp::from_second(seconds)
        .map_or_else(|_| format!("second {seconds}"), |time| time.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_shows_whether_the_key_is_valid() {
        let contents = KeyContents {
            role: Some(KeyRole::Host),
            names: vec!["a".into(), "b".into()],
            valid: [100, 200],
            certificate: Vec::new().into(),
        };
        let always = "host a, b, from 1970-01-01T00:01:40Z until 1970-01-01T00:03:20Z";
        for (now, state) in [(99, ", not yet valid"), (100, ""), (200, ""), (201, ", expired")] {
            assert_eq!(key_line(&contents, false, now), format!("{always}{state}"));
            assert_eq!(key_line(&contents, true, now), format!("{always}, revoked"));
        }
    }
}
