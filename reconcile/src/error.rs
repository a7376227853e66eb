//! Why reconciliation could not be done at all. What is merely damaged or unmatched is no error: it
//! is counted in the [`Reconciliation`](crate::Reconciliation).

use std::path::PathBuf;

/// An error of [`reconcile`](crate::reconcile()).
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is nothing to reconcile.
    #[error("{hosts}: no logs here (*.sclog); run a program with 'sockcap record', or name its data directory with -d", hosts = hosts.display())]
    NoLogs {
        /// Where they should be.
        hosts: PathBuf,
    },
    /// There are logs, and none can be read.
    #[error("none of the {logs} logs can be read; the first: {first}")]
    NothingReadable {
        /// How many there are.
        logs: u64,
        /// What is wrong with the first.
        first: String,
    },
    /// A file of the data directory could not be read or written.
    #[error(transparent)]
    Table(#[from] message_trace::PathError),
}
