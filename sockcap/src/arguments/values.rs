//! Parsers of single values: sizes, names, points in time. Each error shows how to write the value.

use clap::builder::{PossibleValue, TypedValueParser};
use jiff::{SignedDuration, Timestamp};
use message_trace::NodeGrain;
use report::SortKey;
use socket_log::layout::runtime;
pub(crate) use socket_log::names::read_host_name as host_name;

use crate::shown::PathSource;

pub(crate) use registry::values::{
    one_of, parse_bytes, parse_duration, parse_positive, parse_share,
};

/// A key by which patterns are ranked.
pub(crate) fn sort_key_parser() -> impl TypedValueParser<Value = SortKey> {
    one_of(SortKey::ALL.map(|key| PossibleValue::new(key.name()).help(key.label())))
}

/// What a node is.
pub(crate) fn grain_parser() -> impl TypedValueParser<Value = NodeGrain> {
    one_of(NodeGrain::ALL.map(|grain| grain.to_string()))
}

/// The source that paths are made from.
pub(crate) fn source_parser() -> impl TypedValueParser<Value = PathSource> {
    one_of(PathSource::ALL.map(|source| source.to_string()))
}

/// A size in the form that the library accepts.
pub(crate) fn check_size(text: &str) -> Result<String, String> {
    parse_bytes(text).map(|_| text.to_owned())
}

/// The name of a program's file, without a directory.
pub(crate) fn command_name(text: &str) -> Result<String, String> {
    if text.is_empty() || text.contains('/') {
        return Err("give the file name of the program without a directory, such as nginx".into());
    }
    Ok(text.to_owned())
}

/// Comma-separated names of protocols.
pub(crate) fn check_protocols(text: &str) -> Result<String, String> {
    let is_name = |name: &str| {
        !name.is_empty()
            && name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'))
    };
    if text.split(',').all(is_name) && text.len() <= 1000 {
        Ok(text.to_owned())
    } else {
        Err("give comma-separated names of protocols in lower case, such as http,redis".into())
    }
}

/// Names of runtimes as the value of `SOCKCAP_RUNTIMES` that leaves them out, or `0` for all.
pub(crate) fn left_out_runtimes(text: &str) -> Result<String, String> {
    if text == "0" {
        return Ok(text.to_owned());
    }
    match text.split(',').find(|name| !runtime::NAMES.contains(name)) {
        None => Ok(format!("-{}", text.replace(',', ",-"))),
        Some(name) => Err(format!(
            "no runtime {name:?} is followed; give some of {}",
            runtime::NAMES.join(",")
        )),
    }
}

/// A number of days, at most a hundred years.
pub(crate) fn days_parser() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=36_525)
}

/// A point in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TraceMoment {
    /// Nanoseconds since the start of the trace.
    Since(i64),
    /// Nanoseconds since the Unix epoch.
    At(i64),
}

/// A point in time: seconds or a time span since the start of the trace, or a time of day as in RFC
/// 3339.
pub(crate) fn parse_moment(text: &str) -> Result<TraceMoment, String> {
    let nanoseconds = |span: SignedDuration| i64::try_from(span.as_nanos()).ok();
    // Parsed as a span, so that decimals are exact.
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let span = if is_number { format!("{text}s").parse() } else { text.parse() };
    let since = span.ok().and_then(nanoseconds).filter(|span| *span >= 0).map(TraceMoment::Since);
    let at = || {
        let time = text.parse::<Timestamp>().ok()?;
        i64::try_from(time.as_nanosecond()).ok().map(TraceMoment::At)
    };
    since.or_else(at).ok_or_else(|| {
        format!(
            "'{text}' is not a time; write seconds since the start of the trace like 12.5, a time \
             span like 200ms, or a time of day like 2026-11-22T15:04:05Z"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments() {
        let since = |text| match parse_moment(text) {
            Ok(TraceMoment::Since(nanoseconds)) => nanoseconds,
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!((since("0"), since("12.5"), since("3")), (0, 12_500_000_000, 3_000_000_000));
        assert_eq!((since("200ms"), since("1m30s"), since("0s")), (200_000_000, 90_000_000_000, 0));
        assert_eq!(since("0.000000001"), 1, "not as a rounded number");
        assert_eq!(parse_moment("1970-01-01T00:00:01.5Z"), Ok(TraceMoment::At(1_500_000_000)));
        assert_eq!(parse_moment("1970-01-01T01:00:00+01:00"), Ok(TraceMoment::At(0)));
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
            assert!(parse_moment(wrong).is_err_and(|error| error.contains("200ms")), "{wrong}");
        }
    }

    #[test]
    fn host_names_are_no_paths() {
        assert!(host_name("web-1.example").is_ok());
        for wrong in ["", "..", ".x", "a/b", "a b"] {
            assert!(host_name(wrong).is_err(), "{wrong}");
        }
    }
}
