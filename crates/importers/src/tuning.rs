//! The tuned figures of this crate, in the order of its steps: what each means, in which unit, and
//! what it was measured to be worth where that was measured.

// All importers

/// Size of what is read at once, in bytes.
pub(crate) const READ_BUFFER_BYTES: usize = 256 * 1024;
/// Maximum memory in KiB for undoing xz; its own highest level takes 65 MiB.
pub(crate) const MAX_XZ_MEMORY_KIB: u32 = 256 << 10;
/// Maximum number of times by which a compressed file may be longer once it is unpacked, beyond
/// [`MAX_UNPACKED_BYTES`]. Recordings are 5 to 100 times as long; what is longer by far was made to
/// fill memory or the disk.
pub(crate) const MAX_UNPACKED_TIMES: u64 = 1000;
/// Bytes that any compressed file may unpack to, however small it is.
pub(crate) const MAX_UNPACKED_BYTES: u64 = 256 << 20;
/// Number of skipped things that are shown with their place; the rest is counted.
pub(crate) const SKIPPED_SHOWN: usize = 20;
/// Number of skipped things that the error of an import that took nothing shows with their place.
pub(crate) const SKIPS_OF_NOTHING: usize = 5;
/// Maximum number of different nodes and of threads. More are a mistake:
/// columns that were mixed up, or connections that are named as nodes. With it, no import takes
/// more than a few hundred megabytes.
pub(crate) const MAX_NAMES: usize = 1 << 20;

/// Maximum number of connections of a table that does not number them: some 200 bytes of memory
/// each.
pub(crate) const MAX_CONVERSATIONS: usize = 4 << 20;

/// The first port that systems give to those who connect: Linux's, which is the lowest of those in
/// use (the others begin at 49152).
pub(crate) const FIRST_EPHEMERAL_PORT: u16 = 32_768;

// Packets. All were chosen, not measured, but for what they take in memory.

/// Maximum number of link types that cannot be read and are named.
pub(crate) const LINKS_NAMED: usize = 8;
/// Maximum number of samples of packets of all sniffers together, of 96 bytes each.
pub(crate) const MAX_SAMPLES: usize = 1 << 20;
/// Maximum size of a record, in bytes; a longer one is damage. Captured packets are at most 256
/// KiB.
pub(crate) const MAX_RECORD_BYTES: usize = 4 << 20;
/// Maximum number of damaged places that are held with their words between two packets; of more,
/// only their number is known.
pub(crate) const MAX_HELD_DAMAGE: usize = 100;
/// Maximum number of interfaces of one section; more are damage.
pub(crate) const MAX_INTERFACES: usize = 1 << 16;
/// Maximum time between copies of a packet, in nanoseconds.
pub(crate) const COPY_WITHIN_NS: i64 = 1_000_000_000;
/// Number of latest packets that are held against copies.
pub(crate) const COPY_SLOTS: usize = 1 << 15;
/// Size of the part of a segment's body that is compared, in bytes.
pub(crate) const COMPARED_BODY_BYTES: u32 = 16;
/// Size of the beginning of a datagram by which the first of those that a network card makes of a
/// send is known, in bytes: more than the headers that many begin with.
pub(crate) const DATAGRAM_HEAD_BYTES: usize = 64;
/// Maximum number of packets that are held in parts, of at most 64 KiB each.
pub(crate) const MAX_HELD_PACKETS: usize = 256;
/// Maximum number of pieces of one packet: more than any link makes.
pub(crate) const MAX_PIECES: usize = 512;
/// Rights of the logs that importers make: those of the library's, whose owner and group may read
/// them.
pub(crate) const NEW_FILE_MODE: u32 = 0o640;

