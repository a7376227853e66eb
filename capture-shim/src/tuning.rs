//! Tuned figures of the library: the sizes of its tables and steps, each with its unit, its meaning
//! and its measured effect. A figure without a measurement was chosen, not measured.

use socket_log::layout::{CHUNK_BYTES, CHUNK_WORDS};

/// Smallest limit of a log, in bytes. With less, few threads would have a chunk. Chosen, not
/// measured.
pub(crate) const MIN_LOG_BYTES: u64 = 64 * 1024;

/// Length of a log's later segments, in bytes; the first ones are shorter. Allocating one takes 80
/// us on ext4, and 1.2 ms on tmpfs, once for some 400,000 records.
pub(crate) const SEGMENT_BYTES: usize = 4 << 20;

/// Length of the log's pages that are made writable together, in bytes. 64 KiB take about 70 us on
/// ext4, which is less than a request. In a Go server pages took 1.2% of the time one by one, 1.0%
/// by 16 KiB, 0.7% by 32 KiB and 0.5% by 64 KiB. By 2 MiB it was 0.4%, but then the 99th percentile
/// of the response times was 1.15 to 1.56 times its value without the library.
pub(crate) const READY_BYTES: usize = 64 << 10;

/// Maximum number of a log's segments, which makes its largest size about 8 GiB. Chosen, not
/// measured.
pub(crate) const MAX_SEGMENTS: usize = 2048;

/// Size of the pieces, in bytes, in which a file is allocated if signals interrupt the allocation.
/// Chosen, not measured.
pub(crate) const ALLOCATION_PIECE_BYTES: usize = 64 * 1024;

/// Number of attempts to allocate each [`ALLOCATION_PIECE_BYTES`]. Chosen, not measured.
pub(crate) const ALLOCATION_TRIES: usize = 16;

/// Maximum number of records between two attempts to extend a log that could not grow. Chosen, not
/// measured.
pub(crate) const MAX_PAUSE: u64 = 1024;

/// Maximum number of times that a thread yields to another one which begins the log. Chosen, not
/// measured.
pub(crate) const MAX_YIELDS: u32 = 100_000;

/// Length of a reserve (space of the log that is mapped before the process gives up rights) beyond
/// the used part, in bytes. It costs only address space. Chosen, not
/// measured.
pub(crate) const RESERVE_BYTES: usize = 256 << 20;

/// Length of a reserve if the process's address space is limited, in bytes. Chosen, not measured.
pub(crate) const RESERVE_BYTES_LIMITED: usize = 16 << 20;

/// Step by which a reserve is allocated when it is needed, in bytes. Chosen, not measured.
pub(crate) const RESERVE_STEP_BYTES: usize = 64 * 1024;

/// Allocated part of a reserve made ahead, in bytes, for a process that may not be able to allocate
/// more. Chosen, not measured.
pub(crate) const RESERVE_AHEAD_BYTES: usize = 4 << 20;

/// Number of logs that a process preallocates together for its children. Chosen, not measured.
pub(crate) const SPARE_LOGS: usize = 16;

/// Number of preallocated logs of a process without sockets, including its own. A file takes some
/// 30 us, and programs that restrict themselves by landlock have 1 ms to do so. Chosen: itself and
/// one child.
pub(crate) const FEW_SPARE_LOGS: usize = 2;

/// Allocated size of a preallocated log, in bytes, if the process cannot allocate more later.
/// Chosen, not measured.
pub(crate) const SPARE_LOG_ROOM_BYTES: usize = 256 * 1024;

/// Length of a preallocated log's mapping, in bytes. It costs only address space. Chosen, not
/// measured.
pub(crate) const SPARE_LOG_BYTES: usize = 64 << 20;

/// Length of a preallocated log's mapping if the process's address space is limited, in bytes.
/// Chosen, not measured.
pub(crate) const SPARE_LOG_BYTES_LIMITED: usize = 1 << 20;

/// Lowest number of a descriptor that the library keeps open. Chosen, not measured.
pub(crate) const MIN_KEPT_DESCRIPTOR: u64 = 1000;

/// Distance of the lowest number of a kept descriptor from the process's limit, if the limit is
/// lower than [`MIN_KEPT_DESCRIPTOR`]. Chosen, not measured.
pub(crate) const KEPT_BELOW_LIMIT: u64 = 24;

/// Limit on descriptors below which a process's log is made ahead. Chosen, not measured.
pub(crate) const FEW_DESCRIPTORS: u64 = 16;

