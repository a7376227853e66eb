//! A collector's figures, for Prometheus and for the table that `sockcap collect` prints. Sessions
//! tell what happened; the figures of a host stay when it has gone, so that a silent host is seen.
//!
//! `text` writes them as Prometheus reads them, `http` serves that.

mod figures;
mod http;
mod text;

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::tuning::MAX_HOSTS_WITH_FIGURES;

pub use figures::{HostFigures, Totals};
pub use http::{DEFAULT_ADDRESS, Server};

/// Counts and measures of a collector. All methods may be called from any thread, and none waits
/// for the disk or the net.
#[derive(Debug)]
pub struct Metrics {
    quota: Option<u64>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    hosts: BTreeMap<String, HostFigures>,
    totals: Totals,
}

impl Metrics {
    /// Figures of a collector that gives each host `quota` bytes of disk. The causes for which
    /// connections are refused and the shortages are named beforehand: a count that is there from
    /// the beginning shows its first increase.
    pub fn new(quota: Option<u64>, causes: &[&'static str], shortages: &[&'static str]) -> Metrics {
        let none = |words: &[&'static str]| words.iter().map(|word| (*word, 0)).collect();
        let totals =
            Totals { refused: none(causes), not_stored: none(shortages), ..Totals::default() };
        Metrics { quota, state: Mutex::new(State { totals, ..State::default() }) }
    }

    /// A host was let in.
    pub fn connected(&self, host: &str) {
        let mut state = self.state();
        state.totals.connections = state.totals.connections.saturating_add(1);
        self.of(&mut state, host, |figures| {
            figures.connections = figures.connections.saturating_add(1)
        });
    }

    /// A connection of a host that was let in has ended.
    pub fn disconnected(&self, host: &str) {
        let mut state = self.state();
        state.totals.connections = state.totals.connections.saturating_sub(1);
        self.of(&mut state, host, |figures| {
            figures.connections = figures.connections.saturating_sub(1)
        });
    }

    /// Sets what a host has here, in files and bytes of disk.
    pub fn holds(&self, host: &str, files: u64, used: u64) {
        self.of(&mut self.state(), host, |figures| (figures.files, figures.used) = (files, used));
    }

    /// A host was told at `now` (nanoseconds since the Unix epoch) that `stored` more bytes of its
    /// files are on the disk, which took `received` bytes on the wire; it says that it has `left`
    /// more to send.
    pub fn acknowledged(&self, host: &str, now: i64, stored: u64, received: u64, left: u64) {
        self.of(&mut self.state(), host, |figures| {
            figures.acknowledged = Some(now);
            figures.left = Some(left);
            figures.stored = figures.stored.saturating_add(stored);
            figures.received = figures.received.saturating_add(received);
        });
    }

    /// Something could not be stored, for this shortage.
    pub fn not_stored(&self, shortage: &'static str) {
        let count = &mut self.state().totals.not_stored;
        count.entry(shortage).and_modify(|count| *count = count.saturating_add(1)).or_insert(1);
    }

    /// A log names another host than the one that sends it.
    pub fn misnamed(&self) {
        let count = &mut self.state().totals.misnamed;
        *count = count.saturating_add(1);
    }

    /// Times were exchanged: how far the host's clock is ahead, and how long the exchange took, in
    /// nanoseconds.
    pub fn clock(&self, host: &str, offset: i64, round_trip: i64) {
        self.of(&mut self.state(), host, |figures| {
            (figures.clock_offset, figures.round_trip) = (Some(offset), Some(round_trip));
        });
    }

    /// A connection was refused, or ended for what the other side did.
    pub fn refused(&self, cause: &'static str) {
        let count = &mut self.state().totals.refused;
        count.entry(cause).and_modify(|count| *count = count.saturating_add(1)).or_insert(1);
    }

    /// The figures of all hosts that have ever been let in, by name.
    pub fn hosts(&self) -> Vec<HostFigures> {
        self.state().hosts.values().cloned().collect()
    }

    /// The figures of the whole.
    pub fn totals(&self) -> Totals {
        self.state().totals.clone()
    }

    /// All figures as Prometheus reads them ([`http`] says under which type).
    pub fn text(&self) -> String {
        let (hosts, totals) = {
            let state = self.state();
            (state.hosts.values().cloned().collect(), state.totals.clone())
        };
        text::text(hosts, totals)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes a host's figures.
    fn of(&self, state: &mut State, host: &str, change: impl FnOnce(&mut HostFigures)) {
        let State { hosts, totals } = state;
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
