//! Values that a user gave, by flag. Each one was checked when it was added, so readers need not
//! check again.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;

use crate::flag::{AnyFlag, Flag};

/// The given values, in their order, and the defaults.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlagValues {
    values: BTreeMap<&'static str, Vec<OsString>>,
    defaults: BTreeMap<&'static str, OsString>,
}

/// A value that its flag does not take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedValue {
    /// The flag, by its long name.
    pub flag: &'static str,
    /// Explanation of how to write a value.
    pub why: String,
}

impl fmt::Display for RefusedValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "--{}: {}", self.flag, self.why)
    }
}

impl std::error::Error for RefusedValue {}

impl FlagValues {
    /// No given values: the default of each flag that has one.
    pub fn with_defaults(flags: &[&dyn AnyFlag]) -> FlagValues {
        let default = |flag: &&dyn AnyFlag| {
            let spec = flag.spec();
            Some((spec.long, OsString::from(spec.default?)))
        };
        FlagValues { values: BTreeMap::new(), defaults: flags.iter().filter_map(default).collect() }
    }

    /// Adds a value, or several that are separated by the flag's delimiter. The values replace the
    /// default.
    ///
    /// # Errors
    /// If the flag does not take the value; nothing is added then.
    pub fn add(&mut self, flag: &dyn AnyFlag, value: &OsStr) -> Result<(), RefusedValue> {
        let spec = flag.spec();
        let parts: Vec<&OsStr> = match (spec.delimiter, value.to_str()) {
            (Some(delimiter), Some(text)) => text.split(delimiter).map(OsStr::new).collect(),
            _ => vec![value],
        };
        for part in &parts {
            flag.check_value(part).map_err(|why| RefusedValue { flag: spec.long, why })?;
        }
        let values = self.values.entry(spec.long).or_default();
        values.extend(parts.into_iter().map(OsStr::to_owned));
        Ok(())
    }

    /// The value of a flag, the last one if there are several; `None` if it has neither a value nor
    /// a default.
    pub fn get<T>(&self, flag: &Flag<T>) -> Option<T> {
        flag.read_value(self.written_values(flag).last()?).ok()
    }

    /// All values of a flag.
    pub fn all_values<T>(&self, flag: &Flag<T>) -> Vec<T> {
        self.written_values(flag).iter().filter_map(|value| flag.read_value(value).ok()).collect()
    }

    /// Whether a switch is on.
    pub fn is_on(&self, flag: &Flag<bool>) -> bool {
        self.get(flag).unwrap_or(false)
    }

    /// Whether the user gave a value, even if it equals the default.
    pub fn is_given(&self, flag: &dyn AnyFlag) -> bool {
        self.values.contains_key(flag.spec().long)
    }

    /// The values of a flag as they were written, or the default.
    fn written_values(&self, flag: &dyn AnyFlag) -> &[OsString] {
        let long = flag.spec().long;
        let default = || self.defaults.get(long).map_or(&[][..], std::slice::from_ref);
        self.values.get(long).map_or_else(default, Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values;

    static SHARE: Flag<f64> = Flag::text("share", "P", values::parse_share, "").default("0.5");
    static NAMES: Flag<String> =
        Flag::text("name", "NAME", |text| Ok(text.to_owned()), "").repeated();
    static LOUD: Flag<bool> = Flag::switch("loud", "");

    #[test]
    fn a_given_value_replaces_the_default() {
        let mut given = FlagValues::with_defaults(&[&SHARE, &NAMES, &LOUD]);
        assert_eq!((given.get(&SHARE), given.is_on(&LOUD)), (Some(0.5), false));
        assert!(!given.is_given(&NAMES));
        given.add(&SHARE, OsStr::new("0.25")).unwrap();
        given.add(&LOUD, OsStr::new("true")).unwrap();
        for name in ["a", "b"] {
            given.add(&NAMES, OsStr::new(name)).unwrap();
        }
        assert_eq!((given.all_values(&SHARE), given.is_on(&LOUD)), (vec![0.25], true));
        assert_eq!((given.get(&NAMES), given.all_values(&NAMES).len()), (Some("b".into()), 2));
    }

    #[test]
    fn an_unreadable_value_is_refused_with_its_flag() {
        let mut given = FlagValues::default();
        let refused = given.add(&SHARE, OsStr::new("2")).unwrap_err();
        assert!(refused.to_string().starts_with("--share: '2' is not a number from 0 to 1"));
        assert_eq!(given, FlagValues::default());
    }

    #[test]
    fn several_values_may_be_delimited() {
        static SHARES: Flag<f64> =
            Flag::text("shares", "P", values::parse_share, "").delimited(',');
        let mut given = FlagValues::default();
        assert!(given.add(&SHARES, OsStr::new("0.5,2")).is_err() && !given.is_given(&SHARES));
        given.add(&SHARES, OsStr::new("0.5,1")).unwrap();
        assert_eq!(given.all_values(&SHARES), [0.5, 1.0]);
    }
}
