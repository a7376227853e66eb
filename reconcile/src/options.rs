//! What the user may choose about reconciliation.

use std::num::NonZeroUsize;
use std::time::Duration;

use crate::internal::InternalMessages;
use crate::tuning::{DEFAULT_AT_ONCE, DEFAULT_MEMORY, DEFAULT_TRANSLATION};

/// Choices of [`reconcile`](crate::reconcile()).
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Adjacent messages of one flow and direction are one fat message when at most this time lies
    /// between them.
    pub fat_gap: Duration,
    /// Which of the messages that a process sends to itself are in the trace.
    pub internal: InternalMessages,
    /// How sure two sockets with different names must be the ends of one connection, from 0 to 1,
    /// to be taken for them (see [`translation`](crate::translation)); `None`: they never are.
    pub translation: Option<f64>,
    /// How many bytes of calls and messages, with the tables of sockets and names, are held in
    /// memory before more of them go to temporary files in the data directory (see
    /// `docs/reconciliation.md`).
    pub memory: u64,
    /// Number of worker threads; `None`: one for each processor. The result is the
    /// same with any.
    pub threads: Option<NonZeroUsize>,
    /// How many calls of one connection are matched in memory; those of one with more are sorted by
    /// themselves, in temporary files, and so are datagrams on their way into flows. The result is
    /// the same with any number: it is here for tests.
    #[doc(hidden)]
    pub at_once: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            fat_gap: Duration::from_millis(100),
            internal: InternalMessages::LeftOut,
            translation: Some(DEFAULT_TRANSLATION),
            memory: DEFAULT_MEMORY,
            threads: None,
            at_once: DEFAULT_AT_ONCE,
        }
    }
}

impl Options {
    /// How many threads to use.
    pub(crate) fn thread_count(&self) -> usize {
        let all = || std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        self.threads.map_or_else(all, NonZeroUsize::get)
    }
}
