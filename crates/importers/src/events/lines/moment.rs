//! Times as people and programs write them: numbers in a unit, and dates.

use crate::tabular::{TimeUnit, WrongValue, parse_time};

/// Parses the time `text` to nanoseconds since 1970: a number in `unit`, or an ISO 8601 date with
/// its offset from UTC.
///
/// # Errors
/// When `text` is neither, or out of range.
pub(super) fn parse_moment(text: &str, unit: Option<TimeUnit>) -> Result<i64, WrongValue> {
    let wrong = || {
        let why = "is not a time; it must be a number, or a date such as 2026-11-25T18:47:57.076Z";
        WrongValue::new("event without a time", text.as_bytes(), why)
    };
    if text.is_empty() {
        return Err(wrong());
    }
    if text.get(4..5) == Some("-") {
        return parse_date(text).ok_or_else(wrong);
    }
    let unit = unit.unwrap_or_else(|| unit_of(text));
    parse_time(text.as_bytes(), unit)?.ok_or_else(wrong)
}

/// Guesses the unit of a number by its digits: the unit that makes the number a time after 1973. A
/// number with decimals is in seconds, and a small one in nanoseconds.
fn unit_of(text: &str) -> TimeUnit {
    if text.contains('.') {
        return TimeUnit::Seconds;
    }
    match text.trim_start_matches('-').len() {
        18.. => TimeUnit::Nanoseconds,
        15.. => TimeUnit::Microseconds,
        12.. => TimeUnit::Milliseconds,
        9.. => TimeUnit::Seconds,
        _ => TimeUnit::Nanoseconds,
    }
}

/// Parses `2026-11-25 18:47:57.076 UTC`.
fn parse_date(text: &str) -> Option<i64> {
    let number = |range: std::ops::Range<usize>| text.get(range)?.parse::<i64>().ok();
    let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
    let (hour, minute, second) = (number(11..13)?, number(14..16)?, number(17..19)?);
    let is = |at: usize, letters: &str| text.get(at..at + 1).is_some_and(|it| letters.contains(it));
    let in_range = (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && (0..24).contains(&hour)
        && (0..60).contains(&minute)
        && (0..=60).contains(&second);
    if !(is(7, "-") && is(10, "T t") && is(13, ":") && is(16, ":") && in_range) {
        return None;
    }
    let rest = text.get(19..)?;
    let decimals = rest.strip_prefix(['.', ',']);
    let digits = decimals.map_or(0, |rest| rest.bytes().take_while(u8::is_ascii_digit).count());
    let fraction = decimals.and_then(|rest| rest.get(..digits.min(9))).unwrap_or("");
    let fraction = match fraction.parse::<i64>() {
        Ok(number) => number * 10_i64.pow(9 - fraction.len() as u32),
        Err(_) => 0,
    };
    let zone = decimals.map_or(rest, |rest| rest.get(digits..).unwrap_or(""));
    let seconds = days_since_1970(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second;
    (seconds - zone_seconds(zone.trim())?).checked_mul(1_000_000_000)?.checked_add(fraction)
}

/// Days from 1970 to a date of the Gregorian calendar.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    // Years begin in March, so that a leap day is the last day of its year.
    let year = if month <= 2 { year - 1 } else { year };
    let month = (month + 9) % 12;
    365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 719_469
}

/// Seconds by which a zone is ahead of UTC; `None` for a zone without a number.
fn zone_seconds(zone: &str) -> Option<i64> {
    if ["Z", "z", "UTC", "GMT"].contains(&zone) {
        return Some(0);
    }
    let (sign, digits) = match zone.split_at_checked(1)? {
        ("+", digits) => (1, digits),
        ("-", digits) => (-1, digits),
        _ => return None,
    };
    let hours: i64 = digits.get(..2)?.parse().ok()?;
    let minutes = digits.get(2..)?.trim_start_matches(':');
    let minutes: i64 = if minutes.is_empty() { 0 } else { minutes.parse().ok()? };
    Some(sign * (hours * 3600 + minutes * 60))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_dates() {
        let moment = |text: &str| parse_moment(text, None).map_err(|wrong| wrong.cause);
        for (text, expected) in [
            ("1500", 1500),
            ("1795632477", 1_795_632_477_000_000_000),
            ("1795632477.076", 1_795_632_477_076_000_000),
            ("1795632477076", 1_795_632_477_076_000_000),
            ("1795632477076595", 1_795_632_477_076_595_000),
            ("1795632477076595001", 1_795_632_477_076_595_001),
            ("1970-01-01T00:00:00Z", 0),
            ("2000-02-29 00:00:00.5 UTC", 951_782_400_500_000_000),
            ("2026-11-25T18:47:57.076595001Z", 1_795_632_477_076_595_001),
            ("2026-11-25T19:47:57+01:00", 1_795_632_477_000_000_000),
            ("2026-11-25 13:17:57-0530", 1_795_632_477_000_000_000),
            ("2026-11-25 18:47:57.076 GMT", 1_795_632_477_076_000_000),
        ] {
            assert_eq!(moment(text), Ok(expected), "{text}");
        }
        for text in ["", "2026-13-25T18:47:57Z", "2026-11-25 18:47:57 CET", "2026-11-25", "2026-é"]
        {
            assert_eq!(moment(text), Err("event without a time"), "{text}");
        }
        assert_eq!(moment("soon"), Err("time that is not a number"));
        let in_ms = super::parse_moment("7", Some(TimeUnit::Milliseconds));
        assert_eq!(in_ms.ok(), Some(7_000_000));
    }
}
