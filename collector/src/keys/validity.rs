//! Time in which a certificate holds.

use std::time::{SystemTime, UNIX_EPOCH};

use time::OffsetDateTime;

use super::Error;

/// Seconds of a day.
pub(super) const DAY: i64 = 24 * 60 * 60;

/// Time in which a certificate holds: the first and the last second, since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Validity {
    /// The first second.
    pub from: i64,
    /// The last second.
    pub until: i64,
}

impl Validity {
    /// The next `days` days, and the last one: clocks of hosts may be wrong.
    pub fn days(days: u32) -> Validity {
        let now =
            SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64);
        Validity { from: now - DAY, until: now + i64::from(days) * DAY }
    }

    /// The two times as a certificate has them.
    pub(super) fn times(self) -> Result<(OffsetDateTime, OffsetDateTime), Error> {
        let Validity { from, until } = self;
        let time =
            |seconds| OffsetDateTime::from_unix_timestamp(seconds).ok().filter(|_| seconds >= 0);
        match (time(from), time(until)) {
            (Some(first), Some(last)) if from < until => Ok((first, last)),
            _ => Err(Error::Validity { from, until }),
        }
    }
}