/// Maximum number of full chunks of records that are held before they are written.
pub(crate) const MAX_HELD_CHUNKS: usize = 16;
/// Share of what another sniffer has of a node with which one sees as much of it: a few packets are
/// lost.
pub(crate) const AS_MUCH_SHARE: f64 = 0.98;
/// Maximum number of services of a host. One with more ports is one node: they are ends of its own.
pub(crate) const MAX_SERVICES: usize = 32;
/// Maximum number of hosts that get logs. The others are peers that were not traced.
pub(crate) const MAX_HOSTS: usize = 10_000;
/// Time for which a closed connection is kept, in nanoseconds: a few packets come late.
pub(crate) const CLOSED_KEPT_NS: i64 = 10_000_000_000;
/// Time for which a connection without packets is kept, in nanoseconds: it may rest.
pub(crate) const RESTING_KEPT_NS: i64 = 3_600_000_000_000;
/// Time between two searches for connections that need not be kept, in nanoseconds.
pub(crate) const SWEEP_NS: i64 = 5_000_000_000;
/// Maximum number of connections, and of sockets for datagrams, that are followed at once: some 100
/// MiB.
pub(crate) const MAX_FOLLOWED: usize = 1 << 18;
/// Maximum number of addresses; packets of more are counted and left out.
pub(crate) const MAX_ADDRESSES: usize = 1 << 18;
/// Maximum number of services and who connects to each that are remembered of a sniffer.
pub(crate) const MAX_CALLS: usize = 1 << 19;
/// What it counts in nats that a port is one of services, of a connection that is older than the
/// capture. Chosen so that it outweighs who speaks first of a single connection: a capture may
/// begin in the middle of a call.
pub(crate) const PORT_CLASS_WEIGHT: f64 = 1.2;
/// What it counts in nats that an end is always asked and never asks first; half of the difference
/// to one that always asks.
pub(crate) const SPEAKS_FIRST_WEIGHT: f64 = 0.5;
/// Number of ports that a port speaks to with which it is a fixed one, whatever its number is.
pub(crate) const SHARED_BY_MANY: u32 = 3;
/// Maximum number of flows that are followed at once in the survey.
pub(crate) const MAX_FLOWS: usize = 1 << 19;
/// Time without packets after which a flow makes room for others in the survey, in nanoseconds.
pub(crate) const IDLE_KEPT_NS: i64 = 60_000_000_000;
/// Number of packets of a connection after which bytes that were acknowledged and not seen are
/// given up: until then they may be in the file, a little out of order.
pub(crate) const PATIENCE_PACKETS: u32 = 8;
/// Time after which such bytes are given up, in nanoseconds.
pub(crate) const PATIENCE_NS: i64 = 10_000_000;
/// Maximum number of separate pieces that are held ahead of a gap.
pub(crate) const MAX_AHEAD: usize = 512;
/// Maximum number of arrivals that are held until they are acknowledged.
pub(crate) const MAX_ARRIVALS: usize = 4096;
/// Pause between two segments that ends a message, in nanoseconds.
pub(crate) const MESSAGE_PAUSE_NS: i64 = 100_000_000;
/// Minimum number of different datagrams of a flow that were seen under other names, if these are a
/// translation.
pub(crate) const MIN_DATAGRAMS: u32 = 3;
/// Maximum number of packets with one signature; more are repetitions of something, and prove
/// nothing.
pub(crate) const MAX_ALIKE: usize = 8;
/// Maximum number of observations of two sniffers that are kept.
pub(crate) const MAX_DELAYS: usize = 1 << 19;

// strace

/// Size of the part of a file that is looked at to see whether it is strace's, in bytes.
pub(crate) const HEAD_BYTES: u64 = 256 << 10;
/// Maximum length of a line, in bytes; longer ones are passed over. No system call moves more than
/// that much text.
pub(crate) const MAX_LINE_BYTES: usize = 64 << 20;
/// Maximum number of files that are open at once. Where there are more, each is opened anew
/// whenever more of it is needed, and none may be compressed.
pub(crate) const MAX_OPEN_FILES: usize = 200;
/// Size of what is read ahead of all files together, in bytes, about.
pub(crate) const READ_AHEAD_BYTES: usize = 32 << 20;

/// Maximum number of full chunks of records that stay in memory.
pub(crate) const FULL_CHUNKS: usize = 16;
/// Number of characters that are shown of a line that is not understood.
pub(crate) const LINE_SHOWN: usize = 100;
/// Maximum number of lines that are kept of threads whose maker is not known yet.
pub(crate) const MAX_HELD_LINES: usize = 100_000;
/// Maximum number of connections that are followed to find both ends' names, of each end.
pub(crate) const MAX_UNNAMED: usize = 1 << 16;
/// Number of first sends and of first receives by which the two ends of a connection are compared.
pub(crate) const FIRST_CALLS: usize = 16;
/// Number of ends that one is compared with, at most.
pub(crate) const MAX_COMPARED_ENDS: usize = 2048;
/// How much earlier than it was sent something may seem to arrive, in nanoseconds: the time of a
/// return lacks what strace needed to write the line. That of reconciliation.
pub(crate) const STRACE_LATE_NS: i64 = 1_000_000;
/// Time between two lines whose times are equal as they are told coarsely, in nanoseconds.
pub(crate) const COARSE_STEP_NS: i64 = 1_000;
/// Times that are told less finely than this, in nanoseconds, are coarse.
pub(crate) const FINE_NS: i64 = 1_000;

// Tables

/// Maximum length of a row of CSV, in bytes.
pub(crate) const MAX_ROW_BYTES: usize = 1 << 20;
/// Maximum number of columns of a table.
pub(crate) const MAX_COLUMNS: usize = 1 << 10;

// Spans

