//! Times of records as text.

use jiff::Timestamp;

/// A time as UTC with all its nanoseconds, or as a plain number if it is outside of the calendar's
/// range.
pub(super) fn format_utc(realtime: i64) -> String {
    match Timestamp::from_nanosecond(i128::from(realtime)) {
        Ok(time) => format!("{time:.9}"),
        Err(_) => realtime.to_string(),
    }
}
