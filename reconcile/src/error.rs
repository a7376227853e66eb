//! Errors for which reconciliation fails as a whole. Damaged or unmatched data is no error: it is
//! counted in the [`Reconciliation`](crate::Reconciliation).

use std::path::PathBuf;

/// An error of [`reconcile`](crate::reconcile()).
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is nothing to reconcile.
    #[error("{hosts}: no logs here (*.sclog); run a program with 'sockcap record', or choose its data directory with -d", hosts = hosts.display())]
    NoLogs {
        /// The directory in which logs were expected.
        hosts: PathBuf,
    },
    /// There are logs, and none is readable.
    #[error("none of the {logs} logs can be read; the first: {first}")]
    NothingReadable {
        /// Number of logs.
        logs: u64,
        /// Error of the first log.
        first: String,
    },
    /// A file of the data directory could not be read or written.
    #[error(transparent)]
    Table(#[from] message_trace::PathError),
}
