//! What the user may choose about reconciliation.

use std::num::NonZeroUsize;
use std::time::Duration;

use out_of_core::workers;

/// Choices of [`reconcile`](crate::reconcile()).
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Adjacent messages of one flow and direction are one fat message when at most this time lies
    /// between them.
    pub fat_gap: Duration,
    /// Whether to keep messages that a process sends to itself (an event loop's wake-up socket,
    /// mostly). They say nothing of the system's structure and would be taken for causes, so they
    /// are only counted by default.
    pub keep_internal: bool,
    /// How sure two sockets with different names must be the ends of one connection, from 0 to 1,
    /// to be taken for them (see [`translation`](crate::translation)); `None`: they never are.
    pub translation: Option<f64>,
    /// How many bytes of calls and messages, with the tables of sockets and names, are held in
    /// memory before more of them go to temporary files in the data directory (see
    /// `docs/reconciliation.md`).
    pub memory: u64,
    /// How many threads work at once; `None`: as many as there are processors. The result is the
    /// same with any.
    pub threads: Option<NonZeroUsize>,
    /// How many calls of one connection are matched in memory; those of one with more are sorted by
    /// themselves, in temporary files, and so are datagrams on their way into flows. The result is
    /// the same with any number: it is here for tests.
    #[doc(hidden)]
    pub at_once: usize,
}

/// [`Options::at_once`] where nobody chose: twice what a partition holds, some 17 MB in memory.
const AT_ONCE: usize = 350_000;

/// [`Options::memory`] where nobody chose: what holds the calls of five million messages, and
/// leaves the whole of 25 million below 1 GB.
const MEMORY: u64 = 384 << 20;

/// [`Options::translation`] where nobody chose: see `docs/decisions/0311-translation-by-odds.md`.
const TRANSLATION: f64 = 0.8;

impl Default for Options {
    fn default() -> Self {
        Options {
            fat_gap: Duration::from_millis(100),
            keep_internal: false,
            translation: Some(TRANSLATION),
            memory: MEMORY,
            threads: None,
            at_once: AT_ONCE,
        }
    }
}

impl Options {
    /// How many threads to use.
    pub(crate) fn threads(&self) -> usize {
        self.threads.map_or_else(workers::threads, NonZeroUsize::get)
    }
}
