//! Tuned figures.

/// Maximum number of connections whose protocol is followed at the same time; the one that was
/// silent for longest is forgotten, and what it says later is looked at anew. Each takes some KiB,
/// so all of them tens of MiB.
pub(crate) const MAX_CONVERSATIONS: usize = 16_384;

/// Maximum size of one entry in a file of operations, in bytes: names are short. A longer one is
/// damage.
pub(crate) const MAX_ENTRY_BYTES: usize = 1 << 16;

/// Size of the reads of a file of operations, in bytes.
pub(crate) const READ_BYTES: usize = 1 << 16;

/// Rights of a file of operations: those of a log, whose owner and group may read it.
pub(crate) const NEW_FILE_MODE: u32 = 0o640;
