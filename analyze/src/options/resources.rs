//! Resources that an analysis may take of the machine. They change nothing in what is found, so
//! they are not kept with the result.

use std::num::NonZeroUsize;

use message_trace::table::GROUP_ROWS;

use out_of_core::workers;

/// Memory and processors of an analysis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnalysisResources {
    /// Number of bytes of path instances that are held in memory before more go to temporary files
    /// in the data directory.
    pub memory: u64,
    /// Number of threads that work at once; `None`: as many as there are processors.
    pub threads: Option<NonZeroUsize>,
    /// The size of pieces of the work. The result is the same with any; it is here for tests.
    #[doc(hidden)]
    pub division: WorkDivision,
}

/// Into what pieces the work of path building is divided.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkDivision {
    /// Number of messages whose instances one worker builds at a time.
    pub messages: usize,
    /// Partitions into which instances are dealt by their shapes.
    pub partitions: usize,
    /// Rows of a group of the tables, at least.
    pub rows: usize,
}

impl Default for AnalysisResources {
    fn default() -> AnalysisResources {
        // A partition of the 20 million rows that linking makes of 4.7 million messages is some 2
        // MB.
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
