//! Tuned figures of this crate. A figure that is "chosen" follows from a consideration, not from a
//! measurement.

/// Processor time below which demands count as equal, in nanoseconds. Chosen: caches and interrupts
/// cause differences of this size.
pub(crate) const PROCESSOR_FLOOR_NS: f64 = 200_000.0;

/// Difference of processor time that counts as the distance 1, as a share. Equal requests of a busy
/// server differ by 2 to 5%.
pub(crate) const PROCESSOR_SPREAD: f64 = 0.05;

/// Number of disk calls below which demands count as equal. Chosen: 0 and 1 must differ.
pub(crate) const DISK_CALLS_FLOOR: f64 = 0.5;

/// Bytes to and from disks below which demands count as equal. Chosen: two pages.
pub(crate) const DISK_BYTES_FLOOR: f64 = 8_192.0;

/// Difference of demands of the disk that counts as the distance 1, as a share. Chosen: the content
/// of caches differs from request to request.
pub(crate) const DISK_SPREAD: f64 = 0.1;

/// Bytes sent or received below which demands count as equal. Chosen: headers differ by that.
pub(crate) const NETWORK_BYTES_FLOOR: f64 = 512.0;

/// Difference of bytes sent or received that counts as the distance 1, as a share. Chosen.
pub(crate) const NETWORK_SPREAD: f64 = 0.05;

/// Cost, in units of distance, of an element that only one of two requests has or that has another
/// role, in addition to its demands. With 2.2, a hand-over without demands (five elements) makes
/// 4.9, below the threshold; a call with its response (ten) makes 7, above it.
pub(crate) const EDIT_COST: f32 = 2.2;

/// Distance from the centre of the nearest cluster above which a request begins a new cluster.
/// Requests of twice the processor time have the distance 14, those of 35% more the distance 6.
pub(crate) const CLUSTER_THRESHOLD: f32 = 6.0;

/// Maximum product of the numbers of elements of two requests for a full alignment. An alignment
/// takes as many steps as this product, and for an explanation in words four bytes for each step.
pub(crate) const MAX_ALIGNED: usize = 4_000_000;

/// Maximum number of names that are counted for a cluster. Chosen, not measured.
pub(crate) const MAX_NAMES: usize = 256;

/// Maximum number of growing clusters. Chosen, not measured.
pub(crate) const MAX_CLUSTERS: usize = 4_096;

/// Minimum number of requests of a cluster that a batch splits off. Fewer are outliers: they begin
/// clusters of their own if they are far from all.
pub(crate) const MIN_CLUSTER: usize = 5;

/// Minimum share of the requests of one text that are split off, as one request in this many.
/// Chosen.
pub(crate) const SPLIT_SHARE: usize = 500;

/// Minimum distance of two groups of requests that a batch separates. The distance 3 is 16% of
/// processor time.
pub(crate) const MIN_APART: f32 = 3.0;

/// Number of values on each side of a gap for the spread with which it is compared. Chosen.
pub(crate) const SPLIT_NEIGHBOURS: usize = 8;

/// Widths of the intervals with which valleys are searched. Chosen: one is the usual spread of
/// equal requests, and widely spread demands need wide intervals.
pub(crate) const VALLEY_WIDTHS: [f32; 5] = [1.0, 2.0, 4.0, 8.0, 16.0];

/// Maximum count of a valley, as a share of the count of the lower of its two sides. Chosen.
pub(crate) const VALLEY_SHARE: f64 = 0.25;

/// Number of standard deviations by which a valley is below the lower side. Chosen: hundreds of
/// places are tested, and chance must not split one group.
pub(crate) const VALLEY_SIGMAS: f64 = 4.5;

/// Multiple of the interquartile range beyond which a demand is an outlier of its cluster: about 7
/// standard deviations of a normal distribution.
pub(crate) const OUTLIER_SPREADS: f32 = 5.0;

/// Maximum number of requests that are kept for batch clustering. A request takes about 200 bytes:
/// 100 MB.
pub(crate) const MAX_BATCH_REQUESTS: usize = 1 << 19;

/// Maximum number of elements that are kept for batch clustering. An element takes a few bytes if
/// others of the same structure are kept, and up to 40 if there are none.
pub(crate) const MAX_BATCH_ELEMENTS: usize = 1 << 24;

/// Maximum number of clusters, the largest ones, from which the distance of every cluster is
/// computed to find the nearest other cluster. Chosen.
pub(crate) const MAX_SEPARATED: usize = 256;

/// Maximum number of clusters, the largest ones, whose pairwise distances are averaged. Chosen.
pub(crate) const MAX_PAIRED: usize = 64;

/// Minimum number of requests of a usual cluster, whatever the total number.
pub(crate) const MIN_USUAL: u64 = 5;

/// Minimum share of all requests of a usual cluster, as one in this many. Chosen.
pub(crate) const UNUSUAL_SHARE: u64 = 200;

/// Maximum number of unusual clusters that are described. Chosen: more are not read.
pub(crate) const MAX_UNUSUAL: usize = 50;

/// Maximum number of differences that are reported of a request. Chosen: more do not fit a
/// sentence.
pub(crate) const MAX_DIFFERENCES: usize = 3;

