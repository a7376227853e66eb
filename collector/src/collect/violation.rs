//! Violations: behaviour that no shipper of this project has.

use socket_log::names;

/// Violation of a rule that every shipper of this project follows.
#[derive(Debug, thiserror::Error)]
pub(super) enum Violation {
    /// A name that leads elsewhere or that no log can have.
    #[error(transparent)]
    Name(#[from] names::NameError),
    /// A request about a file before one was selected.
    #[error("it sent data without selecting a file")]
    NoFile,
    /// An extent that does not begin at a page, or ends beyond the possible range.
    #[error("it sent an extent at byte {0}, which is not a valid position")]
    Offset(u64),
    /// A size far beyond the file's content.
    #[error("it extended a file with {used} bytes of content to {length} bytes")]
    Sparse {
        /// Length that was requested.
        length: u64,
        /// Bytes of content.
        used: u64,
    },
}
