//! Parsers of single values: sizes, time spans, numbers, words. Each error explains how to write
//! one.

use std::error::Error;
use std::str::FromStr;
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use jiff::SignedDuration;

/// The longest time span, a year: its nanoseconds fit an `i64` with room to spare.
const MAX_TIME_SPAN: Duration = Duration::from_secs(366 * 24 * 60 * 60);

/// Parser of a flag that is one of a few words. The words are completed, and an error about a wrong
/// one lists them.
pub fn one_of<T>(
    words: impl IntoIterator<Item = impl Into<PossibleValue>>,
) -> impl TypedValueParser<Value = T>
where
    T: FromStr + Clone + Send + Sync + 'static,
    T::Err: Into<Box<dyn Error + Send + Sync>>,
{
    PossibleValuesParser::new(words).try_map(|word: String| word.parse::<T>())
}

/// A size in bytes as a user would write it: the inverse of [`parse_bytes`].
pub fn show_bytes(bytes: u64) -> String {
    let units = [(30, "G"), (20, "M"), (10, "K")];
    let unit = units.into_iter().find(|(shift, _)| bytes > 0 && bytes.is_multiple_of(1 << shift));
    unit.map_or_else(|| bytes.to_string(), |(shift, name)| format!("{}{name}", bytes >> shift))
}

/// A time span as a user would write it, in nanoseconds: the inverse of [`parse_duration_or_none`].
pub fn show_nanoseconds(span: i64) -> String {
    let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1000, "us"), (1, "ns")];
    match units.into_iter().find(|(length, _)| span % length == 0) {
        Some((length, name)) if span != 0 => format!("{}{name}", span / length),
        _ => "0".to_owned(),
    }
}

/// A size in bytes: a number with an optional suffix K, M or G.
///
/// # Errors
/// A message that states how to write a size.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(['k', 'K', 'm', 'M', 'g', 'G']);
    let shift = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" => Some(0),
        "K" => Some(10),
        "M" => Some(20),
        "G" => Some(30),
        _ => None,
    };
    let size = shift.and_then(|shift| Some(u64::from(digits.parse::<u32>().ok()?) << shift));
    size.ok_or("a size is a number of bytes with an optional suffix K, M or G, such as 64M".into())
}

/// A time span like `2s` or `100ms`, longer than 0 and at most a year.
///
/// # Errors
/// A message that states how to write a time span.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let span = text.parse().ok().and_then(|span: SignedDuration| Duration::try_from(span).ok());
    span.filter(|span| !span.is_zero() && *span <= MAX_TIME_SPAN)
        .ok_or_else(|| format!("'{text}' is not a time span; write it like 2s, 100ms or 1m30s"))
}

/// A time span that may also be `0`.
///
/// # Errors
/// A message that states how to write a time span.
pub fn parse_duration_or_none(text: &str) -> Result<Duration, String> {
    if text == "0" { Ok(Duration::ZERO) } else { parse_duration(text) }
}

/// Parses a number above 0.
///
/// # Errors
/// A message if `text` is not a number above 0.
pub fn parse_positive(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0);
    number.ok_or_else(|| format!("'{text}' is not a positive number"))
}

/// Parses a number that is at least 0.
///
/// # Errors
/// A message if `text` is not a number that is at least 0.
pub fn parse_not_negative(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| format!("'{text}' is not a number of at least 0"))
}

/// Parses three comma-separated numbers, none of them negative.
///
/// # Errors
/// A message that states how to write the numbers.
pub fn parse_triple(text: &str) -> Result<[f64; 3], String> {
    let numbers: Result<Vec<f64>, String> =
        text.split(',').map(|part| parse_not_negative(part.trim())).collect();
    numbers?.try_into().map_err(|_| format!("'{text}' is not three numbers such as 2,0,0"))
}

/// Three numbers as a user would write them: the inverse of [`parse_triple`].
pub fn show_triple(numbers: [f64; 3]) -> String {
    numbers.map(|number| number.to_string()).join(",")
}

/// A fraction from 0 to 1.
///
/// # Errors
/// A message that states how to write a share.
pub fn parse_share(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| (0.0..=1.0).contains(number));
    number.ok_or_else(|| format!("'{text}' is not a number from 0 to 1, such as 0.9"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shown_values_are_read_again() {
        for bytes in [0, 1, 1000, 64 << 20, 3 << 30, 1 << 10] {
            assert_eq!(parse_bytes(&show_bytes(bytes)), Ok(bytes));
        }
        assert_eq!([show_bytes(256 << 20), show_bytes(1000)], ["256M", "1000"]);
        for span in [0, 1, 50_000, 100_000_000, 60_000_000_000] {
            let read = parse_duration_or_none(&show_nanoseconds(span)).unwrap();
            assert_eq!(read.as_nanos() as i64, span);
        }
        assert_eq!([50_000, 60_000_000_000].map(show_nanoseconds), ["50us", "60s"]);
        let numbers = [2.0, 0.0, 0.5];
        assert_eq!(parse_triple(&show_triple(numbers)), Ok(numbers));
    }

    #[test]
    fn sizes() {
        assert_eq!(
            (parse_bytes("812"), parse_bytes("64k"), parse_bytes("2G")),
            (Ok(812), Ok(64 << 10), Ok(2 << 30))
        );
        assert_eq!(parse_bytes("4294967295G"), Ok((u64::from(u32::MAX)) << 30));
        for wrong in ["", "K", "1KK", "1T", "-1", "1.5M", "4294967296"] {
            assert!(parse_bytes(wrong).unwrap_err().contains("64M"), "{wrong}");
        }
    }

    #[test]
    fn time_spans() {
        assert_eq!(parse_duration("2s"), Ok(Duration::from_secs(2)));
        assert_eq!(parse_duration("100ms"), Ok(Duration::from_millis(100)));
        assert!(
            parse_duration("-1s").is_err()
                && parse_duration("0s").is_err()
                && parse_duration("soon").is_err()
        );
        assert_eq!(parse_duration_or_none("0"), Ok(Duration::ZERO));
    }

    #[test]
    fn numbers() {
        assert_eq!((parse_positive("0.5"), parse_not_negative("0")), (Ok(0.5), Ok(0.0)));
        assert!(
            parse_positive("0").is_err()
                && parse_not_negative("-1").is_err()
                && parse_not_negative("inf").is_err()
        );
        assert_eq!(parse_triple("2,0, 0.5"), Ok([2.0, 0.0, 0.5]));
        assert!(parse_triple("2,0").is_err() && parse_triple("2,0,-1").is_err());
        assert!(parse_share("0.9").is_ok() && parse_share("1.1").is_err());
    }
}
