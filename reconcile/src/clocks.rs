//! The clock model: how far each host's clock is from the reference host's, and the correction of times by it.
//!
//! On one machine there is one clock, so every offset is 0 and known by nothing but that ("none"). The model
//! and its file have the form that estimates from messages between hosts will fill in.

use std::path::Path;

use message_trace::Error;
use serde::{Deserialize, Serialize};

use crate::json;

/// The clocks of all hosts, `clocks.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Clocks {
    /// The host whose clock is the common one.
    pub reference: String,
    /// Every host's clock.
    pub hosts: Vec<HostClock>,
}

/// One host's clock against the reference's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostClock {
    /// The host.
    pub host: String,
    /// When the offset was as it says, in nanoseconds on the reference clock.
    pub at: i64,
    /// This clock minus the reference's at that time.
    pub offset_ns: i64,
    /// How fast it runs ahead, in parts per million.
    pub skew_ppm: f64,
    /// How far the offset may be from the truth.
    pub uncertainty_ns: i64,
    /// How it was found: `messages`, `hints` or `none`.
    pub source: String,
    /// Times (on the reference clock) at which it was set, and by how much.
    pub steps: Vec<Step>,
}

/// A clock was set.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// When, on the reference clock.
    pub at: i64,
    /// By how much it went forward, in nanoseconds.
    pub offset_ns: i64,
}

impl Clocks {
    /// One clock for all `hosts`, whose messages began at `at`: nothing is known of any difference.
    pub fn identical(reference: &str, hosts: &[String], at: i64) -> Clocks {
        let host = |host: &String| HostClock {
            host: host.clone(),
            at,
            offset_ns: 0,
            skew_ppm: 0.0,
            uncertainty_ns: 0,
            source: "none".to_owned(),
            steps: Vec::new(),
        };
        Clocks { reference: reference.to_owned(), hosts: hosts.iter().map(host).collect() }
    }

    /// The time `time` of host number `host` on the common clock.
    pub fn common(&self, host: usize, time: i64) -> i64 {
        self.hosts.get(host).map_or(time, |clock| clock.common(time))
    }

    /// Reads `clocks.json`.
    ///
    /// # Errors
    /// When the file cannot be read or is something else.
    pub fn read(path: &Path) -> Result<Clocks, Error> {
        json::read(path)
    }

    /// Writes `clocks.json`.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        json::write(path, self)
    }
}

impl HostClock {
    /// `time` of this clock on the reference clock.
    pub fn common(&self, time: i64) -> i64 {
        let mut common = time.saturating_sub(self.offset_ns);
        for step in &self.steps {
            if step.at <= common {
                common = common.saturating_sub(step.offset_ns);
            }
        }
        if self.skew_ppm == 0.0 {
            return common;
        }
        // `elapsed` was counted by a clock that runs (1 + skew) as fast.
        let elapsed = common.saturating_sub(self.at) as f64;
        self.at.saturating_add((elapsed / (1.0 + self.skew_ppm / 1e6)).round() as i64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offset_and_skew_are_taken_off() {
        let mut clocks = Clocks::identical("a", &["a".to_owned(), "b".to_owned()], 1_000);
        assert_eq!(clocks.common(1, 5), 5);
        clocks.hosts[1].offset_ns = 50;
        assert_eq!(clocks.common(1, 1_050), 1_000);
        clocks.hosts[1].skew_ppm = 100.0;
        assert_eq!(clocks.common(1, 1_050 + 1_000_100), 1_001_000);
        assert_eq!(clocks.common(0, 7), 7);
    }
}
