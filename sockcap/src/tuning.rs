//! Tuned figures of the command line: how much is read for people, listed and offered. All were
//! chosen, not measured, unless they say otherwise.

/// Maximum number of patterns that are read for a report or a page, unless `--limit` asks for more:
/// more than anybody looks at, and as many as a page can have.
pub(crate) const MAX_PATTERNS_SHOWN: usize = 10_000;

/// Maximum number of patterns whose numbers and nodes completion offers: those with the largest
/// total time.
pub(crate) const MAX_PATTERNS_OFFERED: usize = 200;

/// Maximum number of places that `sockcap import` lists of what it skipped.
pub(crate) const MAX_SKIPS_LISTED: usize = 5;

/// Maximum number of lines that `sockcap info` has in a list of what was not seen.
pub(crate) const MAX_UNSEEN_LISTED: usize = 20;

/// Maximum number of nodes that are named where a filter names one that is not there.
pub(crate) const MAX_NODES_LISTED: usize = 12;

/// Maximum number of operations that are named where a filter names one that is not there.
pub(crate) const MAX_OPERATIONS_LISTED: usize = 20;

/// Maximum number of holes in a recording that a note names.
pub(crate) const MAX_GAPS_NAMED: usize = 6;

/// Bytes of messages of spans, and of requests, that are held in memory before more go to temporary
/// files.
pub(crate) const SPANS_IN_MEMORY_BYTES: u64 = 256 << 20;

/// Number of bytes of response times that are held in memory for the contexts of a page; more go to
/// a temporary file. Ten million steps take 240 MB.
pub(crate) const RESPONSE_TIMES_IN_MEMORY_BYTES: u64 = 256 << 20;

/// Minimum number of steps of a profile of contexts that is kept for the next page. For two million
/// steps it takes 1.4 s of processor time less to read it than to make it, for this number 0.2 s.
pub(crate) const MIN_STEPS_OF_KEPT_PROFILE: u64 = 300_000;

/// Number of path instances that `sockcap view` sends to the page at a time.
pub(crate) const INSTANCES_PER_ANSWER: usize = 96;

/// The data directory unless the user names another.
pub(crate) const DEFAULT_DIRECTORY: &str = "sockcap.data";

/// Maximum number of operations that are named where one is asked for that is not there.
pub(crate) const MAX_OPERATIONS_NAMED: usize = 12;

/// Number of lines that `sockcap contexts` has for instrumentations, by the number of monitored
/// operations.
pub(crate) const INSTRUMENTATION_BINS: u64 = 10;

/// Maximum number of parts of a change that `diff` names.
pub(crate) const DIFF_SHARES: usize = 3;

/// Maximum number of pieces of evidence against the first suspect.
pub(crate) const DIFF_EVIDENCE: usize = 3;

/// Maximum number of suspects beside the first.
pub(crate) const DIFF_SUSPECTS: usize = 4;

/// Size of the kernel's queue of switches of a processor, in bytes, that every user may have for
/// one recording, less the page that goes with it. It holds 16,384 switches.
pub(crate) const QUEUE_BYTES: usize = 512 << 10;

/// Size of that queue, in bytes, for those who may lock more memory. Where 24 programs wanted 2
/// processors, 16,384 switches were too few for one time that the recorder had to wait.
pub(crate) const MAX_QUEUE_BYTES: usize = 4 << 20;

/// Size of the queues of all processors together, in bytes, unless each is as small as every user
/// may have it. Chosen, not measured.
pub(crate) const ALL_QUEUES_BYTES: usize = 64 << 20;

/// Priority (`nice`) of the thread that empties the queues, where rights allow it: it has little to
/// do, and what it comes too late for is lost. Chosen, not measured.
pub(crate) const RECORDER_NICE: i32 = -10;

/// Minimum size of that queue, in bytes, where others of this user record as well.
pub(crate) const MIN_QUEUE_BYTES: usize = 16 << 10;

/// Time after which the queues of switches are emptied, in nanoseconds, unless one is half full
/// before. Below a second.
pub(crate) const SWITCHES_EMPTIED_AFTER_NS: i64 = 100_000_000;

/// Time within which a switch is in its queue, in nanoseconds, also where the virtual processor
/// that puts it there has no real one meanwhile.
pub(crate) const SWITCHES_LATE_NS: i64 = 10_000_000;

/// Time after which a file of switches says up to when it is whole, in nanoseconds, even where
/// nothing happened.
pub(crate) const SWITCHES_MARKED_AFTER_NS: i64 = 1_000_000_000;

/// Maximum number of events of a recording whose threads a page shows: reading more takes too long
/// for what is seen of them. Chosen, not measured.
pub(crate) const MAX_EVENTS_OF_A_PAGE: u64 = 20_000_000;

/// Bytes of timelines of threads that are held in memory for a page; more go to temporary files.
pub(crate) const THREADS_IN_MEMORY_BYTES: u64 = 256 << 20;

/// Time between two looks at whether processes that are recorded by their numbers have ended.
pub(crate) const TICK: std::time::Duration = std::time::Duration::from_millis(50);

/// Number of times that children of such processes are looked for, while some that were begun
/// before are found. Chosen: a child of a child is found the first time.
pub(crate) const LOOKS_FOR_CHILDREN: usize = 5;

/// Figures of `sockcap requests --follow`.
pub(crate) mod follow {
    use std::time::Duration;

    /// Time between two looks where nothing comes.
    pub(crate) const PAUSE: Duration = Duration::from_millis(200);

    /// Time between two prints.
    pub(crate) const INTERVAL: Duration = Duration::from_secs(2);

    /// Minimum time between two looks at a recording, by the time that the last one took: a fifth
    /// of a processor is used at most, however long the recording is.
    pub(crate) const REST: u32 = 4;

    /// Number of newest requests that are printed.
    pub(crate) const NEWEST: usize = 5;

    /// Maximum number of events that are joined at a time.
    pub(crate) const BATCH_EVENTS: usize = 4096;

    /// Maximum length of a line, in bytes; a longer one is taken in parts, which are no events.
    pub(crate) const MAX_LINE_BYTES: u64 = 1 << 20;
}

/// Time between two lines of a kind in a collector's log. Chosen, not measured.
pub(crate) const LINE_INTERVAL: std::time::Duration = std::time::Duration::from_secs(1);

/// Number of lines that may be told at once of a kind of event of hosts that were let in: several
/// connect when a collector starts. Chosen, not measured.
pub(crate) const LINES_AT_ONCE: u32 = 20;

/// Maximum length of a line of a collector's log, in characters: names and reasons come from
/// others.
pub(crate) const LINE_CHARACTERS: usize = 500;
