//! Tuned figures of this crate: timeouts, sizes of queues and buffers. Figures of the protocol are
//! in `wire`; the options contain those that a user chooses.

use std::time::Duration;

use crate::page::PAGE;

/// Permissions of stored files, the same as those of the logs on the hosts: the collector's user
/// and group may read them.
pub(crate) const NEW_FILE_MODE: u32 = 0o640;

/// Maximum size of the file with a host's sender that is read again, in bytes.
pub(crate) const MAX_SENDER_BYTES: u64 = 1 << 20;

// The shipper.

/// Maximum time for connecting and being admitted. Chosen, not measured.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Pause before the first new attempt, and longest pause; each failure doubles it. Chosen, not
/// measured.
pub(crate) const RETRY_PAUSES: [Duration; 2] =
    [Duration::from_millis(250), Duration::from_secs(30)];

/// Maximum number of frames between the stage that reads files and the one that writes to the
/// connection; a frame has at most a third of a megabyte. Chosen, not measured.
pub(crate) const MAX_QUEUED_FRAMES: usize = 8;

/// Maximum number of answers that wait for the stage that reads files. It takes the answers before
/// it has queried as many.
pub(crate) const MAX_QUEUED_ANSWERS: usize = 64;

/// Number of exchanges of times when a connection begins. Chosen, not measured.
pub(crate) const FIRST_EXCHANGES: usize = 4;

/// Time between two later exchanges of times. They also show the collector that the shipper is
/// alive. Chosen, not measured.
pub(crate) const EXCHANGE_INTERVAL: Duration = Duration::from_secs(10);

/// Maximum time between checks by a waiting shipper that its connection still exists. Chosen, not
/// measured.
pub(crate) const WAIT_CHECK_INTERVAL: Duration = Duration::from_millis(500);

/// Time for work in progress to finish once the program is to stop. Chosen, not measured.
pub(crate) const STOP_GRACE: Duration = Duration::from_secs(10);

/// Maximum time until a frame is written, and until an answer comes. The kernel notices a dead
/// connection long before; this is for a collector that is alive and does nothing. Chosen, not
/// measured.
pub(crate) const ANSWER_TIMEOUT: Duration = Duration::from_secs(300);

/// Time between checks that an idle connection still exists. Chosen, not measured.
pub(crate) const IDLE_CHECK_INTERVAL: Duration = Duration::from_millis(500);

/// Bytes of files after which a batch ends and a flush is requested. Chosen, not measured.
pub(crate) const BATCH_BYTES: usize = 8 << 20;

/// Time after which a batch ends, however small it is. Chosen, not measured.
pub(crate) const BATCH_TIME: Duration = Duration::from_secs(1);

/// Time without a frame after which one is sent, so that the collector knows that the shipper is
/// alive. Chosen, not measured; less than `Deadlines::silence` of the collector.
pub(crate) const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(10);

/// Maximum number of files with checksums queried together. Chosen, not measured.
pub(crate) const MAX_ASKED_FILES: usize = 32;

/// Maximum number of checksums in one query: over the slowest network a longer answer would take
/// too long. Chosen, not measured.
pub(crate) const MAX_ASKED_PAGES: u32 = 4096;

/// Level of zstd. With more, the processor would be the limit in place of the network.
pub(crate) const ZSTD_LEVEL: i32 = 1;

/// Number of zero bytes at the end of a page below which most records do not fit into it and it
/// seldom changes again. Chosen, not measured.
pub(crate) const FULL_PAGE_ROOM: usize = 256;

/// Number of scans without a change after which a full page is read only in its turn. Chosen, not
/// measured.
pub(crate) const CALM_LOOKS: u8 = 3;

/// Number of scans in which every calm page is read once. Chosen, not measured.
pub(crate) const CALM_TURN: usize = 64;

// The collector.

/// Maximum number of connections that have not identified themselves; a further one takes the place
/// of the oldest of a network that has the most. Chosen, not measured.
pub(crate) const MAX_UNKNOWN_CONNECTIONS: usize = 512;

/// Maximum number of unidentified connections of one network: an address of IPv4, or 64 bits of
/// IPv6. A further one takes the place of the oldest. As a handshake takes milliseconds, some
/// thousand hosts behind one address can connect in a second. Chosen, not measured.
pub(crate) const MAX_UNKNOWN_OF_NETWORK: usize = 32;

