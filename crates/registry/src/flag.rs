//! Flags as plain data: the name of a flag, the values it takes, and how they are read.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::str::FromStr;

use crate::values;

/// A flag with values of type `T`. Flags are statics, and a flag is the key by which its value is
/// read ([`FlagValues::get`](crate::FlagValues::get)).
#[derive(Debug)]
pub struct Flag<T> {
    /// Description of the flag without the type of its values.
    pub spec: FlagSpec,
    reader: ValueReader<T>,
}

/// Description of a flag for the user: everything but the type of its values.
#[derive(Clone, Copy, Debug)]
pub struct FlagSpec {
    /// The long name without its leading hyphens. It is also the configuration key.
    pub long: &'static str,
    /// The one-letter name of the flag.
    pub short: Option<char>,
    /// The name of the flag's value in help, such as `TIME`; empty for a switch.
    pub value_name: &'static str,
    /// The values that the flag takes.
    pub values: ValueSyntax,
    /// The value if the user gives none.
    pub default: Option<&'static str>,
    /// The text of what holds if the user gives none, if that is a constant of the program that the
    /// flag's reader does not see.
    pub shown_default: Option<fn() -> String>,
    /// What the flag does, without its default.
    pub help: &'static str,
    /// The heading in help under which the flag is listed; `None` for the common heading.
    pub heading: Option<&'static str>,
    /// Whether the flag may be given several times.
    pub repeats: bool,
    /// The separator of several values in one argument.
    pub delimiter: Option<char>,
    /// Long names of flags that must be given with this one.
    pub requires: &'static [&'static str],
    /// Long names of flags that cannot be given with this one.
    pub conflicts: &'static [&'static str],
    /// Values that completion offers in addition to `values`.
    pub offer: ValueOffer,
    /// The error if a user gives the flag to an entry that does not take it, in a command with the
    /// flags of several entries.
    pub refusal: Option<&'static str>,
}

impl FlagSpec {
    /// The text of help: what the flag does, and its default.
    pub fn help_text(&self) -> String {
        match self.shown_default {
            Some(show) => values::with_default(self.help, show()),
            None => self.help.to_owned(),
        }
    }

    /// Why an entry does not take the flag.
    pub fn refusal(&self) -> String {
        self.refusal.map_or_else(|| format!("--{} does not apply here", self.long), str::to_owned)
    }
}

/// The values that a flag takes.
#[derive(Clone, Copy, Debug)]
pub enum ValueSyntax {
    /// No value: the flag is on when it is given.
    Switch,
    /// A path, which need not exist.
    Path,
    /// A text that the flag's reader accepts or refuses.
    Text,
    /// A whole number.
    Number {
        /// The least permitted number.
        least: i64,
        /// The greatest; `None`: no limit.
        most: Option<i64>,
    },
    /// The value is one of a few words.
    OneOf {
        /// The words, in the order in which they are offered.
        choices: fn() -> Vec<FlagChoice>,
        /// Whether help lists the words; false if the flag's own help names them.
        listed: bool,
    },
}

/// A word that a flag takes as its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlagChoice {
    /// The word itself.
    pub name: &'static str,
    /// A synonym, which is accepted but not offered.
    pub alias: Option<&'static str>,
    /// Meaning of the word; may be empty.
    pub help: &'static str,
}

impl FlagChoice {
    /// A word that explains itself.
    pub const fn without_help(name: &'static str) -> FlagChoice {
        FlagChoice { name, alias: None, help: "" }
    }
}

/// Values of a data directory that completion can offer for a flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueOffer {
    /// Nothing is offered.
    Nothing,
    /// The numbers of patterns.
    Patterns,
    /// The names of nodes.
    Nodes,
    /// The names of hosts.
    Hosts,
}

/// Conversion of the text of a value to the value.
#[derive(Debug)]
enum ValueReader<T> {
    /// UTF-8 text only; the error explains how to write a value.
    Text(fn(&str) -> Result<T, String>),
    /// Any file name.
    Path(fn(&OsStr) -> T),
}

