//! What is known of a blob in a process: enough to take it out again.

use super::told::MARK;
use crate::blob::{Ending, Patch};

/// Blob in a process.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    /// Number of the process.
    pub process: u32,
    /// Ranges that were mapped, the one of the blob first.
    pub mapped: Vec<(u64, u64)>,
    /// Ranges of stubs.
    pub stubs: Vec<(u64, u64)>,
    /// Range of the blob's code.
    pub code: (u64, u64),
    /// Address of bytes that no other blob has, and these bytes.
    pub mark: (u64, [u8; MARK]),
    /// Changes of the text.
    pub patches: Vec<Patch>,
    /// How it is taken out.
    pub ending: Option<Ending>,
}

impl Held {
    /// Address of the blob.
    pub(crate) fn blob(&self) -> u64 {
        self.mapped.first().map_or(0, |(address, _)| *address)
    }
}
