//! Timestamps that hosts and the collector exchanged, for use in addition to the messages (`join`,
//! `check`).
//!
//! The collector's clock is one more in the graph of clocks, of a host without a log, and each
//! exchange is two messages: the host's request and the collector's response. But messages between
//! hosts are better evidence, since an exchange may wait for data that is being shipped. So the
//! clocks are estimated from messages first, without exchanges; connected clocks are a group with
//! one common time. Exchanges only show how the times of groups differ, and whether they agree with
//! the messages.

use crate::model::HintSummary;
use crate::samples::ClockSamples;

/// The exchanges of all hosts, in bounded memory however many are added.
#[derive(Clone, Debug, Default)]
pub struct ClockHints {
    hosts: usize,
    /// The collector has the number after the last host's.
    pub(crate) samples: ClockSamples,
    /// The summary of each host; its check is not known yet.
    pub(crate) of_host: Vec<HintSummary>,
}

impl ClockHints {
    /// Creates an empty collection for hosts with numbers below `hosts`.
    pub fn new(hosts: usize) -> ClockHints {
        ClockHints {
            hosts,
            samples: ClockSamples::new(hosts + 1),
            of_host: vec![HintSummary::default(); hosts],
        }
    }

    /// Adds an exchange of the host number `host`: when the host sent, when the collector received
    /// and sent, and when the host received, in nanoseconds, each by its own clock. An impossible
    /// exchange, with a negative round trip, is counted as damaged.
    pub fn add_exchange(&mut self, host: u32, [sent, received, answered, back]: [i64; 4]) {
        let Some(of_host) = self.of_host.get_mut(host as usize) else { return };
        let round_trip = (|| {
            let waited = answered.checked_sub(received).filter(|waited| *waited >= 0)?;
            back.checked_sub(sent)?.checked_sub(waited).filter(|trip| *trip >= 0)
        })();
        let Some(round_trip) = round_trip else {
            of_host.damaged += 1;
            return;
        };
        let is_less = of_host.exchanges == 0 || round_trip < of_host.round_trip_ns;
        of_host.round_trip_ns = if is_less { round_trip } else { of_host.round_trip_ns };
        of_host.exchanges += 1;
        let collector = self.hosts as u32;
        self.samples.add_message(host, collector, sent, received);
        self.samples.add_message(collector, host, answered, back);
    }

    /// Counts lines in the file of the host number `host` that are no exchange.
    pub fn add_damaged(&mut self, host: u32, lines: u64) {
        self.of_host
            .get_mut(host as usize)
            .into_iter()
            .for_each(|of_host| of_host.damaged += lines);
    }

    /// Counts an exchange of the host number `host` that is not to be used.
    pub fn add_skipped(&mut self, host: u32) {
        self.of_host.get_mut(host as usize).into_iter().for_each(|of_host| of_host.left_out += 1);
    }

    /// Adds the contents of `other`. The order in which hints are merged makes no difference.
    pub fn merge_hints(&mut self, other: ClockHints) {
        self.samples.merge_samples(other.samples);
        for (mine, theirs) in self.of_host.iter_mut().zip(other.of_host) {
            let is_less = mine.exchanges == 0
                || theirs.exchanges > 0 && theirs.round_trip_ns < mine.round_trip_ns;
            mine.round_trip_ns = if is_less { theirs.round_trip_ns } else { mine.round_trip_ns };
            mine.exchanges += theirs.exchanges;
            mine.damaged += theirs.damaged;
            mine.left_out += theirs.left_out;
        }
    }

    /// Returns whether there are no exchanges.
    pub fn is_empty(&self) -> bool {
        self.of_host.iter().all(|host| host.exchanges == 0)
    }
}
