//! Tuned figures of this crate, in the order of its steps: meaning, unit, and the measured effect
//! if it was measured.

// All importers

/// Size of a read, in bytes.
pub(crate) const READ_BUFFER_BYTES: usize = 256 * 1024;
/// Maximum memory in KiB for decompressing xz; its own highest level takes 65 MiB.
pub(crate) const MAX_XZ_MEMORY_KIB: u32 = 256 << 10;
/// Maximum ratio of a compressed file's content to its size, beyond [`MAX_UNPACKED_BYTES`].
/// Recordings have 5 to 100; much higher ratios are made to fill memory or the disk.
pub(crate) const MAX_UNPACKED_TIMES: u64 = 1000;
/// Size to which any compressed file may unpack, however small it is, in bytes.
pub(crate) const MAX_UNPACKED_BYTES: u64 = 256 << 20;
/// Number of skipped inputs that are shown with their place; the rest is counted.
pub(crate) const SKIPPED_SHOWN: usize = 20;
/// Number of skipped inputs that are shown with their place in the error of an import without any
/// result.
pub(crate) const MAX_SKIPS_IN_ERROR: usize = 5;
/// Maximum number of different nodes and of threads. More are a mistake: columns that were mixed
/// up, or connections that are named as nodes. With this limit, no import takes more than a few
/// hundred megabytes.
pub(crate) const MAX_NAMES: usize = 1 << 20;

/// Maximum number of connections of a table that does not number them: some 200 bytes of memory
/// each.
pub(crate) const MAX_CONVERSATIONS: usize = 4 << 20;

/// First port that systems assign to clients: Linux's, which is the lowest in use (other systems
/// begin at 49152).
pub(crate) const FIRST_EPHEMERAL_PORT: u16 = 32_768;

// Packets. All figures were chosen, not measured, except for their memory.

/// Maximum number of unsupported link types that are named.
pub(crate) const MAX_NAMED_LINK_TYPES: usize = 8;
/// Maximum number of packet samples of all sniffers together, of 96 bytes each.
pub(crate) const MAX_SAMPLES: usize = 1 << 20;
/// Maximum size of a record, in bytes; a longer one is damage. Captured packets are at most 256
/// KiB.
pub(crate) const MAX_RECORD_BYTES: usize = 4 << 20;
/// Maximum number of damaged places that are kept with their descriptions between two packets;
/// further ones are only counted.
pub(crate) const MAX_HELD_DAMAGE: usize = 100;
/// Maximum number of interfaces of one section; more are damage.
pub(crate) const MAX_INTERFACES: usize = 1 << 16;
/// Maximum time between copies of a packet, in nanoseconds.
pub(crate) const COPY_WITHIN_NS: i64 = 1_000_000_000;
/// Number of latest packets that are checked for copies.
pub(crate) const COPY_SLOTS: usize = 1 << 15;
/// Size of the part of a segment's body that is compared, in bytes.
pub(crate) const COMPARED_BODY_BYTES: u32 = 16;
/// Size of the beginning of a datagram by which the first segment of a network card's segmentation
/// is recognised, in bytes: more than common headers.
pub(crate) const DATAGRAM_HEAD_BYTES: usize = 64;
/// Maximum number of incomplete packets that are held, of at most 64 KiB each.
pub(crate) const MAX_HELD_PACKETS: usize = 256;
/// Maximum number of fragments of one packet: more than any link produces.
pub(crate) const MAX_FRAGMENTS: usize = 512;
/// Mode of the logs that importers create, as for the library's logs: the owner and the group may
/// read them.
pub(crate) const NEW_FILE_MODE: u32 = 0o640;

