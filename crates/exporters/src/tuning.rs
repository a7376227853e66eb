//! The tuned figures of this crate. Unless stated otherwise, a figure was chosen, not measured.

use std::time::Duration;

/// Maximum number of patterns in memory, unless the user asks for more: far more than a user looks
/// at.
pub(crate) const MAX_PATTERNS: usize = 10_000;

/// Maximum number of edges of a graph, unless the user asks for more: a graph of this size can
/// still be drawn and read.
pub(crate) const MAX_EDGES: usize = 200;

/// Number of spans in one request to a collector: about half a megabyte, well below what collectors
/// accept.
pub(crate) const SPANS_PER_REQUEST: usize = 1000;

/// Maximum number of times that a request is sent; then sending fails.
pub(crate) const MAX_TRIES: u32 = 6;

/// Time before a request is sent for the second time; each further wait is twice as long.
pub(crate) const FIRST_WAIT: Duration = Duration::from_millis(500);

/// Maximum wait that a collector can request before a request is sent again.
pub(crate) const MAX_WAIT: Duration = Duration::from_secs(30);

/// Maximum time for one request and its response.
pub(crate) const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum number of bytes that are read of a collector's response.
pub(crate) const MAX_ANSWER_BYTES: u64 = 64 * 1024;

/// Maximum number of characters of a collector's response that an error shows.
pub(crate) const MAX_ANSWER_SHOWN: usize = 200;

/// Bytes of timelines of threads that are held in memory before more go to temporary files. Chosen,
/// not measured.
pub(crate) const THREADS_IN_MEMORY_BYTES: u64 = 256 << 20;

/// Bytes of resources of steps that are held in memory before more go to temporary files: 2.4
/// million steps. Chosen, not measured.
pub(crate) const STEPS_IN_MEMORY_BYTES: u64 = 256 << 20;