/// Memory in bytes for spans on their way to requests; what is more goes to temporary files in the
/// data directory. Chosen, not measured: that of reconciliation.
pub(crate) const SPANS_IN_MEMORY_BYTES: u64 = 384 << 20;
/// Size of the texts that a thread reads at a time, in bytes. Chosen, not measured.
pub(crate) const TEXTS_BYTES: usize = 1 << 20;
/// Maximum number of messages of protobuf one after the other that have nothing in them. More are
/// no file of spans, but zeros.
pub(crate) const MAX_EMPTY_MESSAGES: u32 = 1 << 16;
/// Maximum number of texts that a thread reads at a time: short ones take more memory for their
/// places than they are long. Chosen, not measured.
pub(crate) const MAX_TEXTS: usize = 1 << 14;
/// Maximum size of one text, in bytes: a line or, of a document, an element. A longer one is passed
/// over. Some of them are in memory at once; the largest that collectors send have 20 MB.
pub(crate) const MAX_TEXT_BYTES: usize = 64 << 20;
/// Size that any compressed message may unpack to, however small it is, in bytes.
pub(crate) const MAX_UNPACKED_MESSAGE_BYTES: usize = 4 << 20;
/// Maximum number of attributes, tags or references of a span, of entries of a list, and of
/// processes. A span with more is damaged. Tracers allow 128.
pub(crate) const MAX_ENTRIES: usize = 1 << 16;
/// Maximum number of spans of one trace of Jaeger that are held at once, of 400 bytes each.
pub(crate) const MAX_HELD_SPANS: usize = 1 << 18;
/// Maximum number of objects and arrays around the elements of a document.
pub(crate) const MAX_ENCLOSING: usize = 64;
/// Maximum distance of a time from 1970, in nanoseconds: the difference of any two is a number yet.
pub(crate) const FARTHEST_NS: i64 = i64::MAX / 2;
/// Maximum number of resources of a part of a file that are known again without being asked for.
/// Chosen, not measured.
pub(crate) const MAX_KNOWN_RESOURCES: usize = 1 << 14;
/// Maximum number of traces of Kieker's events that are in the middle of something. More are a log
/// whose operations do not end. Chosen, not measured: some 200 MB.
pub(crate) const MAX_OPEN_TRACES: usize = 1 << 20;
/// Maximum number of traces of Kieker's events that are known though nothing of them is open: what
/// follows may belong to one of them. Chosen, not measured.
pub(crate) const MAX_RESTING_TRACES: usize = 1 << 16;
/// Size of the part of a file that is looked at to see how it is laid out, in bytes.
pub(crate) const SPANS_HEAD_BYTES: u64 = 1 << 20;
/// Maximum number of lists and maps around a value of an attribute; what is within more is left
/// out. The collector's own limit is lower.
pub(crate) const MAX_VALUE_DEPTH: usize = 32;
/// Maximum number of folders in each other in which Kieker's logs are looked for. Chosen, not
/// measured.
pub(crate) const MAX_FOLDER_DEPTH: u32 = 4;

// Events

/// Number of times that a CTF stream is cut before it is left out. What looks like the beginning of
/// a packet at its very end may be none, so one is not enough. Chosen, not measured.
pub(crate) const MAX_CUTS_OF_A_STREAM: usize = 3;

/// Number of CTF streams that are read at once where each is read by itself: as many programs and
/// pipes. Chosen, not measured.
pub(crate) const STREAMS_AT_ONCE: usize = 64;

/// Size of the events of a piece on their way to the table, in bytes. Chosen, not measured.
pub(crate) const EVENT_PIECE_BYTES: usize = 256 << 10;
/// Maximum length of a line of events or of a Project 5 trace, in bytes; longer ones are passed
/// over. Chosen, not measured.
pub(crate) const MAX_TEXT_LINE_BYTES: usize = 1 << 20;
/// Maximum number of kinds of events that are known again without being looked up.
pub(crate) const MAX_EVENT_KINDS: usize = 1 << 14;
/// Maximum size of a section of perf.data that is held in memory, in bytes: formats of all
/// tracepoints of a kernel are some 5 MB.
pub(crate) const MAX_PERF_SECTION_BYTES: u64 = 64 << 20;

/// Largest size of the summary of a sniffer's captures, in bytes. What is larger is none of ours.
pub(crate) const MAX_CAPTURED_BYTES: u64 = 16 << 20;

/// Number of messages that two files must have alike before they are taken for captures of the same
/// messages. Chosen: of fewer, rows that are equal by chance are too many.
pub(crate) const MIN_COPIES: u64 = 16;

/// Nanoseconds by which the distance between the times of two captures of one connection may vary:
/// what the network and the clocks do meanwhile. Chosen, not measured.
pub(crate) const COPIES_JITTER_NS: i64 = 50_000_000;

/// Nanoseconds by which two captures of a connection may be apart that do not overlap, as with a
/// single message. Chosen, not measured.
pub(crate) const COPIES_APART_NS: i64 = 1_000_000_000;

/// Maximum number of connections, directions and files that are looked at to find messages that
/// several files have: some 150 bytes of memory each.
pub(crate) const MAX_RUNS: usize = 2 << 20;

/// Maximum number of messages that several files have whose times are put together: 64 bytes of
/// memory each. Beyond it one of them counts as it is.
pub(crate) const MAX_COPIED_MESSAGES: u64 = 4 << 20;
