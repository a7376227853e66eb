//! Resources of the machine that an analysis may use. They do not affect the results, so they are
//! not stored with them.

use std::num::NonZeroUsize;

use message_trace::table::GROUP_ROWS;

use out_of_core::workers;

/// Memory and processors of an analysis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnalysisResources {
    /// Number of bytes of path instances in memory beyond which they are spilled to temporary files
    /// in the data directory.
    pub memory: u64,
    /// Number of threads that run in parallel; `None`: as many as there are processors.
    pub threads: Option<NonZeroUsize>,
    /// The size of units of work. It does not affect the result; it is exposed for tests.
    #[doc(hidden)]
    pub division: WorkDivision,
}

/// The units into which the work of path building is divided.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkDivision {
    /// Number of messages for which one worker builds instances at a time.
    pub messages: usize,
    /// Number of partitions to which instances are distributed by their shapes.
    pub partitions: usize,
    /// Minimum number of rows of a group of the tables.
    pub rows: usize,
}

impl Default for AnalysisResources {
    fn default() -> AnalysisResources {
        // A partition of the 20 million rows that linking produces for 4.7 million messages is some
        // 2 MB.
        let pieces = WorkDivision { messages: 16 * 1024, partitions: 128, rows: GROUP_ROWS };
        AnalysisResources { memory: 256 << 20, threads: None, division: pieces }
    }
}

impl AnalysisResources {
    /// Number of threads to use.
    pub(crate) fn thread_count(&self) -> usize {
        self.threads.map_or_else(workers::thread_count, NonZeroUsize::get)
    }
}
