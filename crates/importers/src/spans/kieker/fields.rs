//! Fields of one record: texts separated by semicolons.

use crate::tabular::WrongValue;
use crate::tuning::MAX_EPOCH_DISTANCE_NS;

/// Fields of a record, after its type and the time at which it was logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct KiekerFields<'a>(Vec<&'a str>);

impl<'a> KiekerFields<'a> {
    /// Parses the number of a record's type, and its fields: `$1;logged;first;second`.
    pub(super) fn parse_line(line: &'a str) -> Result<(u32, KiekerFields<'a>), WrongValue> {
        let mut all = line.trim_end_matches('\r').split(';');
        let number = all.next().and_then(|begin| begin.strip_prefix('$')?.parse().ok());
        let (Some(number), Some(_)) = (number, all.next()) else {
            let why = "it must begin with the number of a type and a time, as in $1;1500;...";
            return Err(WrongValue { cause: "line that is not a record", why: why.to_owned() });
        };
        Ok((number, KiekerFields(all.collect())))
    }

    /// Number of fields.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The fields from `place` on.
    pub(super) fn fields_from(&self, place: usize) -> KiekerFields<'a> {
        KiekerFields(self.0.get(place..).unwrap_or_default().to_vec())
    }

    /// The field at `place`.
    pub(super) fn text(&self, place: usize) -> Result<&'a str, WrongValue> {
        self.0.get(place).copied().ok_or_else(|| WrongValue {
            cause: "truncated record",
            why: format!("it has only {} fields", self.0.len()),
        })
    }

    /// The field at `place`; empty if it is missing or states that there is no value.
    pub(super) fn text_if_any(&self, place: usize) -> &'a str {
        let text = self.0.get(place).copied().unwrap_or_default();
        match text {
            "<no-session-id>" | "N/A" | "NULL" | "<default-host>" | "-" => "",
            _ => text,
        }
    }

    /// The number at `place`.
    pub(super) fn number(&self, place: usize) -> Result<i64, WrongValue> {
        let text = self.text(place)?;
        text.parse().map_err(|_| WrongValue {
            cause: "invalid number",
            why: format!("field {}: {text:.40?} is not a whole number", place + 1),
        })
    }

    /// The time at `place` in nanoseconds; `unit_ns` is the length of the field's unit in
    /// nanoseconds.
    pub(super) fn time(&self, place: usize, unit_ns: i64) -> Result<i64, WrongValue> {
        let number = self.number(place)?;
        let time = number.checked_mul(unit_ns);
        time.filter(|time| time.unsigned_abs() <= MAX_EPOCH_DISTANCE_NS as u64).ok_or_else(|| {
            WrongValue {
                cause: "time out of range",
                why: format!("field {}: {number} is farther from 1970 than 146 years", place + 1),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_a_record() {
        let (number, fields) = KiekerFields::parse_line("$12;1500;a b(int);-7;N/A;\r").unwrap();
        assert_eq!((number, fields.len(), fields.text(0)), (12, 4, Ok("a b(int)")));
        assert_eq!((fields.number(1), fields.time(1, 1_000)), (Ok(-7), Ok(-7_000)));
        assert_eq!(
            (fields.text_if_any(2), fields.text_if_any(3), fields.text_if_any(9)),
            ("", "", "")
        );
        assert_eq!(fields.fields_from(1).number(0), Ok(-7));
        assert_eq!(fields.text(4).unwrap_err().cause, "truncated record");
        assert!(fields.number(0).unwrap_err().why.contains("field 1: \"a b(int)\" is not"));
        assert_eq!(fields.time(1, i64::MAX / 3).unwrap_err().cause, "time out of range");
        for line in ["", "$1", "1;2;3", "$;2", "$-1;2", "$x;1;2"] {
            assert_eq!(
                KiekerFields::parse_line(line).unwrap_err().cause,
                "line that is not a record",
                "{line}"
            );
        }
    }
}
