//! Options of a reconciliation.

use std::num::NonZeroUsize;
use std::time::Duration;

use crate::internal::InternalMessages;
use crate::tuning::{DEFAULT_AT_ONCE, DEFAULT_MEMORY, DEFAULT_TRANSLATION};

/// Options of [`reconcile`](crate::reconcile()).
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Longest time between adjacent messages of one flow and direction that are merged into one
    /// (WAP5's fat messages).
    pub fat_gap: Duration,
    /// Which messages of a process to itself are in the trace.
    pub internal: InternalMessages,
    /// Minimum confidence, from 0 to 1, that two sockets with different names are the ends of one
    /// connection for them to be paired (see [`translation`](crate::translation)); `None`: they are
    /// never paired.
    pub translation: Option<f64>,
    /// Number of bytes of calls and messages, with the tables of sockets and names, that are held
    /// in memory before more of them spill to temporary files in the data directory (see
    /// `docs/reconciliation.md`).
    pub memory: u64,
    /// Number of worker threads; `None`: one per processor. The result does not depend on it.
    pub threads: Option<NonZeroUsize>,
    /// Maximum number of calls of one connection that are matched in memory; longer connections are
    /// sorted separately, in temporary files, and so are datagrams when they are grouped to flows.
    /// The result does not depend on it: the option exists for tests.
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
    /// Number of threads to use.
    pub(crate) fn thread_count(&self) -> usize {
        let all = || std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        self.threads.map_or_else(all, NonZeroUsize::get)
    }
}