impl Flag<bool> {
    /// A flag that is on when it is given.
    pub const fn switch(long: &'static str, help: &'static str) -> Flag<bool> {
        Flag::new(long, "", ValueSyntax::Switch, ValueReader::Text(parse_number), help)
    }
}

impl Flag<PathBuf> {
    /// A flag that names a file or a directory.
    pub const fn path(
        long: &'static str,
        value_name: &'static str,
        help: &'static str,
    ) -> Flag<PathBuf> {
        Flag::new(long, value_name, ValueSyntax::Path, ValueReader::Path(|path| path.into()), help)
    }
}

impl<T: FromStr> Flag<T> {
    /// A flag that takes a whole number from `least` to `most`, inclusive.
    pub const fn number(
        long: &'static str,
        value_name: &'static str,
        least: i64,
        most: Option<i64>,
        help: &'static str,
    ) -> Flag<T> {
        Flag::new(
            long,
            value_name,
            ValueSyntax::Number { least, most },
            ValueReader::Text(parse_number),
            help,
        )
    }
}

impl<T> Flag<T> {
    /// A flag with values that `read` accepts or refuses with an explanation.
    pub const fn text(
        long: &'static str,
        value_name: &'static str,
        read: fn(&str) -> Result<T, String>,
        help: &'static str,
    ) -> Flag<T> {
        Flag::new(long, value_name, ValueSyntax::Text, ValueReader::Text(read), help)
    }

    /// A flag that takes one of a few words, which help lists.
    pub const fn one_of(
        long: &'static str,
        value_name: &'static str,
        choices: fn() -> Vec<FlagChoice>,
        read: fn(&str) -> Result<T, String>,
        help: &'static str,
    ) -> Flag<T> {
        let values = ValueSyntax::OneOf { choices, listed: true };
        Flag::new(long, value_name, values, ValueReader::Text(read), help)
    }

    const fn new(
        long: &'static str,
        value_name: &'static str,
        values: ValueSyntax,
        reader: ValueReader<T>,
        help: &'static str,
    ) -> Flag<T> {
        let spec = FlagSpec {
            long,
            short: None,
            value_name,
            values,
            default: None,
            shown_default: None,
            help,
            heading: None,
            repeats: false,
            delimiter: None,
            requires: &[],
            conflicts: &[],
            offer: ValueOffer::Nothing,
            refusal: None,
        };
        Flag { spec, reader }
    }

    /// Gives the flag a one-letter name.
    pub const fn short(mut self, letter: char) -> Flag<T> {
        self.spec.short = Some(letter);
        self
    }

    /// Gives the flag a default value.
    pub const fn default(mut self, value: &'static str) -> Flag<T> {
        self.spec.default = Some(value);
        self
    }

    /// Shows in help what holds if the user gives none. The text is made from the constant itself,
    /// so that help cannot differ from it.
    pub const fn shows_default(mut self, show: fn() -> String) -> Flag<T> {
        self.spec.shown_default = Some(show);
        self
    }

    /// Lists the flag under this heading.
    pub const fn heading(mut self, heading: &'static str) -> Flag<T> {
        self.spec.heading = Some(heading);
        self
    }

    /// Allows the flag several times.
    pub const fn repeated(mut self) -> Flag<T> {
        self.spec.repeats = true;
        self
    }

    /// Allows several values, separated by this character.
    pub const fn delimited(mut self, by: char) -> Flag<T> {
        self.spec.delimiter = Some(by);
        self
    }

    /// Leaves the choices out of the list in help, as the flag's own help names them.
    pub const fn unlisted(mut self) -> Flag<T> {
        if let ValueSyntax::OneOf { choices, .. } = self.spec.values {
            self.spec.values = ValueSyntax::OneOf { choices, listed: false };
        }
        self
    }

