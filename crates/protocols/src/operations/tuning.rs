//! Tuned figures of the operations of logs.

/// Maximum number of conversations that are followed at the same time. The one that has been silent
/// for the longest time is evicted, and its protocol has to be recognised again later. Each takes
/// some KiB, so all of them take tens of MiB.
pub(crate) const MAX_CONVERSATIONS: usize = 16_384;

/// Maximum size of one entry in an operation file, in bytes: names are short. A longer one is
/// damage.
pub(crate) const MAX_ENTRY_BYTES: usize = 1 << 16;

/// Size of the reads of an operation file, in bytes.
pub(crate) const READ_BYTES: usize = 1 << 16;

/// Mode of an operation file, as for logs: the owner and the group may read it.
pub(crate) const NEW_FILE_MODE: u32 = 0o640;
