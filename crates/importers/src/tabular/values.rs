//! Values in imported files: times, sizes, threads, names. Each parser describes the fault of a
//! text and its remedy.

use std::fmt;
use std::str::FromStr;

use crate::tuning::MAX_EPOCH_DISTANCE_NS;

/// Unit of the times in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeUnit {
    /// Seconds.
    Seconds,
    /// Milliseconds.
    Milliseconds,
    /// Microseconds.
    Microseconds,
    /// Nanoseconds.
    Nanoseconds,
}

impl TimeUnit {
    /// All units.
    pub const ALL: [TimeUnit; 4] =
        [TimeUnit::Seconds, TimeUnit::Milliseconds, TimeUnit::Microseconds, TimeUnit::Nanoseconds];

    fn in_nanoseconds(self) -> i64 {
        match self {
            TimeUnit::Seconds => 1_000_000_000,
            TimeUnit::Milliseconds => 1_000_000,
            TimeUnit::Microseconds => 1_000,
            TimeUnit::Nanoseconds => 1,
        }
    }
}

impl fmt::Display for TimeUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TimeUnit::Seconds => "s",
            TimeUnit::Milliseconds => "ms",
            TimeUnit::Microseconds => "us",
            TimeUnit::Nanoseconds => "ns",
        })
    }
}

impl FromStr for TimeUnit {
    type Err = String;

    fn from_str(text: &str) -> Result<TimeUnit, String> {
        TimeUnit::ALL
            .into_iter()
            .find(|unit| unit.to_string() == text)
            .ok_or_else(|| format!("'{text}' is not a unit of time; choose s, ms, us or ns"))
    }
}

/// Fault of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WrongValue {
    /// Cause under which the fault is counted.
    pub(crate) cause: &'static str,
    /// The value and its fault, in words.
    pub(crate) why: String,
}

impl WrongValue {
    /// Creates the fault `what` of `text`, which is shown in a few characters.
    pub(crate) fn new(cause: &'static str, text: &[u8], what: &str) -> WrongValue {
        const SHOWN: usize = 40;
        let text = String::from_utf8_lossy(text);
        let mut shown: String = text.chars().take(SHOWN).flat_map(char::escape_debug).collect();
        if text.chars().nth(SHOWN).is_some() {
            shown.push('…');
        }
        WrongValue { cause, why: format!("'{shown}' {what}") }
    }
}

/// Parses a time in `unit`, whole or with decimals, as nanoseconds; smaller fractions are dropped.
/// `None` if the text is empty.
pub(crate) fn parse_time(text: &[u8], unit: TimeUnit) -> Result<Option<i64>, WrongValue> {
    if text.is_empty() {
        return Ok(None);
    }
    let wrong = |what: &str| Err(WrongValue::new("time that is not a number", text, what));
    let far = |_: ()| {
        let what = format!(
            "{unit} is farther from 1970 than 146 years; if it is in another unit, give --unit"
        );
        WrongValue::new("time out of range", text, &what)
    };
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, text),
    };
    let point = digits.iter().position(|byte| *byte == b'.').unwrap_or(digits.len());
    let (whole, decimals) = (&digits[..point], digits.get(point + 1..).unwrap_or_default());
    if whole.is_empty() || !whole.iter().chain(decimals).all(u8::is_ascii_digit) {
        return wrong(
            "is not a time; it must be a number, such as 1500 or 1.5, or empty if the time is \
             unknown",
        );
    }
    let mut value: i64 = 0;
    for digit in whole {
        let next =
            value.checked_mul(10).and_then(|value| value.checked_add(i64::from(digit - b'0')));
        value = next.ok_or(()).map_err(far)?;
    }
    let mut scale = unit.in_nanoseconds();
    value = value.checked_mul(scale).ok_or(()).map_err(far)?;
    for digit in decimals {
        scale /= 10;
        value = value.checked_add(i64::from(digit - b'0') * scale).ok_or(()).map_err(far)?;
    }
    if value > MAX_EPOCH_DISTANCE_NS {
        return Err(far(()));
    }
    Ok(Some(if negative { -value } else { value }))
}