/// Number of descriptors that are inspected, from 0 on, when a program begins and ends, for sockets
/// that no visible call made. Chosen, not measured.
pub(crate) const SURVEYED_DESCRIPTORS: core::ffi::c_int = 64;

/// Maximum number of sockets with which a program may begin, so that sockets that no visible call
/// made are searched for. Chosen, not measured.
pub(crate) const INHERITED_SOCKETS: usize = 32;

/// Length of the pieces, in bytes, in which code is searched. Chosen, not measured.
pub(crate) const CODE_PIECE_BYTES: usize = 64 << 10;

/// Maximum number of bytes of code that are searched when a process ends. A page takes 0.4 us and
/// more.
pub(crate) const MAX_CODE_BYTES: usize = 8 << 20;

/// Minimum life of a process for its libraries to be searched when it ends, in nanoseconds. Finding
/// them takes 0.15 ms: a file below `/proc/self` takes 10 us to open for the first time.
pub(crate) const MIN_LIFE_NANOSECONDS: usize = 10_000_000;

/// Life of a process for which one byte of code is searched, in nanoseconds: the search takes a
/// fiftieth of the life at most.
pub(crate) const NANOSECONDS_OF_LIFE_FOR_BYTE: usize = 20;

/// Maximum size of a program's code that is searched when it begins, in bytes.
pub(crate) const MAX_SMALL_PROGRAM_BYTES: usize = 64 << 10;

/// Maximum number of partial chunks of ended threads that are kept for others. A program seldom has
/// more threads that end before another begins. Chosen, not measured.
pub(crate) const MAX_PARTIAL_CHUNKS: usize = 64;

/// Smallest rest of a chunk that is kept for another thread, in bytes. Chosen, not measured.
pub(crate) const MIN_PARTIAL_CHUNK_BYTES: usize = 1024;

/// Number of chunks of a flight recorder that are kept empty, to be written next. Chosen, not
/// measured.
pub(crate) const SPARE_CHUNKS: usize = 4;

/// Maximum number of chunks that are examined for one that can be reused. Chosen, not measured.
pub(crate) const MAX_CHUNKS_TRIED: usize = 16;

/// Number of records that are lost without a search after a search that found no chunk to reuse,
/// because open flows fill the log. A search takes about 345 µs, and without this limit each call
/// of a program with 2,000 connections and a log of 64 KiB made a search.
pub(crate) const RECORDS_BETWEEN_SEARCHES: u32 = 256;

/// Maximum number of threads and signal handlers that reuse a chunk at the same time; the records
/// of others are lost. At most 64, the bits of a word. Chosen, not measured.
pub(crate) const MAX_SCRATCHES: usize = 64;

/// Maximum number of full chunks that a thread withholds from reuse. Chosen, not measured.
pub(crate) const MAX_RETIRED: usize = 4;

/// Maximum number of words that are carried over from a reused chunk. A chunk with more is left as
/// it is. Chosen, not measured.
pub(crate) const MAX_CARRIED_WORDS: usize = CHUNK_WORDS / 2;

/// Number of attempts to write a transfer's record with its position in the stream, each disturbed
/// by a signal handler. Chosen, not measured.
pub(crate) const POSITION_TRIES: usize = 8;

/// Number of flows with counted bytes; a later flow takes the place of the flow with a number lower
/// by this. Chosen, not measured.
pub(crate) const COUNTED_FLOWS: usize = 1 << 18;

/// Number of places for the sampling of the queues of unix streams; flows that share a place are
/// sampled more rarely. Chosen, not measured.
pub(crate) const FLOWS_WITH_QUEUES: usize = 1 << 10;

/// Number of turns of a unix stream found in use at whose beginning its queue is sampled. (A turn
/// is all that one end sends before the other end sends.) One sample at a quiet moment is enough,
/// and under load some are at moments when bytes are in transit. Chosen, not measured.
pub(crate) const FIRST_QUEUE_SAMPLES: u64 = 32;

/// Ticks, which are about nanoseconds, between later samples at the beginning of turns. The
/// recording of the other end may begin at any time from then on, and its calls are certain once
/// there was a sample. Each is a system call (0.4 us) and 20 bytes of the log.
pub(crate) const TICKS_BETWEEN_SAMPLES: u64 = 1 << 24;

/// Ticks between samples while only one end sends. Chosen, not measured.
pub(crate) const TICKS_BETWEEN_SAMPLES_OF_TURN: u64 = 1 << 26;

/// Number of flows with an unfinished fingerprint; a later flow takes the place of the flow with a
/// number lower by this. Chosen, not measured.
pub(crate) const FINGERPRINTED_FLOWS: usize = 1 << 20;

