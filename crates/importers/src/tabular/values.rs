//! How values are written in imported files: times, sizes, threads, names. Each says what is wrong
//! with a text and what to do.

use std::fmt;
use std::str::FromStr;

use crate::tuning::FARTHEST_NS;

/// The unit of the times in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Seconds.
    Seconds,
    /// Milliseconds.
    Milliseconds,
    /// Microseconds.
    Microseconds,
    /// Nanoseconds.
    Nanoseconds,
}

impl Unit {
    /// All units.
    pub const ALL: [Unit; 4] =
        [Unit::Seconds, Unit::Milliseconds, Unit::Microseconds, Unit::Nanoseconds];

    fn nanoseconds(self) -> i64 {
        match self {
            Unit::Seconds => 1_000_000_000,
            Unit::Milliseconds => 1_000_000,
            Unit::Microseconds => 1_000,
            Unit::Nanoseconds => 1,
        }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Unit::Seconds => "s",
            Unit::Milliseconds => "ms",
            Unit::Microseconds => "us",
            Unit::Nanoseconds => "ns",
        })
    }
}

impl FromStr for Unit {
    type Err = String;

    fn from_str(text: &str) -> Result<Unit, String> {
        Unit::ALL
            .into_iter()
            .find(|unit| unit.to_string() == text)
            .ok_or_else(|| format!("'{text}' is no unit of time; it is one of s, ms, us, ns"))
    }
}

/// What is wrong with a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wrong {
    /// The cause under which it is counted.
    pub(crate) cause: &'static str,
    /// The value itself, and what is wrong with it.
    pub(crate) why: String,
}

impl Wrong {
    /// `text`, shown in a few characters, `what` is wrong with it.
    pub(crate) fn new(cause: &'static str, text: &[u8], what: &str) -> Wrong {
        const SHOWN: usize = 40;
        let text = String::from_utf8_lossy(text);
        let mut shown: String = text.chars().take(SHOWN).flat_map(char::escape_debug).collect();
        if text.chars().nth(SHOWN).is_some() {
            shown.push('…');
        }
        Wrong { cause, why: format!("'{shown}' {what}") }
    }
}

/// A time in `unit`, whole or with decimals, as nanoseconds; what is smaller than those is dropped.
/// An empty text is no time.
pub(crate) fn time(text: &[u8], unit: Unit) -> Result<Option<i64>, Wrong> {
    if text.is_empty() {
        return Ok(None);
    }
    let wrong = |what: &str| Err(Wrong::new("time that is no number", text, what));
    let far = |_: ()| {
        let what = format!(
            "{unit} is farther from 1970 than 146 years; if the unit is another, say so with --unit"
        );
        Wrong::new("time out of range", text, &what)
    };
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, text),
    };
    let point = digits.iter().position(|byte| *byte == b'.').unwrap_or(digits.len());
    let (whole, decimals) = (&digits[..point], digits.get(point + 1..).unwrap_or_default());
    if whole.is_empty() || !whole.iter().chain(decimals).all(u8::is_ascii_digit) {
        return wrong(
            "is no time; it must be a number, such as 1500 or 1.5, or empty where the time is unknown",
        );
    }
    let mut value: i64 = 0;
    for digit in whole {
        let next =
            value.checked_mul(10).and_then(|value| value.checked_add(i64::from(digit - b'0')));
        value = next.ok_or(()).map_err(far)?;
    }
    let mut scale = unit.nanoseconds();
    value = value.checked_mul(scale).ok_or(()).map_err(far)?;
    for digit in decimals {
        scale /= 10;
        value = value.checked_add(i64::from(digit - b'0') * scale).ok_or(()).map_err(far)?;
    }
    if value > FARTHEST_NS {
        return Err(far(()));
    }
    Ok(Some(if negative { -value } else { value }))
}

/// A number of `what`, at least 0; an empty text is none.
pub(crate) fn number(text: &[u8], what: &str) -> Result<Option<i64>, Wrong> {
    if text.is_empty() {
        return Ok(None);
    }
    let number = std::str::from_utf8(text).ok().and_then(|text| text.parse::<i64>().ok());
    number
        .filter(|number| *number >= 0)
        .map(Some)
        .ok_or_else(|| Wrong::new("number that is none", text, &format!("is no number of {what}")))
}

/// A text, which may be empty.
pub(crate) fn text(text: &[u8]) -> Result<&str, Wrong> {
    const LONGEST: usize = 4096;
    let valid = std::str::from_utf8(text).ok().filter(|text| text.len() <= LONGEST);
    valid.ok_or_else(|| {
        Wrong::new("text that is none", text, "is no text; it must be UTF-8 of at most 4096 bytes")
    })
}

/// A name: a text that is not empty.
pub(crate) fn name(name: &[u8]) -> Result<&str, Wrong> {
    match name {
        [] => Err(Wrong::new("name that is missing", name, "is no name; every row must say who")),
        _ => text(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_in_every_unit() {
        let time = |text: &str, unit| time(text.as_bytes(), unit).map_err(|wrong| wrong.cause);
        assert_eq!(time("1500", Unit::Nanoseconds), Ok(Some(1500)));
        assert_eq!(time("-138000", Unit::Nanoseconds), Ok(Some(-138_000)));
        assert_eq!(time("1047680084.482205", Unit::Seconds), Ok(Some(1_047_680_084_482_205_000)));
        assert_eq!(time("-0.5", Unit::Seconds), Ok(Some(-500_000_000)));
        assert_eq!(time("0.1234567891", Unit::Seconds), Ok(Some(123_456_789)));
        assert_eq!(time("7.", Unit::Milliseconds), Ok(Some(7_000_000)));
        assert_eq!(time("1.9", Unit::Nanoseconds), Ok(Some(1)));
        assert_eq!(time("", Unit::Seconds), Ok(None));
        for text in ["soon", "1e9", ".5", "-", "1.2.3", "0x10", "+1", "1 2"] {
            assert_eq!(time(text, Unit::Seconds), Err("time that is no number"), "{text}");
        }
        for text in ["1047680084482205000", "99999999999999999999999", "4611686019"] {
            assert_eq!(time(text, Unit::Seconds), Err("time out of range"), "{text}");
        }
    }

    #[test]
    fn a_wrong_value_is_shown_and_never_whole_where_it_is_long() {
        let wrong = time(b"a\nb", Unit::Seconds).unwrap_err();
        assert!(wrong.why.starts_with("'a\\nb' is no time; it must be"), "{}", wrong.why);
        assert!(name(&[b'x'; 5000]).unwrap_err().why.len() < 200);
        assert!(time(b"1047680084482205", Unit::Seconds).unwrap_err().why.contains("--unit"));
    }

    #[test]
    fn sizes_and_names() {
        assert_eq!(number(b"12", "bytes"), Ok(Some(12)));
        assert_eq!(number(b"", "bytes"), Ok(None));
        assert!(number(b"-1", "bytes").is_err() && number(b"many", "bytes").is_err());
        assert!(name(b"").is_err() && name(b"\xff").is_err());
        assert_eq!(name("würde".as_bytes()), Ok("würde"));
    }
}
