//! The time for which connections were made, as patterns and delays have it.

use analyze::paths::Connects;
use serde::Serialize;

/// The time for which connections were made; left out where none was.
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
    pub(super) fn of(connects: Connects) -> JsonConnects {
        let Connects { count, expected, delay, .. } = connects;
        JsonConnects {
            connect_count: count,
            connect_expected: expected,
            connect_mean: delay.mean,
            connect_p50: delay.p50,
            connect_p99: delay.p99,
        }
    }
}
