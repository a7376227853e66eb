//! The tuned figures of this crate.

/// Processor time below which demands are alike, in nanoseconds. Chosen: caches and interrupts make
/// differences of that size.
pub(crate) const PROCESSOR_FLOOR_NS: f64 = 200_000.0;

/// Difference of processor time that is one apart, as a share. Equal requests of a busy server
/// differ by 2 to 5%.
pub(crate) const PROCESSOR_SPREAD: f64 = 0.05;

/// Number of disk calls below which demands are alike. Chosen: 0 and 1 must differ.
pub(crate) const DISK_CALLS_FLOOR: f64 = 0.5;

/// Bytes to and from disks below which demands are alike. Chosen: two pages.
pub(crate) const DISK_BYTES_FLOOR: f64 = 8_192.0;

/// Difference of demands of the disk that is one apart, as a share. Chosen: what a cache holds
/// differs from request to request.
pub(crate) const DISK_SPREAD: f64 = 0.1;

/// Bytes sent or received below which demands are alike. Chosen: headers differ by that.
pub(crate) const NETWORK_BYTES_FLOOR: f64 = 512.0;

/// Difference of bytes sent or received that is one apart, as a share. Chosen.
pub(crate) const NETWORK_SPREAD: f64 = 0.05;

/// Cost of an element that only one of two requests has, or whose role differs, apart from what it
/// demands. With 2.2, a hand-over without demands (five elements) makes 4.9, below the threshold; a
/// call with its answer (ten) makes 7, above it.
pub(crate) const EDIT: f32 = 2.2;

/// Distance from the nearest cluster above which a request begins a new one. Requests of twice the
/// processor time are 14 apart, those of 35% more are 6 apart.
pub(crate) const THRESHOLD: f32 = 6.0;

/// Maximum product of the lengths of two requests that are aligned in all ways. It takes as many
/// steps, and in words four bytes for each.
pub(crate) const MAX_ALIGNED: usize = 4_000_000;

/// Maximum number of names that are counted for a cluster. Chosen, not measured.
pub(crate) const MAX_NAMES: usize = 256;

/// Maximum number of clusters that grow at a time. Chosen, not measured.
pub(crate) const MAX_CLUSTERS: usize = 4_096;

/// Minimum number of requests of a cluster that a batch splits off. Fewer are outliers: they begin
/// clusters of their own where they are far from all.
pub(crate) const MIN_CLUSTER: usize = 5;

/// Minimum share of the requests of one text that are split off, as one of that many. Chosen.
pub(crate) const SPLIT_SHARE: usize = 500;

/// Minimum distance of two groups of requests that a batch tells apart. 3 is 16% of processor time.
pub(crate) const MIN_APART: f32 = 3.0;

/// Number of values on each side of a gap whose spread it is held against. Chosen.
pub(crate) const SPLIT_NEIGHBOURS: usize = 8;

/// Widths of the stretches that valleys are looked for with. Chosen: one is the usual spread of
/// equal requests, and demands that spread widely need wide ones.
pub(crate) const VALLEY_WIDTHS: [f32; 5] = [1.0, 2.0, 4.0, 8.0, 16.0];

/// Share of the lower side's requests that a valley may hold. Chosen.
pub(crate) const VALLEY_SHARE: f64 = 0.25;

/// Number of standard deviations by which a valley lies below the lower side. Chosen: hundreds of
/// places are looked at, and chance must not split one group.
pub(crate) const VALLEY_SIGMAS: f64 = 4.5;

/// Distance of the quartiles from each other, as a multiple, beyond which a demand is an outlier of
/// its cluster: about 7 standard deviations of a bell.
pub(crate) const OUTLIER_SPREADS: f32 = 5.0;

/// Maximum number of requests that are kept to find clusters all at once. A request takes about 200
/// bytes: 100 MB.
pub(crate) const MAX_BATCH_REQUESTS: usize = 1 << 19;

/// Maximum number of elements that are kept for that. An element takes a few bytes where others of
/// the same structure are kept, and up to 40 where none is.
pub(crate) const MAX_BATCH_ELEMENTS: usize = 1 << 24;

/// Maximum number of clusters that others are held against for their separation. Chosen.
pub(crate) const MAX_SEPARATED: usize = 256;

/// Maximum number of clusters whose distances from each other make the mean one. Chosen.
pub(crate) const MAX_PAIRED: usize = 64;

/// Minimum number of requests of a cluster that is usual, whatever the number of all.
pub(crate) const MIN_USUAL: u64 = 5;

/// Minimum share of all requests of a cluster that is usual, as one of that many. Chosen.
pub(crate) const UNUSUAL_SHARE: u64 = 200;

/// Maximum number of unusual clusters that are described. Chosen: nobody reads more.
pub(crate) const MAX_UNUSUAL: usize = 50;

/// Maximum number of differences that are told of a request. Chosen: more make no sentence.
pub(crate) const MAX_DIFFERENCES: usize = 3;

/// Share of the greatest difference below which others are not told. Chosen.
pub(crate) const DIFFERENCE_SHARE: f64 = 0.3;