/// Maximum number of full chunks of records that are held before they are written.
pub(crate) const MAX_HELD_CHUNKS: usize = 16;
/// Share of another sniffer's traffic of a node with which a sniffer counts as seeing as much: a
/// few packets are lost.
pub(crate) const AS_MUCH_SHARE: f64 = 0.98;
/// Maximum number of services of a host. A host with more ports is one node: the ports are its own
/// ends of connections.
pub(crate) const MAX_SERVICES: usize = 32;
/// Maximum number of hosts that get logs. Further ones are untraced peers.
pub(crate) const MAX_HOSTS: usize = 10_000;
/// Time for which a closed connection stays in memory, in nanoseconds: a few packets come late.
pub(crate) const CLOSED_KEPT_NS: i64 = 10_000_000_000;
/// Time for which an idle connection stays in memory, in nanoseconds: it may continue.
pub(crate) const IDLE_CONNECTION_KEPT_NS: i64 = 3_600_000_000_000;
/// Time between two searches for connections that can be dropped, in nanoseconds.
pub(crate) const SWEEP_NS: i64 = 5_000_000_000;
/// Maximum number of connections, and of datagram sockets, that are followed at the same time: some
/// 100 MiB.
pub(crate) const MAX_FOLLOWED: usize = 1 << 18;
/// Maximum number of addresses; packets of further addresses are counted and left out.
pub(crate) const MAX_ADDRESSES: usize = 1 << 18;
/// Maximum number of pairs of a client and a service that are remembered for a sniffer.
pub(crate) const MAX_CLIENT_SERVICE_PAIRS: usize = 1 << 19;
/// Weight in nats of a port in the range of services, for a connection that is older than the
/// capture. Chosen so that it outweighs the first sender of a single connection: a capture may
/// begin in the middle of a call.
pub(crate) const PORT_CLASS_WEIGHT: f64 = 1.2;
/// Weight in nats of an end that always receives the first data and never sends it; half of the
/// difference to an end that always sends the first data.
pub(crate) const SPEAKS_FIRST_WEIGHT: f64 = 0.5;
/// Number of peers from which on a port counts as fixed, whatever its number is.
pub(crate) const MIN_PEERS_OF_FIXED_PORT: u32 = 3;
/// Maximum number of flows that are followed at the same time in the index.
pub(crate) const MAX_FLOWS: usize = 1 << 19;
/// Time without packets after which a flow may be evicted from the index, in nanoseconds.
pub(crate) const IDLE_KEPT_NS: i64 = 60_000_000_000;
/// Number of packets of a connection after which acknowledged bytes that were not seen are given
/// up: until then they may be in the file, a little out of order.
pub(crate) const PATIENCE_PACKETS: u32 = 8;
/// Time after which acknowledged bytes that were not seen are given up, in nanoseconds.
pub(crate) const PATIENCE_NS: i64 = 10_000_000;
/// Maximum number of separate ranges that are held ahead of a gap.
pub(crate) const MAX_AHEAD: usize = 512;
/// Maximum number of arrivals that are held until they are acknowledged.
pub(crate) const MAX_ARRIVALS: usize = 4096;
/// Pause between two segments that ends a message, in nanoseconds.
pub(crate) const MESSAGE_PAUSE_NS: i64 = 100_000_000;
/// Minimum number of different datagrams of a flow under other names that prove a translation.
pub(crate) const MIN_DATAGRAMS: u32 = 3;
/// Maximum number of packets with one signature; more are repetitions, and prove nothing.
pub(crate) const MAX_ALIKE: usize = 8;
/// Maximum number of observations of two sniffers that are kept.
pub(crate) const MAX_DELAYS: usize = 1 << 19;

// strace

/// Size of the part of a file that is checked for strace's format, in bytes.
pub(crate) const HEAD_BYTES: u64 = 256 << 10;
/// Maximum length of a line, in bytes; longer ones are skipped. No system call transfers more than
/// that much text.
pub(crate) const MAX_LINE_BYTES: usize = 64 << 20;
/// Maximum number of files that are open at the same time. With more files, each is reopened for
/// every read, and none may be compressed.
pub(crate) const MAX_OPEN_FILES: usize = 200;
/// Approximate size of the read-ahead of all files together, in bytes.
pub(crate) const READ_AHEAD_BYTES: usize = 32 << 20;

/// Maximum number of full chunks of records that stay in memory.
pub(crate) const FULL_CHUNKS: usize = 16;
/// Number of characters that are shown of a line that is not understood.
pub(crate) const LINE_SHOWN: usize = 100;
/// Maximum number of lines that are kept of threads with an unknown creator.
pub(crate) const MAX_HELD_LINES: usize = 100_000;
/// Maximum number of connections that are followed to find both ends' names, for each side.
pub(crate) const MAX_UNNAMED: usize = 1 << 16;
/// Number of sends, and of receives, at the beginning of a connection by which its two ends are
/// compared.
pub(crate) const FIRST_CALLS: usize = 16;
/// Maximum number of ends with which one end is compared.
pub(crate) const MAX_COMPARED_ENDS: usize = 2048;
/// Time by which an arrival may seem to precede its send, in nanoseconds: the time of a return
/// lacks the time that strace needed to write the line. Same as in reconciliation.
pub(crate) const STRACE_LATE_NS: i64 = 1_000_000;
/// Time between two lines with equal coarse times, in nanoseconds.
pub(crate) const COARSE_STEP_NS: i64 = 1_000;
/// Times with a coarser resolution than this, in nanoseconds, are coarse.
pub(crate) const FINE_NS: i64 = 1_000;

// Tables

/// Maximum length of a row of CSV, in bytes.
pub(crate) const MAX_ROW_BYTES: usize = 1 << 20;
/// Maximum number of columns of a table.
pub(crate) const MAX_COLUMNS: usize = 1 << 10;

// Spans