    /// Requires the flags with these long names.
    pub const fn requires(mut self, long: &'static [&'static str]) -> Flag<T> {
        self.spec.requires = long;
        self
    }

    /// Makes the flag conflict with the flags with these long names.
    pub const fn conflicts(mut self, long: &'static [&'static str]) -> Flag<T> {
        self.spec.conflicts = long;
        self
    }

    /// Explains why an entry does not take the flag.
    pub const fn refused(mut self, why: &'static str) -> Flag<T> {
        self.spec.refusal = Some(why);
        self
    }

    /// Completes values from the data directory.
    pub const fn offers(mut self, offer: ValueOffer) -> Flag<T> {
        self.spec.offer = offer;
        self
    }

    /// The value that `text` stands for.
    ///
    /// # Errors
    /// An explanation for the user of how to write a value.
    pub fn read_value(&self, text: &OsStr) -> Result<T, String> {
        let read = match self.reader {
            ValueReader::Path(read) => return Ok(read(text)),
            ValueReader::Text(read) => read,
        };
        let text = text.to_str().ok_or_else(|| format!("{} is not UTF-8", text.display()))?;
        self.spec.values.admits_text(text)?;
        read(text)
    }
}

impl ValueSyntax {
    /// Checks whether `text` is one of the flag's values.
    fn admits_text(self, text: &str) -> Result<(), String> {
        match self {
            ValueSyntax::Switch | ValueSyntax::Path | ValueSyntax::Text => Ok(()),
            ValueSyntax::Number { least, most } => {
                let number: i64 = parse_number(text)?;
                match most.is_some_and(|most| number > most) || number < least {
                    true => Err(format!("{number} is not from {least} to {}", RangeEnd(most))),
                    false => Ok(()),
                }
            }
            ValueSyntax::OneOf { choices, .. } => {
                let is = |choice: &FlagChoice| choice.name == text || choice.alias == Some(text);
                if choices().iter().any(is) {
                    return Ok(());
                }
                let names: Vec<&str> = choices().iter().map(|choice| choice.name).collect();
                Err(format!("'{text}' is not one of {}", names.join(", ")))
            }
        }
    }
}

/// The end of a range, for an error message.
struct RangeEnd(Option<i64>);

impl std::fmt::Display for RangeEnd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(most) => most.fmt(f),
            None => f.write_str("any"),
        }
    }
}

/// Numbers, and `true` and `false`.
fn parse_number<T: FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("'{text}' cannot be read"))
}

/// A flag of any type, as registries list it.
pub trait AnyFlag: Send + Sync {
    /// How the flag looks.
    fn spec(&self) -> &FlagSpec;

    /// Whether `text` is a valid value.
    ///
    /// # Errors
    /// An explanation for the user of how to write a value.
    fn check_value(&self, text: &OsStr) -> Result<(), String>;
}

impl<T> AnyFlag for Flag<T> {
    fn spec(&self) -> &FlagSpec {
        &self.spec
    }

    fn check_value(&self, text: &OsStr) -> Result<(), String> {
        self.read_value(text).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text<T>(flag: &Flag<T>, text: &str) -> Result<T, String> {
        flag.read_value(OsStr::new(text))
    }

    #[test]
    fn numbers_have_bounds() {
        let flag: Flag<u16> = Flag::number("n", "N", 1, Some(1000), "");
        assert_eq!((read_text(&flag, "1"), read_text(&flag, "1000")), (Ok(1), Ok(1000)));
        for wrong in ["0", "1001", "-1", "one", "1.5"] {
            assert!(read_text(&flag, wrong).unwrap_err().contains(wrong));
        }
        let open: Flag<u32> = Flag::number("n", "N", 1, None, "");
        assert!(read_text(&open, "4294967296").is_err(), "it is no u32");
    }

    #[test]
    fn only_listed_words_are_accepted() {
        let choices = || vec![FlagChoice { alias: Some("b"), ..FlagChoice::without_help("a") }];
        let flag = Flag::one_of("w", "W", choices, |text| Ok(text.len()), "");
        assert_eq!((read_text(&flag, "a"), read_text(&flag, "b")), (Ok(1), Ok(1)));
        assert!(read_text(&flag, "c").unwrap_err().contains("'c' is not one of a"));
    }

    #[test]
    fn a_path_is_any_file_name() {
        use std::os::unix::ffi::OsStrExt;
        let name = OsStr::from_bytes(b"\xff");
        assert_eq!(Flag::path("p", "FILE", "").read_value(name), Ok(PathBuf::from(name)));
        assert!(Flag::text("t", "T", |text| Ok(text.to_owned()), "").read_value(name).is_err());
    }
}