/// Number of flows with followed messages; a later flow takes the place of the flow with a number
/// lower by this, which has no more snippets in the log then. Each place takes 576 bytes once it is
/// used. Chosen, not measured.
pub(crate) const FLOWS_WITH_HEADS: usize = 1 << 16;

/// Number of sessions of TLS libraries that are followed; another session in the same place
/// replaces an earlier one, and plain text that was read ahead for the earlier one has no snippets
/// then. Each place takes 640 bytes once it is used. Chosen, not measured.
pub(crate) const TLS_SESSIONS: usize = 1 << 13;

/// Number of TLS records in one receive that are distinguished; further records count as parts of
/// the last one. Servers that read ahead find some requests of HTTP/2 in one receive. Chosen, not
/// measured.
pub(crate) const MAX_RECORDS_AHEAD: usize = 8;

/// Maximum number of layers of an NSPR descriptor that are searched for the NSS layer. Programs
/// have two or three. Chosen, not measured.
pub(crate) const MAX_NSPR_LAYERS: usize = 16;

/// Number of remembered call sites of TLS library functions. Most programs have a handful. Programs
/// that use NSPR for files, too, have hundreds. A place takes 24 bytes once it is used. Chosen, not
/// measured.
pub(crate) const MAX_TLS_CALLERS: usize = 4096;

/// Number of places in the table in which each call site of a TLS library's function may be.
/// Chosen, not measured.
pub(crate) const TLS_CALLERS_TRIED: usize = 4;

/// Maximum number of bytes that are kept of one end's turn, or of a datagram, of an unknown
/// protocol.
/// Chosen, not measured.
pub(crate) const MAX_KEPT_TURN_BYTES: usize = 256;

/// Maximum number of bytes that are kept of a Redis message: the lines of an array and of its first
/// text, and the text itself. Chosen, not measured.
pub(crate) const MAX_KEPT_REDIS_BYTES: usize = 96;

/// Maximum length of the first text of a Redis message that is kept, in bytes. Names of commands
/// have at most 20. Chosen, not measured.
pub(crate) const MAX_KEPT_REDIS_TEXT_BYTES: u64 = 64;

/// Maximum number of bytes that are kept of the lines of a message's head. Chosen, not measured.
pub(crate) const MAX_KEPT_LINES_BYTES: usize = 1024;

/// Maximum number of bytes that are kept of an incomplete first line, which may turn out to be
/// something else. Chosen, not measured.
pub(crate) const MAX_KEPT_UNFINISHED_BYTES: usize = 256;

/// Maximum number of bytes that are kept of an HTTP/2 frame after its header: the maximum of a
/// frame unless the two ends agree on more. Chosen, not measured.
pub(crate) const MAX_KEPT_FRAME_BYTES: usize = 16 << 10;

/// Longest frame of HTTP/2 that is handled as a whole, in bytes, including its header. Longer ones
/// take the slow path, which handles all forms. Chosen, not measured.
pub(crate) const MAX_WHOLE_FRAME_BYTES: usize = 512;

/// Maximum number of values that are left out of a frame that is handled as a whole. Chosen, not
/// measured.
pub(crate) const MAX_BLANKS: usize = 16;

/// Maximum number of bytes that are searched for the end of a possible first line: the longest line
/// that servers accept. Chosen, not measured.
pub(crate) const MAX_FIRST_LINE_BYTES: usize = 8 << 10;

/// Maximum number of pieces of a head that are put into one record. A head has three to six.
/// Chosen, not measured.
pub(crate) const MAX_PIECES: usize = 8;

/// Number of descriptors for which sockets are remembered, from 0 on. Chosen, not measured.
pub(crate) const REMEMBERED_DESCRIPTORS: usize = 1024;

/// Number of descriptors that are queried in one call. Chosen, not measured.
pub(crate) const DESCRIPTORS_POLLED: usize = 512;

/// Maximum number of threads that are created and have not begun yet; the creator of further
/// threads is not recorded. Chosen, not measured.
pub(crate) const MAX_NEW_THREADS: usize = 64;

/// Number of threads that may each have a `vfork` child with a note to leave. Chosen, not measured.
pub(crate) const MAX_NOTES: usize = 4;

/// Maximum time to wait for a recorder to which a program was announced, in seconds: the maximum
/// time of the recorder, and a second more. Chosen, not measured.
pub(crate) const SECONDS_TO_ANNOUNCE: i64 = 3;

/// Beginning of a program's file that is inspected, in bytes: its header, the table after it, and
/// Go's build note, which Go's own linker puts at 3968.
pub(crate) const PROGRAM_HEAD_BYTES: usize = 4096;

