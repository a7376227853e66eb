//! A collector's figures, for Prometheus and for the table that `sockcap collect` prints. Sessions
//! tell what happened; the figures of a host stay when it has gone, so that one that is silent is
//! seen.
//!
//! `text` writes them as Prometheus reads them, `http` serves that.

mod http;
mod text;

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

pub use http::{DEFAULT_ADDRESS, Server};

/// So many hosts have figures of their own. More are counted, so that no foreign names can fill the
/// memory.
pub const MOST_HOSTS: usize = 10_000;

/// What a collector counts and measures. All methods may be called from any thread, and none waits
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

/// A host's figures.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostFigures {
    /// Its name.
    pub host: String,
    /// Its open connections: one, or two for a moment where a new one takes the place of one that
    /// is lost.
    pub connections: u64,
    /// When it was last told that something is on the disk, in nanoseconds since the Unix epoch.
    pub acknowledged: Option<i64>,
    /// What it said then that it has yet to send, in bytes.
    pub left: Option<u64>,
    /// Bytes of files that were written since the collector was started.
    pub stored: u64,
    /// Bytes that came over the wire for that.
    pub received: u64,
    /// Files that it has here.
    pub files: u64,
    /// Bytes of disk that they take.
    pub used: u64,
    /// Bytes of disk that it may have.
    pub quota: Option<u64>,
    /// How far its clock is ahead of the collector's, in nanoseconds, as last measured.
    pub clock_offset: Option<i64>,
    /// How long that exchange was under way, in nanoseconds.
    pub round_trip: Option<i64>,
}

/// The figures of a collector as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Connections of hosts.
    pub connections: u64,
    /// Connections that were refused, by cause.
    pub refused: BTreeMap<&'static str, u64>,
    /// How often something could not be stored, by what there was too little of.
    pub not_stored: BTreeMap<&'static str, u64>,
    /// Logs that name another host than the one that sends them.
    pub misnamed: u64,
    /// Tellings about hosts beyond [`MOST_HOSTS`], which have no figures.
    pub untold: u64,
}

impl Metrics {
    /// Figures of a collector that gives each host so many bytes of disk. The causes for which
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

    /// What a host has here, in files and bytes of disk.
    pub fn holds(&self, host: &str, files: u64, used: u64) {
        self.of(&mut self.state(), host, |figures| (figures.files, figures.used) = (files, used));
    }

    /// A host was told at `now` (nanoseconds since the Unix epoch) that so many more bytes of its
    /// files are on the disk, which took so many bytes of the wire; it says that it has `left` yet
    /// to send.
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
        } else if hosts.len() < MOST_HOSTS {
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