/// Parses a number of `what` that is at least 0; `None` if the text is empty.
pub(crate) fn parse_number(text: &[u8], what: &str) -> Result<Option<i64>, WrongValue> {
    if text.is_empty() {
        return Ok(None);
    }
    let number = std::str::from_utf8(text).ok().and_then(|text| text.parse::<i64>().ok());
    number.filter(|number| *number >= 0).map(Some).ok_or_else(|| {
        WrongValue::new("invalid number", text, &format!("is not a number of {what}"))
    })
}

/// Parses a text, which may be empty.
pub(crate) fn parse_text(text: &[u8]) -> Result<&str, WrongValue> {
    const MAX_TEXT_BYTES: usize = 4096;
    let valid = std::str::from_utf8(text).ok().filter(|text| text.len() <= MAX_TEXT_BYTES);
    valid.ok_or_else(|| {
        WrongValue::new(
            "invalid text",
            text,
            "is not a text; it must be UTF-8 of at most 4096 bytes",
        )
    })
}

/// Parses a name: a text that is not empty.
pub(crate) fn parse_name(name: &[u8]) -> Result<&str, WrongValue> {
    match name {
        [] => Err(WrongValue::new(
            "missing name",
            name,
            "is not a name; every row must have \
                                                               one",
        )),
        _ => parse_text(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_in_every_unit() {
        let time =
            |text: &str, unit| parse_time(text.as_bytes(), unit).map_err(|wrong| wrong.cause);
        assert_eq!(time("1500", TimeUnit::Nanoseconds), Ok(Some(1500)));
        assert_eq!(time("-138000", TimeUnit::Nanoseconds), Ok(Some(-138_000)));
        assert_eq!(
            time("1047680084.482205", TimeUnit::Seconds),
            Ok(Some(1_047_680_084_482_205_000))
        );
        assert_eq!(time("-0.5", TimeUnit::Seconds), Ok(Some(-500_000_000)));
        assert_eq!(time("0.1234567891", TimeUnit::Seconds), Ok(Some(123_456_789)));
        assert_eq!(time("7.", TimeUnit::Milliseconds), Ok(Some(7_000_000)));
        assert_eq!(time("1.9", TimeUnit::Nanoseconds), Ok(Some(1)));
        assert_eq!(time("", TimeUnit::Seconds), Ok(None));
        for text in ["soon", "1e9", ".5", "-", "1.2.3", "0x10", "+1", "1 2"] {
            assert_eq!(time(text, TimeUnit::Seconds), Err("time that is not a number"), "{text}");
        }
        for text in ["1047680084482205000", "99999999999999999999999", "4611686019"] {
            assert_eq!(time(text, TimeUnit::Seconds), Err("time out of range"), "{text}");
        }
    }

    #[test]
    fn errors_show_wrong_values_and_truncate_long_ones() {
        let wrong = parse_time(b"a\nb", TimeUnit::Seconds).unwrap_err();
        assert!(wrong.why.starts_with("'a\\nb' is not a time; it must be"), "{}", wrong.why);
        assert!(parse_name(&[b'x'; 5000]).unwrap_err().why.len() < 200);
        assert!(
            parse_time(b"1047680084482205", TimeUnit::Seconds).unwrap_err().why.contains("--unit")
        );
    }

    #[test]
    fn sizes_and_names() {
        assert_eq!(parse_number(b"12", "bytes"), Ok(Some(12)));
        assert_eq!(parse_number(b"", "bytes"), Ok(None));
        assert!(parse_number(b"-1", "bytes").is_err() && parse_number(b"many", "bytes").is_err());
        assert!(parse_name(b"").is_err() && parse_name(b"\xff").is_err());
        assert_eq!(parse_name("würde".as_bytes()), Ok("würde"));
    }
}
