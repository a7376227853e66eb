//! Numbered names: how the collector names a log if another log already has its name on the host.

use socket_log::names;

/// A name at the collector: the one on the host, and a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NumberedName {
    /// Name on the host.
    pub(super) original: String,
    /// Number after the name; 0 if there is none.
    pub(super) number: u64,
}

/// Largest number that is recognised. No host has more files; in a name with a larger number it is
/// part of the name.
const MAX_NUMBER: u64 = u32::MAX as u64;

impl NumberedName {
    /// First number that is assigned.
    pub(super) const FIRST_NUMBER: u64 = 2;

    /// Splits `name` into the name on the host and its number.
    pub(super) fn parse(name: &str) -> NumberedName {
        let itself = || NumberedName { original: name.to_owned(), number: 0 };
        let Some((stem, rest)) = name.split_once(names::NUMBER_SEPARATOR) else { return itself() };
        let Some((number, extension)) = rest.rsplit_once('.') else { return itself() };
        match number.parse() {
            Ok(parsed @ 1..=MAX_NUMBER) if u64::to_string(&parsed) == number => {
                NumberedName { original: format!("{stem}.{extension}"), number: parsed }
            }
            _ => itself(),
        }
    }

    /// The name at the collector.
    pub(super) fn file_name(&self) -> String {
        let NumberedName { original, number } = self;
        match original.rsplit_once('.') {
            _ if *number == 0 => original.clone(),
            Some((stem, extension)) => {
                format!("{stem}{}{number}.{extension}", names::NUMBER_SEPARATOR)
            }
            None => format!("{original}{}{number}", names::NUMBER_SEPARATOR),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for (name, original, number) in [
            ("7-1.sclog", "7-1.sclog", 0),
            ("7-1+2.sclog", "7-1.sclog", 2),
            ("x+4294967295.spare", "x.spare", 4_294_967_295),
            ("x+4294967296.spare", "x+4294967296.spare", 0),
            ("x+02.spare", "x+02.spare", 0),
            ("x+0.spare", "x+0.spare", 0),
            ("x+y.spare", "x+y.spare", 0),
            ("x+2", "x+2", 0),
        ] {
            let found = NumberedName::parse(name);
            assert_eq!(found, NumberedName { original: original.into(), number }, "{name}");
            assert_eq!(found.file_name(), name);
        }
    }
}
