//! How single values are written: sizes, names, time spans, numbers; each error says how to write
//! it.

use std::error::Error;
use std::str::FromStr;
use std::time::Duration;

use analyze::{Algorithm, Evidence};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use importers::Unit;
use jiff::{SignedDuration, Timestamp};
use message_trace::Grain;
use report::SortKey;

/// One of the values of these names, which are completed and, where another is written, told.
fn one_of<T>(
    names: impl IntoIterator<Item = impl Into<PossibleValue>>,
) -> impl TypedValueParser<Value = T>
where
    T: FromStr + Clone + Send + Sync + 'static,
    T::Err: Into<Box<dyn Error + Send + Sync>>,
{
    PossibleValuesParser::new(names).try_map(|name: String| name.parse::<T>())
}

/// What to rank by.
pub(super) fn sort_key() -> impl TypedValueParser<Value = SortKey> {
    one_of(SortKey::ALL.map(|key| PossibleValue::new(key.name()).help(key.label())))
}

/// What a node is.
pub(super) fn grain() -> impl TypedValueParser<Value = Grain> {
    one_of(Grain::ALL.map(|grain| grain.to_string()))
}

/// An algorithm of analysis.
pub(super) fn algorithm() -> impl TypedValueParser<Value = Algorithm> {
    one_of(Algorithm::ALL.map(|algorithm| algorithm.to_string()))
}

/// A kind of evidence.
pub(super) fn evidence() -> impl TypedValueParser<Value = Evidence> {
    one_of(Evidence::ALL.map(|evidence| evidence.to_string()))
}

/// A unit of time.
pub(super) fn unit() -> impl TypedValueParser<Value = Unit> {
    one_of(Unit::ALL.map(|unit| unit.to_string()))
}

/// A size as the library takes it.
pub(super) fn size(text: &str) -> Result<String, String> {
    let digits = text.trim_end_matches(['k', 'K', 'm', 'M', 'g', 'G']);
    if text.len() - digits.len() > 1 || digits.parse::<u32>().is_err() {
        return Err("a size is a number of bytes, or one with K, M or G behind, such as 64M".into());
    }
    Ok(text.to_owned())
}

/// A size in bytes.
pub(super) fn bytes(text: &str) -> Result<u64, String> {
    let text = size(text)?;
    let shift = match text.chars().last().map(|unit| unit.to_ascii_uppercase()) {
        Some('K') => 10,
        Some('M') => 20,
        Some('G') => 30,
        _ => 0,
    };
    let number = text.trim().trim_end_matches(|unit: char| !unit.is_ascii_digit());
    number.parse::<u64>().map(|number| number << shift).map_err(|error| error.to_string())
}

/// A command is told by its file's name.
pub(super) fn command_name(text: &str) -> Result<String, String> {
    if text.is_empty() || text.contains('/') {
        return Err(
            "give the name of the program's file without its directory, such as nginx".into()
        );
    }
    Ok(text.to_owned())
}

/// A host's name becomes the name of a directory, so it may be no path.
pub(super) fn host_name(text: &str) -> Result<String, String> {
    collector::names::host_name(text).map(|()| text.to_owned()).map_err(|error| error.to_string())
}

/// A time span like `2s` or `100ms`, of at most a year: its nanoseconds fit an `i64` with room to
/// spare.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    const YEAR: Duration = Duration::from_secs(366 * 24 * 60 * 60);
    let span = text.parse().ok().and_then(|span: SignedDuration| Duration::try_from(span).ok());
    span.filter(|span| !span.is_zero() && *span <= YEAR)
        .ok_or_else(|| format!("'{text}' is no time span; write it like 2s, 100ms or 1m30s"))
}

/// A time span that may also be none: `0`.
pub(super) fn duration_or_none(text: &str) -> Result<Duration, String> {
    if text == "0" { Ok(Duration::ZERO) } else { duration(text) }
}

/// A point in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    /// Nanoseconds since the trace's beginning.
    Since(i64),
    /// Nanoseconds since the Unix epoch.
    At(i64),
}

/// A point in time: seconds or a time span since the trace's beginning, or a time of day as RFC
/// 3339 has it.
pub(super) fn moment(text: &str) -> Result<Moment, String> {
    let nanoseconds = |span: SignedDuration| i64::try_from(span.as_nanos()).ok();
    // As a span, so that decimals are taken as they are written.
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let span = if is_number { format!("{text}s").parse() } else { text.parse() };
    let since = span.ok().and_then(nanoseconds).filter(|span| *span >= 0).map(Moment::Since);
    let at = || {
        let time = text.parse::<Timestamp>().ok()?;
        i64::try_from(time.as_nanosecond()).ok().map(Moment::At)
    };
    since.or_else(at).ok_or_else(|| {
        format!(
            "'{text}' is no time; write seconds since the trace's beginning like 12.5, a time span like 200ms, or a time of \
             day like 2026-11-22T15:04:05Z"
        )
    })
}

pub(super) fn positive(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0);
    number.ok_or_else(|| format!("'{text}' is no positive number"))
}

pub(super) fn not_negative(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| format!("'{text}' is no number from 0 up"))
}

/// Three numbers with commas between them, none of them negative.
pub(super) fn three(text: &str) -> Result<[f64; 3], String> {
    let numbers: Result<Vec<f64>, String> =
        text.split(',').map(|part| not_negative(part.trim())).collect();
    numbers?.try_into().map_err(|_| format!("'{text}' is not three numbers such as 2,0,0"))
}

/// A share of one.
pub(super) fn share(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| (0.0..=1.0).contains(number));
    number.ok_or_else(|| format!("'{text}' is no number from 0 to 1, such as 0.9"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_spans() {
        assert_eq!(duration("2s"), Ok(Duration::from_secs(2)));
        assert_eq!(duration("100ms"), Ok(Duration::from_millis(100)));
        assert!(duration("-1s").is_err() && duration("0s").is_err() && duration("soon").is_err());
    }

    #[test]
    fn moments() {
        let since = |text| match moment(text) {
            Ok(Moment::Since(nanoseconds)) => nanoseconds,
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!((since("0"), since("12.5"), since("3")), (0, 12_500_000_000, 3_000_000_000));
        assert_eq!((since("200ms"), since("1m30s"), since("0s")), (200_000_000, 90_000_000_000, 0));
        assert_eq!(since("0.000000001"), 1, "not as a rounded number");
        assert_eq!(moment("1970-01-01T00:00:01.5Z"), Ok(Moment::At(1_500_000_000)));
        assert_eq!(moment("1970-01-01T01:00:00+01:00"), Ok(Moment::At(0)));
        for wrong in [
            "",
            ".",
            "soon",
            "-1s",
            "1e3",
            "inf",
            "1.2.3",
            "1970-01-01",
            "300000d",
            "9999-01-01T00:00:00Z",
        ] {
            assert!(moment(wrong).is_err_and(|error| error.contains("200ms")), "{wrong}");
        }
    }

    #[test]
    fn numbers() {
        assert_eq!((positive("0.5"), not_negative("0")), (Ok(0.5), Ok(0.0)));
        assert!(
            positive("0").is_err() && not_negative("-1").is_err() && not_negative("inf").is_err()
        );
        assert_eq!(three("2,0, 0.5"), Ok([2.0, 0.0, 0.5]));
        assert!(three("2,0").is_err() && three("2,0,-1").is_err());
    }

    #[test]
    fn host_names_are_no_paths() {
        assert!(host_name("web-1.example").is_ok());
        for wrong in ["", "..", ".x", "a/b", "a b"] {
            assert!(host_name(wrong).is_err(), "{wrong}");
        }
    }
}