/// Share of the greatest difference below which other differences are not reported. Chosen.
pub(crate) const DIFFERENCE_SHARE: f64 = 0.3;

/// Maximum number of attributes of one kind of events that a schema can use. Eight make an event
/// 120 bytes in the queue; the shipped schemas use up to five.
pub(crate) const MAX_SLOTS: usize = 8;

/// Maximum number of values that make up a join attribute or a mark. Addresses and ports of both
/// ends of a connection are four.
pub(crate) const MAX_COMPOSITE_VALUES: usize = 4;

/// Maximum number of events in the reorder queue: 32,768 take 4 MB. Beyond it the oldest is
/// released early.
pub(crate) const MAX_QUEUED_EVENTS: usize = 32 * 1024;

/// Number of consecutive late events beyond which a clock is assumed to have jumped back. Chosen,
/// not measured.
pub(crate) const MAX_CONSECUTIVE_LATE: u32 = 1000;

/// Maximum number of events that a set without a seed keeps: a thread that never serves a request
/// makes an unbounded one. Chosen, not measured.
pub(crate) const MAX_UNSEEDED_EVENTS: u32 = 4096;

/// Maximum number of distinct names of requests; later ones are named by their seed's kind. Chosen,
/// not measured: 65,536 addresses of 50 bytes take 6 MB.
pub(crate) const MAX_REQUEST_NAMES: usize = 64 * 1024;

/// Number of threads beyond which threads without recent events are forgotten; a thread takes 200
/// bytes.
pub(crate) const MAX_KNOWN_THREADS: usize = 16 * 1024;

/// Number of marks above which all marks are forgotten; a mark takes at least 9 bytes.
pub(crate) const MAX_MARKS: usize = 1024 * 1024;

/// Maximum number of a processor with an entry in its host's table; others are in a hash table,
/// which took a tenth of the join's time.
pub(crate) const MAX_TABLE_PROCESSORS: usize = 1024;

/// Maximum depth of nested interrupts whose times are accounted for.
pub(crate) const MAX_NESTED_INTERRUPTS: usize = 4;

/// Bytes of a joined event in memory, including its share of tables, for the memory limit.
pub(crate) const EVENT_BYTES: usize = 96;

/// Minimum number of requests for measuring a spread. With fewer, a group must be tight.
pub(crate) const MIN_MEASURED: usize = 20;

/// Share of a request's total demand below which demands of its elements count as equal. With 0.3,
/// an element's additional demand must be a tenth of the request's demand to make the request an
/// outlier.
pub(crate) const MATTERING_SHARE: f64 = 0.3;

/// Maximum number of hand-offs between two messages of a step. Servers have two or three: reader,
/// worker, writer. Chosen, not measured.
pub(crate) const MAX_CHAIN_LINKS: usize = 16;

/// Maximum number of wakes that are examined between two messages of a step. Chosen, not measured.
pub(crate) const MAX_CHAIN_WAKES: usize = 256;

/// Maximum number of timeline changes that are examined to find these wakes. Chosen, not measured.
pub(crate) const MAX_WAKE_ENTRIES: usize = 16_384;

/// Number of synchronisations around an activation that distinguish it from other possible parents.
/// Chosen, not measured.
pub(crate) const COLOUR_STEPS: usize = 8;

/// Number of passes, forward and backward, that distinguish activations exactly. Each covers
/// everything that leads to an activation, and then everything that it leads to. Chosen, not
/// measured.
pub(crate) const EXACT_PASSES: usize = 3;

/// Minimum processor time in nanoseconds of a thread without a known cause, for being separate in a
/// canonical request. Interrupts take less. Chosen, not measured.
pub(crate) const MIN_LOOSE_NS: i64 = 200_000;

/// Minimum share of the request's processor time, as one in this many, of a thread without a known
/// cause, for being separate in a canonical request. Without this limit, 6 requests of a real
/// server with unseen wake-ups of helpers had one thread instead of two.
pub(crate) const LOOSE_SHARE: i64 = 10;

/// Maximum number of threads of one request that are shown: more cannot be distinguished. Chosen,
/// not measured.
pub(crate) const MAX_REQUEST_THREADS: usize = 24;

/// Number of consecutive hand-offs over which threads of a request are found. Chosen, not measured.
pub(crate) const MAX_HANDOFF_ROUNDS: usize = 4;

/// Share of the work before a wait, as one in this many, up to which the wait is needless. Two
/// threads that spin for 15 ms each differ by less than a tenth, but by up to two fifths if other
/// programs compete for the same core. With 4, 53 of 55 requests of that kind have equal elements;
/// with waits that took place left in, 33. With compilers running, 4 of 300 differed with 4, and
/// none with 2.
pub(crate) const NEEDLESS_WAIT_SHARE: i64 = 2;

/// Maximum processor time of a woken thread that found no work, in nanoseconds. A helper of
/// tests/programs/kinds.cpp that finds the queue empty takes 10 to 40 us.
pub(crate) const MAX_IDLE_WAKE_NS: i64 = 100_000;

/// Maximum share of the request's processor time, as one in this many, of a woken thread that found
/// no work: in a short request, a thread that does little may well do its part. Of 300 requests of
/// type F with five clients, 12 had an additional thread without this rule, and none with it.
pub(crate) const IDLE_WAKE_SHARE: i64 = 100;