/// Maximum number of seccomp filters that are kept; beyond that, no system call is permitted.
/// Chosen, not measured.
pub(crate) const MAX_FILTERS: usize = 16;

/// Maximum number of instructions of all filters that are passed on to another program. Their text
/// is nearly as long as the kernel permits for a variable (128 KiB).
pub(crate) const MAX_HANDED_INSTRUCTIONS: usize = 8000;

/// Maximum number of ports in `SOCKCAP_PORTS`. Chosen, not measured.
pub(crate) const MAX_PORTS: usize = 64;

/// Maximum number of steps in `SOCKCAP_TEST_CLOCK`. Chosen, not measured.
pub(crate) const MAX_CLOCK_STEPS: usize = 8;

/// Time from a log's beginning to its second anchor, in ticks that are cycles. Chosen, not
/// measured.
pub(crate) const FIRST_ANCHOR_REACH: u64 = 1 << 17;

/// Size of the variable with the lineage of a process, in bytes; the first ancestors are left out
/// if it is too small. Chosen, not measured.
pub(crate) const LINEAGE_BYTES: usize = 1024;

/// Maximum number of eventfds that are watched by epoll at the same time. Each event loop has one
/// eventfd. Chosen, not measured.
#[cfg(feature = "resources")]
pub(crate) const MAX_WATCHED_EVENTFDS: usize = 64;

/// Maximum number of events of one wait that are checked for eventfds. Chosen, not measured.
#[cfg(feature = "resources")]
pub(crate) const MAX_EPOLL_EVENTS: usize = 64;

/// Number of woken goroutines that a thread may record for each of its hooked system calls. The
/// analysis uses the same number for each message. Chosen, not measured: a worker pool wakes 2 to 6
/// goroutines for a message.
#[cfg(feature = "injected")]
pub(crate) const READY_PER_CALL: u64 = 64;

/// Number of woken goroutines that a thread may record before its first hooked system call. Chosen,
/// not measured: one read has brought 50 responses, which woke 50 goroutines.
#[cfg(feature = "injected")]
pub(crate) const READY_AT_FIRST: u64 = 512;

/// Maximum number of records of woken goroutines that a thread may still write: 48 KiB of the log.
/// Chosen, not measured.
#[cfg(feature = "injected")]
pub(crate) const MAX_READY: u64 = 2048;

/// Maximum number of mappings that are noted, so that a recorder can unmap them: enough for the
/// maximum number of threads with hooks, and some more. The list takes memory only where it is
/// written.
#[cfg(feature = "injected")]
pub(crate) const MAX_MAPPED: usize = (1 << 16) + 256;

const _: () = assert!(SEGMENT_BYTES.is_power_of_two() && SEGMENT_BYTES > CHUNK_BYTES);
const _: () = assert!(MAX_SCRATCHES <= 64);

/// Binary logarithm of the size of the table with the live contexts of Python and Ruby: a
/// connection of asyncio has 3 to 5, a task and a fiber one. An entry has 32 bytes, and takes
/// memory only once it is used. Chosen, not measured.
#[cfg(not(feature = "injected"))]
pub(crate) const CONTEXT_TABLE_BITS: u32 = 16;

/// Number of entries of the table of contexts at which a context may be. Chosen, not
/// measured: at half of its size, a run of that many used entries is rare.
#[cfg(not(feature = "injected"))]
pub(crate) const CONTEXT_PROBES: usize = 16;

/// Maximum distance of a fiber's execution context from the beginning of the fiber's structure, in
/// bytes. Chosen, not measured: the whole structure has about a thousand in Ruby 3.1.
#[cfg(not(feature = "injected"))]
pub(crate) const MAX_FIBER_BYTES: usize = 4096;

/// Maximum size of the thread-local data of Ruby's object in which the word of the running fiber is
/// searched for, in bytes: the library of Ruby 3.1 has 16, and a program may have more of its own.
/// Chosen, not measured.
#[cfg(not(feature = "injected"))]
pub(crate) const MAX_THREAD_LOCAL_BYTES: usize = 1 << 16;

/// Maximum distance of the interpreter's thread-local data from the thread pointer, in bytes.
/// Objects that were loaded with the program have theirs next to each other. Chosen, not measured.
#[cfg(not(feature = "injected"))]
pub(crate) const MAX_THREAD_LOCAL_DISTANCE: usize = 1 << 20;