/// Memory in bytes for spans on their way to requests; further spans go to temporary files in the
/// data directory. Chosen, not measured: same as in reconciliation.
pub(crate) const SPANS_IN_MEMORY_BYTES: u64 = 384 << 20;
/// Size of the texts that a thread reads at a time, in bytes. Chosen, not measured.
pub(crate) const TEXTS_BYTES: usize = 1 << 20;
/// Maximum number of consecutive empty protobuf messages. A file with more has no spans, but zeros.
pub(crate) const MAX_EMPTY_MESSAGES: u32 = 1 << 16;
/// Maximum number of texts that a thread reads at a time: the places of short texts take more
/// memory than the texts. Chosen, not measured.
pub(crate) const MAX_TEXTS: usize = 1 << 14;
/// Maximum size of one text, in bytes: a line or an element of a document. A longer one is skipped.
/// Several texts are in memory together; the largest that collectors send have 20 MB.
pub(crate) const MAX_TEXT_BYTES: usize = 64 << 20;
/// Size to which any compressed message may unpack, however small it is, in bytes.
pub(crate) const MAX_UNPACKED_MESSAGE_BYTES: usize = 4 << 20;
/// Maximum number of attributes, tags or references of a span, of entries of a list, and of
/// processes. A span with more is damaged. Tracers allow 128.
pub(crate) const MAX_ENTRIES: usize = 1 << 16;
/// Maximum number of spans of one Jaeger trace that are held, of 400 bytes each.
pub(crate) const MAX_HELD_SPANS: usize = 1 << 18;
/// Maximum nesting of objects and arrays around the elements of a document.
pub(crate) const MAX_ENCLOSING: usize = 64;
/// Maximum distance of a time from 1970, in nanoseconds: the difference of any two still fits a
/// number.
pub(crate) const MAX_EPOCH_DISTANCE_NS: i64 = i64::MAX / 2;
/// Maximum number of resources of a part of a file that are cached. Chosen, not measured.
pub(crate) const MAX_KNOWN_RESOURCES: usize = 1 << 14;
/// Maximum number of Kieker traces with open operations. More mean a log with operations that do
/// not end. Chosen, not measured: some 200 MB.
pub(crate) const MAX_OPEN_TRACES: usize = 1 << 20;
/// Maximum number of idle Kieker traces that are remembered: later events may belong to one of
/// them. Chosen, not measured.
pub(crate) const MAX_IDLE_TRACES: usize = 1 << 16;
/// Size of the part of a file that is examined to determine its layout, in bytes.
pub(crate) const SPANS_HEAD_BYTES: u64 = 1 << 20;
/// Maximum nesting of lists and maps around a value of an attribute; deeper values are left out.
/// The collector's own limit is lower.
pub(crate) const MAX_VALUE_DEPTH: usize = 32;
/// Maximum depth of nested folders in which Kieker's logs are searched. Chosen, not measured.
pub(crate) const MAX_FOLDER_DEPTH: u32 = 4;

// Events

/// Number of times that a CTF stream is cut before it is left out. Bytes at its very end may only
/// look like the beginning of a packet, so one cut is not enough. Chosen, not measured.
pub(crate) const MAX_CUTS_OF_A_STREAM: usize = 3;

/// Maximum number of CTF streams that are read at the same time if each is read separately: each
/// takes a program and a pipe. Chosen, not measured.
pub(crate) const STREAMS_AT_ONCE: usize = 64;

/// Size of the events of a batch on their way to the table, in bytes. Chosen, not measured.
pub(crate) const EVENT_BATCH_BYTES: usize = 256 << 10;
/// Maximum length of a line of events or of a Project 5 trace, in bytes; longer ones are skipped.
/// Chosen, not measured.
pub(crate) const MAX_TEXT_LINE_BYTES: usize = 1 << 20;
/// Maximum number of event kinds that are cached.
pub(crate) const MAX_EVENT_KINDS: usize = 1 << 14;
/// Maximum size of a section of perf.data that is held in memory, in bytes: the formats of all
/// tracepoints of a kernel are some 5 MB.
pub(crate) const MAX_PERF_SECTION_BYTES: u64 = 64 << 20;

/// Maximum size of a sniffer's report, in bytes. A larger file is not one of ours.
pub(crate) const MAX_SNIFFER_REPORT_BYTES: u64 = 16 << 20;

/// Number of equal messages with which two files count as captures of the same messages. Chosen:
/// with fewer, too many rows are equal by chance.
pub(crate) const MIN_COPIES: u64 = 16;

/// Allowed variation of the distance between the times of two captures of one connection, in
/// nanoseconds: the effect of the network and the clocks. Chosen, not measured.
pub(crate) const COPIES_JITTER_NS: i64 = 50_000_000;

/// Allowed distance of two captures of a connection that do not overlap, as with a single message,
/// in nanoseconds. Chosen, not measured.
pub(crate) const COPIES_APART_NS: i64 = 1_000_000_000;

/// Maximum number of connections, directions and files that are examined to find messages in
/// several files: some 150 bytes of memory each.
pub(crate) const MAX_RUNS: usize = 2 << 20;

/// Maximum number of messages in several files with times that are combined: 64 bytes of memory
/// each. Beyond it one copy is kept unchanged.
pub(crate) const MAX_COPIED_MESSAGES: u64 = 4 << 20;