/// Maximum number of attributes of one kind of events that a schema can use. Eight make an event
/// 120 bytes in the queue; the shipped schemas use up to five.
pub(crate) const SLOTS: usize = 8;

/// Maximum number of values that make up a join attribute or a mark. Addresses and ports of both
/// ends of a connection are four.
pub(crate) const COMPOSITE_VALUES: usize = 4;

/// Maximum number of events that wait in the reorder queue: 32,768 take 4 MB. Beyond it the oldest
/// goes on before its time.
pub(crate) const QUEUE_EVENTS: usize = 32 * 1024;

/// Number of events that are late one after the other, beyond which a clock is taken to have jumped
/// back. Chosen, not measured.
pub(crate) const LATE_IN_A_ROW: u32 = 1000;

/// Maximum number of events that a set without a seed keeps: a thread that never serves a request
/// makes one without an end. Chosen, not measured.
pub(crate) const UNSEEDED_EVENTS: u32 = 4096;

/// Maximum number of different names of requests; later ones are called by their seed's kind.
/// Chosen, not measured: 65,536 addresses of 50 bytes take 6 MB.
pub(crate) const REQUEST_NAMES: usize = 64 * 1024;

/// Number of threads beyond which those that are long silent are forgotten; one takes 200 bytes.
pub(crate) const THREADS: usize = 16 * 1024;

/// Number of marks, beyond which all are forgotten; one takes 9 bytes and more.
pub(crate) const MARKS: usize = 1024 * 1024;

/// Maximum number of a processor that has a place in a table of its host; others are in a hash
/// table, which took a tenth of the join's time.
pub(crate) const PROCESSORS: usize = 1024;

/// Maximum depth of interrupts in interrupts.
pub(crate) const INTERRUPTS: usize = 4;

/// Bytes of a joined event in memory, with its share of tables, by which the bound counts.
pub(crate) const EVENT_BYTES: usize = 96;

/// Minimum number of requests whose spread can be measured. Of fewer, a group must be tight.
pub(crate) const MIN_MEASURED: usize = 20;

/// Share of what a request demands in all below which demands of its elements are alike. With
/// 0.3, what an element demands more has to be a tenth of the request's demand to make an outlier.
pub(crate) const MATTERING_SHARE: f64 = 0.3;

/// Maximum number of hand-offs between two messages of a step. Servers have two or three: reader,
/// worker, writer. Chosen, not measured.
pub(crate) const MAX_CHAIN_LINKS: usize = 16;

/// Maximum number of wakes that are tried between two messages of a step. Chosen, not measured.
pub(crate) const MAX_CHAIN_WAKES: usize = 256;

/// Maximum number of changes of threads' timelines that are looked at for these wakes. Chosen, not
/// measured.
pub(crate) const MAX_WAKE_ENTRIES: usize = 16_384;

/// Number of synchronisations around it by which an activation is told from others that could be
/// the parent of the same one. Chosen, not measured.
pub(crate) const COLOUR_STEPS: usize = 8;

/// Number of passes, to and fro, that tell activations apart exactly. Each goes as far as what
/// leads to an activation, and then as what it leads to. Chosen, not measured.
pub(crate) const EXACT_PASSES: usize = 3;

/// Minimum processor time in nanoseconds of a thread that nothing is known to have led to, so that
/// it stands alone in a canonical request. Interrupts take less. Chosen, not measured.
pub(crate) const MIN_LOOSE_NS: i64 = 200_000;

/// Minimum share of a request's processor time of such a thread, as one of that many. On a real
/// server whose helpers were not seen to be woken, 6 requests of two threads were taken for such of
/// one thread without it.
pub(crate) const LOOSE_SHARE: i64 = 10;

/// Maximum number of threads of one request that are shown: more cannot be told apart. Chosen, not
/// measured.
pub(crate) const MAX_REQUEST_THREADS: usize = 24;

/// Number of hand-offs in a row over which threads of a request are found. Chosen, not measured.
pub(crate) const MAX_HANDOFF_ROUNDS: usize = 4;

/// Share of the work before a wait, as one of that many, up to which the wait is needless. Two
/// threads that spin for 15 ms each differ by less than a tenth, but by up to two fifths where
/// other programs want the same core. With 4, 53 of 55 requests of that kind have equal elements;
/// with waits that took place left in, 33. Beside compilers, 4 of 300 differed with 4, and none
/// with 2.
pub(crate) const NEEDLESS_WAIT_SHARE: i64 = 2;

/// Maximum processor time of a thread that was woken and found nothing to do, in nanoseconds. A
/// helper of tests/programs/kinds.cpp that finds the queue empty takes 10 to 40 us.
pub(crate) const MAX_IDLE_WAKE_NS: i64 = 100_000;

/// Share of the request's processor time that such a thread uses at most, as one of that many: a
/// thread of a short request that does little may well do its part. Of 300 requests of type F with
/// five clients, 12 had a thread more than the others without this rule, and none with it.
pub(crate) const IDLE_WAKE_SHARE: i64 = 100;