/// Number of descriptors, from 0 on, whose queued sends in uvloop are followed: 64 KiB, which take
/// memory only once they are used. Chosen, not measured.
#[cfg(not(feature = "injected"))]
pub(crate) const QUEUED_DESCRIPTORS: usize = 8192;

/// Maximum number of kinds of Tokio tasks that are followed; others are attributed to no task. A
/// kind is made by one call of `spawn` in the source. Each takes 24 bytes. Chosen, not measured: a
/// server with axum, tonic and redis has 11.
#[cfg(any(test, all(not(feature = "injected"), target_arch = "x86_64")))]
pub(crate) const MAX_TASK_KINDS: usize = 1024;

/// Maximum number of functions that wake tasks: a version of Tokio has two. Chosen, not measured.
#[cfg(any(test, all(not(feature = "injected"), target_arch = "x86_64")))]
pub(crate) const MAX_TASK_WAKES: usize = 8;

/// Maximum number of functions that take up started tasks. There is one for each kind of scheduler,
/// and two versions of Tokio may be in one program. Chosen, not measured.
#[cfg(any(test, all(not(feature = "injected"), target_arch = "x86_64")))]
pub(crate) const MAX_TASK_STARTERS: usize = 8;

/// Maximum number of records of started and woken contexts that a thread writes without another
/// record in between: 48 KiB of the log. Chosen, not measured.
#[cfg(not(feature = "injected"))]
pub(crate) const MAX_IN_A_ROW: u32 = 2048;

/// Number of bytes at the beginning of each message in which rare words are searched. Identifiers
/// are in first lines, heads and keys. Chosen, not measured.
pub(crate) const WORD_BYTES: u16 = 512;

/// Maximum of [`WORD_BYTES`] that a user can choose. Chosen, not measured.
pub(crate) const MAX_WORD_BYTES: u64 = 32 << 10;

/// Smallest transfer, in bytes, that counts as a part of a long message. The beginning of a smaller
/// one is searched in any case, since streams that carry messages of several conversations have no
/// turns. Chosen, not measured.
pub(crate) const SMALL_TRANSFER_BYTES: u64 = 2 << 10;

/// Number of streams with a state for words. Two streams with the same place take it from each
/// other. Chosen, not measured.
pub(crate) const STREAMS_WITH_WORDS: usize = 8192;

/// Number of pairs of entries in the table of words, 8 bytes each. Three of 200 frequent words have
/// the same pair with a probability of 1 in 800. Chosen, not measured.
pub(crate) const COUNTED_WORD_PAIRS: usize = 4096;

/// Number of a process's first messages that are counted one by one. Chosen, not measured.
pub(crate) const EXACT_MESSAGES: u32 = 64;

/// Number of messages after which counts of words are halved. Chosen, not measured.
pub(crate) const MESSAGES_OF_AGE: u32 = 1024;

/// Count of a word from which on it is frequent: the number of messages so far, divided by this
/// figure, from [`MIN_FREQUENT_COUNT`] to [`MAX_FREQUENT_COUNT`]. A word that is handed from call
/// to call is seen twice for each. Chosen, not measured.
pub(crate) const SHARE_OF_FREQUENT: u32 = 16;
/// Lower limit of the count from which on a word is frequent. Chosen, not measured.
pub(crate) const MIN_FREQUENT_COUNT: u32 = 8;
/// Upper limit of the count from which on a word is frequent. Chosen, not measured.
pub(crate) const MAX_FREQUENT_COUNT: u32 = 48;

/// Fewest letters of a word without digits. Chosen, not measured.
pub(crate) const LETTERS_OF_WORD: usize = 6;

/// Maximum number of words with digits, and of words without, that are looked up in one transfer.
/// Chosen, not measured.
pub(crate) const MAX_WORDS_OF_PASS: usize = 24;

/// Longest word that is not divided into parts, in bytes: a UUID. Chosen, not measured.
pub(crate) const LONG_WORD_BYTES: usize = 36;

/// Number of bytes outside of ASCII from which on 64 bytes count as binary data. Chosen, not
/// measured.
pub(crate) const HIGH_BYTES_OF_BINARY: u32 = 8;

/// Maximum number of windows of binary data that are looked up in one transfer. Chosen, not
/// measured.
pub(crate) const BINARY_WINDOWS: usize = 16;

/// Number of consecutive messages of a stream without a rare word of letters alone after which such
/// words are looked up in one of [`MAX_VAIN`] messages only. Chosen, not measured.
pub(crate) const TRIES_IN_VAIN: u8 = 15;
/// See [`TRIES_IN_VAIN`]. Chosen, not measured.
pub(crate) const MAX_VAIN: u64 = 8;
