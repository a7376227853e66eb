//! Figures of a collector, for Prometheus and for the table that `sockcap collect` prints. Sessions
//! report what happened; the figures of a host stay after it disconnects, so that a silent host is
//! noticed.
//!
//! `text` renders them for Prometheus, `http` serves them.

mod figures;
mod http;
mod text;

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::tuning::MAX_HOSTS_WITH_FIGURES;

pub use figures::{CollectorTotals, HostFigures};
pub use http::{DEFAULT_ADDRESS, MetricsServer};

/// Counts and measures of a collector. All methods may be called from any thread, and none waits
/// for the disk or the net.
#[derive(Debug)]
pub struct CollectorMetrics {
    quota: Option<u64>,
    state: Mutex<MetricsState>,
}

#[derive(Debug, Default)]
struct MetricsState {
    hosts: BTreeMap<String, HostFigures>,
    totals: CollectorTotals,
}

impl CollectorMetrics {
    /// Figures of a collector that gives each host `quota` bytes of disk. The causes of refusals
    /// and the shortages are named beforehand: a count that exists from the beginning shows its
    /// first increase.
    pub fn new(
        quota: Option<u64>,
        causes: &[&'static str],
        shortages: &[&'static str],
    ) -> CollectorMetrics {
        let none = |words: &[&'static str]| words.iter().map(|word| (*word, 0)).collect();
        let totals = CollectorTotals {
            refused: none(causes),
            not_stored: none(shortages),
            ..CollectorTotals::default()
        };
        CollectorMetrics {
            quota,
            state: Mutex::new(MetricsState { totals, ..MetricsState::default() }),
        }
    }

    /// Records that a host was admitted.
    pub fn host_connected(&self, host: &str) {
        let mut state = self.lock_state();
        state.totals.connections = state.totals.connections.saturating_add(1);
        self.update_host(&mut state, host, |figures| {
            figures.connections = figures.connections.saturating_add(1)
        });
    }

    /// Records that a connection of an admitted host has ended.
    pub fn host_disconnected(&self, host: &str) {
        let mut state = self.lock_state();
        state.totals.connections = state.totals.connections.saturating_sub(1);
        self.update_host(&mut state, host, |figures| {
            figures.connections = figures.connections.saturating_sub(1)
        });
    }

    /// Sets the number of files and of bytes of disk that a host uses at the collector.
    pub fn set_stored(&self, host: &str, files: u64, used: u64) {
        self.update_host(&mut self.lock_state(), host, |figures| {
            (figures.files, figures.used) = (files, used)
        });
    }

    /// Records an acknowledgement at `now` (nanoseconds since the Unix epoch): `stored` more bytes
    /// of the host's files are on the disk, which took `received` bytes on the wire, and the host
    /// has `left` more to send.
    pub fn record_acknowledged(&self, host: &str, now: i64, stored: u64, received: u64, left: u64) {
        self.update_host(&mut self.lock_state(), host, |figures| {
            figures.acknowledged = Some(now);
            figures.left = Some(left);
            figures.stored = figures.stored.saturating_add(stored);
            figures.received = figures.received.saturating_add(received);
        });
    }

    /// Records that something could not be stored because of this shortage.
    pub fn record_not_stored(&self, shortage: &'static str) {
        let count = &mut self.lock_state().totals.not_stored;
        count.entry(shortage).and_modify(|count| *count = count.saturating_add(1)).or_insert(1);
    }

    /// Records a log that names another host than its sender.
    pub fn record_misnamed(&self) {
        let count = &mut self.lock_state().totals.misnamed;
        *count = count.saturating_add(1);
    }

    /// Records a time exchange: how far the host's clock is ahead of the collector's, and how long
    /// the exchange took, in nanoseconds.
    pub fn record_clock(&self, host: &str, offset: i64, round_trip: i64) {
        self.update_host(&mut self.lock_state(), host, |figures| {
            (figures.clock_offset, figures.round_trip) = (Some(offset), Some(round_trip));
        });
    }

    /// Records that a connection was refused, or ended because of what the other side did.
    pub fn record_refused(&self, cause: &'static str) {
        let count = &mut self.lock_state().totals.refused;
        count.entry(cause).and_modify(|count| *count = count.saturating_add(1)).or_insert(1);
    }

    /// Figures of all hosts that were ever admitted, by name.
    pub fn host_figures(&self) -> Vec<HostFigures> {
        self.lock_state().hosts.values().cloned().collect()
    }

    /// Figures of the collector as a whole.
    pub fn totals(&self) -> CollectorTotals {
        self.lock_state().totals.clone()
    }

    /// All figures in Prometheus' text format ([`http`] has its media type).
    pub fn render_text(&self) -> String {
        let (hosts, totals) = {
            let state = self.lock_state();
            (state.hosts.values().cloned().collect(), state.totals.clone())
        };
        text::render_text(hosts, totals)
    }

    fn lock_state(&self) -> MutexGuard<'_, MetricsState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes a host's figures.
    fn update_host(
        &self,
        state: &mut MetricsState,
        host: &str,
        change: impl FnOnce(&mut HostFigures),
    ) {
        let MetricsState { hosts, totals } = state;
        if let Some(figures) = hosts.get_mut(host) {
            change(figures);
        } else if hosts.len() < MAX_HOSTS_WITH_FIGURES {
            let new =
                HostFigures { host: host.to_owned(), quota: self.quota, ..HostFigures::default() };
            change(hosts.entry(host.to_owned()).or_insert(new));
        } else {
            totals.untold = totals.untold.saturating_add(1);
        }
    }
}

#[cfg(test)]
mod tests;
