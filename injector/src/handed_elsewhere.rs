//! The same on machines and systems that this crate is not for: nothing is handed to anybody.

use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::OnceLock;

/// Bytes of the words in the blob that have numbers of descriptors.
pub(crate) const BYTES: usize = 8;

/// What a blob is handed where no path leads there.
#[derive(Debug)]
pub struct Handed {
    /// Offset in the blob of the words.
    pub place: u64,
    /// Directory in which the process makes its logs.
    pub directory: PathBuf,
    /// The same, opened.
    pub opened: OnceLock<OwnedFd>,
    /// Socket at which the recorder takes announcements.
    pub socket: PathBuf,
}
