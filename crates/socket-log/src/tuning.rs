//! Tuned figures of the reader and of the maker of logs, each with its unit and its meaning.

/// Mode of the files that are made here, as for the library's logs: a log contains addresses and
/// arguments of programs, which are not for everybody.
pub(crate) const NEW_FILE_MODE: u32 = 0o640;

/// Size of the piece that is inspected after an empty chunk, in bytes. Chosen, not measured.
pub(crate) const EMPTY_STEP_BYTES: usize = 64 * 1024;

/// Maximum number of times that a chunk is read while its writer reuses it. Chosen, not measured.
pub(crate) const MAX_READINGS: usize = 100;

/// Number of bytes of a file of switches that are read in one call. Chosen, not measured.
pub(crate) const SWITCHES_READ_BYTES: usize = 64 * 1024;

/// Smallest change of the wall clock that counts as a setting of it, in nanoseconds. Chosen, not
/// measured.
pub(crate) const MIN_SETTING_NS: u64 = 1_000_000;

/// Maximum number of threads, flows and directions with peers remembered by a
/// [`crate::write::LogWriter`]; all are forgotten when there are more. Chosen, not measured.
#[cfg(any(feature = "write", test))]
pub(crate) const REMEMBERED_PEERS: usize = 4096;

/// Maximum number of chunks of ended threads that wait for another thread, as in the library.
/// Chosen, not measured.
#[cfg(any(feature = "write", test))]
pub(crate) const MAX_FREE_CHUNKS: usize = 64;
