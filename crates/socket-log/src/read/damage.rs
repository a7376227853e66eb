//! Damage of a log: the reader returns the complete records and reports the rest here.

use std::fmt;
use std::path::PathBuf;

/// Reason why a file cannot be read as a log at all.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The operating system refused.
    #[error("{path}: {source}", path = path.display())]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// Reason given by the system.
        source: std::io::Error,
    },
    /// The file does not begin like a log.
    #[error("{path}: not a sockcap log ({why}); give files written by libsockcap.so (*.sclog)", path = path.display())]
    NotALog {
        /// Path of the file.
        path: PathBuf,
        /// What is wrong with the file's beginning.
        why: &'static str,
    },
    /// The log was written in another version of the format.
    #[error("{path}: log format version {found}, this program reads version {known}; use the sockcap it was recorded with", path = path.display(), known = crate::layout::VERSION)]
    Version {
        /// Path of the file.
        path: PathBuf,
        /// Version in the file.
        found: u32,
    },
}

/// Place of a log at which something is missing or invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogDamage {
    /// Offset in the file, in bytes.
    pub offset: u64,
    /// Number of bytes from `offset` that were skipped.
    pub bytes: u64,
    /// Fault at this place.
    pub fault: DamageKind,
}

/// Kinds of damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DamageKind {
    /// The file ends inside a chunk.
    Truncated,
    /// A chunk does not begin with a chunk's magic.
    NotAChunk,
    /// A record was begun and never finished: its thread was killed or is still writing it.
    Unfinished,
    /// A record's length extends past its chunk, or is shorter than its kind needs.
    BadLength,
    /// A record's kind or one of its fields is unknown to this version.
    BadField,
    /// The operating system could not read the file any further.
    Unreadable,
}

impl fmt::Display for DamageKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DamageKind::Truncated => "the file ends inside a chunk",
            DamageKind::NotAChunk => "no chunk begins here",
            DamageKind::Unfinished => "a record was begun and not finished",
            DamageKind::BadLength => "a record's length is impossible",
            DamageKind::BadField => "a record has an unknown kind or field",
            DamageKind::Unreadable => "the file cannot be read any further",
        })
    }
}

impl fmt::Display for LogDamage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "offset {}: {} ({} bytes skipped)", self.offset, self.fault, self.bytes)
    }
}
