//! What a shipper does that no shipper of ours would do.

use crate::names;

/// What a shipper does that no shipper of ours would do.
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
        /// What it asked for.
        length: u64,
        /// What there is.
        used: u64,
    },
}
