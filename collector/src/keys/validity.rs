//! Validity of a certificate.

use std::time::{SystemTime, UNIX_EPOCH};

use time::OffsetDateTime;

use super::KeyError;

/// Seconds of a day.
pub(super) const DAY_SECONDS: i64 = 24 * 60 * 60;

/// Validity of a certificate: the first and the last second, in seconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyValidity {
    /// The first second.
    pub from: i64,
    /// The last second.
    pub until: i64,
}

impl KeyValidity {
    /// The next `days` days and the previous day, because clocks of hosts may be wrong.
    pub fn for_days(days: u32) -> KeyValidity {
        let now =
            SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64);
        KeyValidity { from: now - DAY_SECONDS, until: now + i64::from(days) * DAY_SECONDS }
    }

    /// Both times in the form of a certificate.
    pub(super) fn certificate_times(self) -> Result<(OffsetDateTime, OffsetDateTime), KeyError> {
        let KeyValidity { from, until } = self;
        let time =
            |seconds| OffsetDateTime::from_unix_timestamp(seconds).ok().filter(|_| seconds >= 0);
        match (time(from), time(until)) {
            (Some(first), Some(last)) if from < until => Ok((first, last)),
            _ => Err(KeyError::Validity { from, until }),
        }
    }
}
