//! Violations: behaviour that no shipper of ours has.

use socket_log::names;

/// Violation of what every shipper of ours keeps to.
#[derive(Debug, thiserror::Error)]
pub(super) enum Violation {
    /// A name that leads elsewhere, or is no log's.
    #[error(transparent)]
    Name(#[from] names::NameError),
    /// Something about a file before saying which.
    #[error("it sent something of a file without saying of which")]
    NoFile,
    /// An extent that does not begin at a page, or ends where nothing can be.
    #[error("it sent an extent at byte {0}, where none can be")]
    Offset(u64),
    /// A size far beyond what is in the file.
    #[error("it made a file {length} bytes long that has {used} bytes of content")]
    Sparse {
        /// Length that it asked for.
        length: u64,
        /// Bytes that are there.
        used: u64,
    },
}
