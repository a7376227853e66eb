//! The tuned figures of this crate. Measures of the layout (columns, view boxes) are where they are
//! used. Unless stated otherwise, a figure was chosen, not measured.

/// Maximum number of levels by which a line of the tree is indented for the calls around it.
pub(crate) const MAX_CALL_LEVELS: usize = 8;

/// Maximum number of open calls that are searched for the call that a message answers.
pub(crate) const MAX_OPEN_CALLS: usize = 64;

/// Number of patterns in one batch of details: a page requests a batch when the first of its
/// patterns is opened.
pub(crate) const PATTERNS_PER_BATCH: usize = 64;

/// Number of mutations of a comparison in one batch of details. With 49 steps each, these are about
/// 140 kB in the page.
pub(crate) const MUTATIONS_PER_BATCH: usize = 64;

/// Maximum number of hops of one pattern that the page shows: more are not distinguishable.
pub(crate) const MAX_HOPS: usize = 1_000;

/// Maximum number of nodes of one pattern that the page can search for: the first ones.
pub(crate) const MAX_NODES: usize = 64;

/// Maximum number of instances of one pattern in a page on disk.
pub(crate) const MAX_INSTANCES: usize = 24;

/// Number of instances of one pattern in a page on disk when [`MAX_INSTANCES`] no longer fit into
/// [`MAX_MESSAGES`].
pub(crate) const FEW_INSTANCES: usize = 2;

/// Maximum number of messages of all instances together in a page on disk.
pub(crate) const MAX_MESSAGES: usize = 200_000;

/// Maximum number of operations with calls and errors in the page, the ones with the most errors.
/// An operation with calls at all times takes some 2 kB as JSON. A system has some hundred of them.
pub(crate) const MAX_PAGE_OPERATIONS: usize = 300;

/// Maximum number of operations with contexts in the page: the ones that context explains best.
pub(crate) const MAX_OPERATIONS: usize = 200;

/// Maximum number of contexts of one kind of an operation in the page.
pub(crate) const MAX_CONTEXTS: usize = 24;

/// Maximum number of contexts of one kind of an operation when [`CONTEXTS_IN_ALL`] are in the page.
pub(crate) const FEW_CONTEXTS: usize = 4;

/// Number of contexts in the page from which on operations have only [`FEW_CONTEXTS`]. A context
/// takes about 300 bytes as JSON, and 100 compressed.
pub(crate) const CONTEXTS_IN_ALL: usize = 6_000;

/// Maximum number of requests of a context that the page names.
pub(crate) const MAX_CONTEXT_EXAMPLES: usize = 5;

/// Maximum number of messages of all example paths of contexts in a page on disk, in addition to
/// [`MAX_MESSAGES`].
pub(crate) const MAX_REQUEST_MESSAGES: usize = 50_000;

/// Maximum number of bins of the distributions of an operation; with more, neighbours are merged.
pub(crate) const MAX_CONTEXT_BINS: usize = 64;

/// Maximum number of characters of the name of a context. Stacks may be long.
pub(crate) const MAX_CONTEXT_NAME: usize = 400;

/// Maximum number of classes of traces in the page, the most frequent ones.
pub(crate) const MAX_CLASSES: usize = 300;

/// Maximum number of steps of a class of traces in the page.
pub(crate) const MAX_CLASS_STEPS: usize = 60;

/// Maximum number of pairs of nodes that the page names with their messages that were seen at one
/// end only. Messages of further pairs are counted.
pub(crate) const MAX_ONE_SIDED_PAIRS: usize = 200;

/// Maximum number of clocks that the page draws; further ones are in the table only.
pub(crate) const MAX_CLOCKS_DRAWN: usize = 24;

/// Initial number of bins of a histogram per doubling of the time: neighbours differ by a quarter
/// of a per cent.
pub(crate) const FINEST_BINS: u32 = 256;

/// Final number of bins of a histogram per doubling of the time: neighbours differ by 9 per cent.
pub(crate) const COARSEST_BINS: u32 = 8;

/// Maximum number of non-empty bins; with more, each two are merged. At the coarsest level there
/// may be more.
pub(crate) const MAX_BINS: usize = 96;

/// Number of time slices into which the time of the whole trace is cut.
pub(crate) const SLICES: usize = 240;

/// Number of slices for one pattern; there may be thousands of patterns.
pub(crate) const PATTERN_SLICES: usize = 60;

/// Numbers of slices that may be merged into one if they have few paths.
pub(crate) const MERGED_SLICES: [usize; 10] = [1, 2, 3, 4, 5, 6, 8, 10, 15, 20];

/// Target number of paths per slice on average, over the non-empty slices.
pub(crate) const PATHS_PER_SLICE: f64 = 10.0;

/// Minimum number of expected paths for a median. `report/web/src/time/series.ts` has the same
/// number.
pub(crate) const MIN_PATHS_FOR_MEDIAN: f64 = 5.0;

/// Minimum number of expected paths for a 99th percentile.
pub(crate) const MIN_PATHS_FOR_P99: f64 = 20.0;

/// Maximum number of clusters of requests in the page: the largest ones.
pub(crate) const MAX_CLUSTERS: usize = 60;

/// Maximum number of names of a cluster that the page has.
pub(crate) const MAX_CLUSTER_NAMES: usize = 3;

/// Maximum number of unusual requests that the page has.
pub(crate) const MAX_UNUSUAL: usize = 40;

/// Maximum number of requests with steps and threads in the page. A request of the demo takes about
/// 2 kB as JSON, and one with as many slices as fit 60 kB.
pub(crate) const MAX_EXAMPLE_REQUESTS: usize = 48;

/// Maximum number of steps of one request that the page shows.
pub(crate) const MAX_EXAMPLE_STEPS: usize = 200;

/// Maximum number of time slices of all threads of one request together; the longest are kept.
pub(crate) const MAX_EXAMPLE_SLICES: usize = 2_000;

/// Maximum number of hand-offs of one request that the page shows.
pub(crate) const MAX_EXAMPLE_WAKES: usize = 500;

/// Maximum number of reasons why calls are inferred that are shown at the top, so that the patterns
/// are seen. Chosen, not measured.
pub(crate) const MAX_LIMITS_SHOWN: usize = 6;
