//! The time for which connections were made, in the documents of patterns and of delays.

use analyze::paths::ConnectTimes;
use serde::Serialize;

/// The fields of the time for which connections were made. They are left out if no connection was
/// made.
#[derive(Serialize)]
pub(super) struct JsonConnects {
    connect_count: i64,
    connect_expected: f64,
    connect_mean: f64,
    connect_p50: f64,
    connect_p99: f64,
}

impl JsonConnects {
    /// The fields of `connects`.
    pub(super) fn from_connects(connects: ConnectTimes) -> JsonConnects {
        let ConnectTimes { count, expected, delay, .. } = connects;
        JsonConnects {
            connect_count: count,
            connect_expected: expected,
            connect_mean: delay.mean,
            connect_p50: delay.p50,
            connect_p99: delay.p99,
        }
    }
}