/// Maximum number of connections in all; each has a thread and, once it sends, 0.7 MB of buffers.
/// Chosen, not measured.
pub(crate) const MAX_CONNECTIONS: usize = 16 << 10;

/// Pause after a connection that could not be accepted for want of descriptors. Chosen, not
/// measured.
pub(crate) const NO_DESCRIPTORS_PAUSE: Duration = Duration::from_millis(20);

/// Maximum number of a host's logs for which an event reports that they name another host.
pub(crate) const MAX_MISNAMED_REPORTED: usize = 1000;

/// Length of the pause after the files of a host were counted again, as a multiple of the duration
/// of the count: a host without space must not keep a disk busy. Chosen, not measured.
pub(crate) const RECOUNT_PAUSE: u32 = 9;

/// Time between checks of the list of revoked keys. Chosen, not measured.
pub(crate) const REVOCATION_CHECK_INTERVAL: Duration = Duration::from_millis(500);

/// Stack size of a connection's thread, in bytes: the handshake uses the most.
pub(crate) const SESSION_STACK_BYTES: usize = 512 << 10;

/// Maximum time for which a connection waits until the previous one of its host has ended. Chosen,
/// not measured.
pub(crate) const SLOT_TIMEOUT: Duration = Duration::from_secs(30);

/// Bytes of a frame after which its deadline is extended: the slowest network that is supported
/// delivers half a kilobyte a second. Chosen, not measured.
pub(crate) const DEADLINE_PIECE_BYTES: usize = 16 << 10;

/// Maximum number of files that wait for a flush; with more, they are flushed early. Chosen, not
/// measured.
pub(crate) const MAX_DIRTY_FILES: usize = 64;

/// Maximum number of bytes by which a file may be longer than its content. The log of a program
/// that confined itself is extended by 256 MiB beyond its use in one step; without a bound a host
/// could make files that take forever to read.
pub(crate) const MAX_SPARSE_BYTES: u64 = 1 << 30;

/// Bytes read in one call for checksums. Chosen, not measured.
pub(crate) const CHECKSUM_READ_BYTES: usize = 64 * PAGE;

/// Maximum size of a file of clock hints, in bytes: half a million exchanges.
pub(crate) const MAX_HINTS_BYTES: u64 = 64 << 20;

/// Maximum number of hosts with figures of their own. Events of further hosts are only counted, so
/// that foreign names cannot fill the memory.
pub(crate) const MAX_HOSTS_WITH_FIGURES: usize = 10_000;

// Both sides.

/// Time between checks whether the program is to stop. Chosen, not measured.
pub(crate) const STOP_CHECK_INTERVAL: Duration = Duration::from_millis(200);

/// Bytes read from a socket in one call. Chosen, not measured.
pub(crate) const SOCKET_READ_BYTES: usize = 64 << 10;

/// Time without an answer of the other machine after which the kernel closes the connection.
/// Chosen, not measured.
pub(crate) const DEAD_AFTER: Duration = Duration::from_secs(60);

/// Maximum number of unsent bytes in the kernel: the more, the later the other side receives new
/// data. Chosen, not measured.
pub(crate) const MAX_UNSENT_BYTES: u32 = 512 << 10;

/// Maximum time for the other side to receive the last frame. Chosen, not measured.
pub(crate) const LINGER_TIMEOUT: Duration = Duration::from_millis(500);

/// Maximum number of bytes that are read and discarded within [`LINGER_TIMEOUT`]. Chosen, not
/// measured.
pub(crate) const MAX_DISCARDED_BYTES: usize = 4 << 20;

/// Maximum number of bytes read of a key file; it has three parts of about a kilobyte.
pub(crate) const MAX_KEY_FILE_BYTES: u64 = 256 << 10;

/// Length of the pause after the operations of a log were named, as a multiple of the time it took:
/// each time the whole log is read, which may cost a fifth of a processor. Chosen, not measured.
pub(crate) const OPERATIONS_PAUSE: u32 = 4;

/// Minimum length of the pause after the operations of a log were named. Operations need not reach
/// the collector sooner. Chosen, not measured.
pub(crate) const MIN_OPERATIONS_PAUSE: Duration = Duration::from_secs(2);
