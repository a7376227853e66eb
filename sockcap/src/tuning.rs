//! Tuned figures of the command line: limits of what is read for display, listed and offered.
//! Unless stated otherwise, they were chosen, not measured.

/// Maximum number of patterns that are read for a report or a page, unless `--limit` asks for more:
/// more than a user looks at, and as many as a page can have.
pub(crate) const MAX_PATTERNS_SHOWN: usize = 10_000;

/// Number of patterns, nodes or hops that `sockcap report` prints unless the user sets another.
pub(crate) const PATTERNS_PRINTED: usize = 10;

/// Number of operations that `sockcap contexts` prints unless the user sets another.
pub(crate) const OPERATIONS_PRINTED: usize = 10;

/// Number of mutations that `sockcap diff` prints unless the user sets another.
pub(crate) const MUTATIONS_PRINTED: usize = 10;

/// Number of clusters, and of unusual requests, that `sockcap requests` prints unless the user sets
/// another.
pub(crate) const CLUSTERS_PRINTED: usize = 20;

/// Maximum number of patterns with numbers and nodes that completion offers: the ones with the
/// largest total time.
pub(crate) const MAX_PATTERNS_OFFERED: usize = 200;

/// Maximum number of places of skipped input that `sockcap import` lists.
pub(crate) const MAX_SKIPS_LISTED: usize = 5;

/// Maximum number of lines in a list of capture gaps of `sockcap info`.
pub(crate) const MAX_UNSEEN_LISTED: usize = 20;

/// Maximum number of nodes that an error lists if a filter names an unknown one.
pub(crate) const MAX_NODES_LISTED: usize = 12;

/// Maximum number of operations that an error lists if a filter names an unknown operation.
pub(crate) const MAX_OPERATIONS_LISTED: usize = 20;

/// Maximum number of gaps in a recording that a note names.
pub(crate) const MAX_GAPS_NAMED: usize = 6;

/// Bytes of messages of spans, and of requests, that are held in memory before more go to temporary
/// files.
pub(crate) const SPANS_IN_MEMORY_BYTES: u64 = 256 << 20;

/// Number of bytes of response times that are held in memory for the contexts of a page; more go to
/// a temporary file. Ten million steps take 240 MB.
pub(crate) const RESPONSE_TIMES_IN_MEMORY_BYTES: u64 = 256 << 20;

/// Minimum number of steps of a profile of contexts that is kept for the next page. For two million
/// steps, reading it takes 1.4 s of processor time less than making it, for this number 0.2 s.
pub(crate) const MIN_STEPS_OF_KEPT_PROFILE: u64 = 300_000;

/// Number of path instances that `sockcap view` sends to the page at a time.
pub(crate) const INSTANCES_PER_ANSWER: usize = 96;

/// The data directory unless the user names another.
pub(crate) const DEFAULT_DIRECTORY: &str = "sockcap.data";

/// Maximum number of operations that an error lists if an unknown one is requested.
pub(crate) const MAX_OPERATIONS_NAMED: usize = 12;

/// Number of lines that `sockcap contexts` has for instrumentations, by the number of monitored
/// operations.
pub(crate) const INSTRUMENTATION_BINS: u64 = 10;

/// Maximum number of parts of a change that `diff` names.
pub(crate) const DIFF_SHARES: usize = 3;

/// Maximum number of pieces of evidence against the first suspect.
pub(crate) const DIFF_EVIDENCE: usize = 3;

/// Maximum number of suspects in addition to the first.
pub(crate) const DIFF_SUSPECTS: usize = 4;

/// Size in bytes of the kernel's queue of switches of a processor that every user may have for one
/// recording, less the page that belongs to it. The queue holds 16,384 switches.
pub(crate) const QUEUE_BYTES: usize = 512 << 10;

/// Maximum size of the kernel's queue of switches of a processor, in bytes, for users who may lock
/// more memory. With 24 programs on 2 processors, 16,384 switches were too few for one period in
/// which the recorder had to wait.
pub(crate) const MAX_QUEUE_BYTES: usize = 4 << 20;

/// Size of the queues of all processors together, in bytes, unless each has the size that every
/// user may have. Chosen, not measured.
pub(crate) const ALL_QUEUES_BYTES: usize = 64 << 20;

/// Priority (`nice`) of the thread that empties the queues, if rights allow it: it has little work,
/// but loses data if it is late. Chosen, not measured.
pub(crate) const RECORDER_NICE: i32 = -10;

/// Minimum size of the kernel's queue of switches of a processor, in bytes, if other recordings of
/// this user run as well.
pub(crate) const MIN_QUEUE_BYTES: usize = 16 << 10;

/// Time after which the queues of switches are emptied, in nanoseconds, unless one is half full
/// before. Below a second.
pub(crate) const SWITCHES_EMPTIED_AFTER_NS: i64 = 100_000_000;

/// Time within which a switch is in its queue, in nanoseconds, even if the virtual processor that
/// puts it there is preempted meanwhile.
pub(crate) const SWITCHES_LATE_NS: i64 = 10_000_000;

/// Time after which a file of switches records up to when it is complete, in nanoseconds, even
/// without events.
pub(crate) const SWITCHES_MARKED_AFTER_NS: i64 = 1_000_000_000;

/// Maximum number of events of a recording with threads shown on a page: reading more takes too
/// long for their benefit. Chosen, not measured.
pub(crate) const MAX_EVENTS_OF_A_PAGE: u64 = 20_000_000;

/// Bytes of timelines of threads that are held in memory for a page; more go to temporary files.
pub(crate) const THREADS_IN_MEMORY_BYTES: u64 = 256 << 20;

/// Interval of polling whether processes that are recorded by id have ended.
pub(crate) const ATTACH_CHECK_PAUSE: std::time::Duration = std::time::Duration::from_millis(50);

/// Maximum number of searches for children of processes that are recorded by id; the searches end
/// when one finds no further child. Chosen: a child of a child is found the first time.
pub(crate) const CHILD_SEARCHES: usize = 5;

/// Figures of `sockcap requests --follow`.
pub(crate) mod follow {
    use std::time::Duration;

    /// Interval of polling while no events arrive.
    pub(crate) const POLL_PAUSE: Duration = Duration::from_millis(200);

    /// Interval at which figures are printed.
    pub(crate) const PRINT_INTERVAL: Duration = Duration::from_secs(2);

    /// Minimum time between two passes over a recording, relative to the duration of the last one:
    /// at most a fifth of a processor is used, however long the recording is.
    pub(crate) const PASS_PAUSE_FACTOR: u32 = 4;

    /// Number of newest requests that are printed.
    pub(crate) const MAX_NEWEST: usize = 5;

    /// Maximum number of events that are joined at a time.
    pub(crate) const BATCH_EVENTS: usize = 4096;

    /// Maximum length of a line, in bytes; a longer one is split into parts, which are not events.
    pub(crate) const MAX_LINE_BYTES: u64 = 1 << 20;
}

/// Time between two lines of a kind in a collector's log. Chosen, not measured.
pub(crate) const LINE_INTERVAL: std::time::Duration = std::time::Duration::from_secs(1);

/// Number of lines that may be printed together for a kind of event of authenticated hosts: several
/// connect when a collector starts. Chosen, not measured.
pub(crate) const LINES_AT_ONCE: u32 = 20;

/// Maximum length of a line of a collector's log, in characters: names and reasons come from other
/// machines.
pub(crate) const LINE_CHARACTERS: usize = 500;
