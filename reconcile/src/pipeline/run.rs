//! Inputs of every pass: the data directory, the options, and the progress listener.

use message_trace::{DataDir, Progress};
use out_of_core::MemoryPool;

use crate::options::Options;

/// One run of the pipeline.
pub(crate) struct PipelineRun<'a> {
    pub(crate) data: &'a DataDir,
    pub(crate) options: &'a Options,
    pub(crate) progress: &'a dyn Progress,
    /// Number of worker threads.
    pub(crate) threads: usize,
    /// The memory of all tables with a row for each flow, socket, name or connection.
    pub(crate) pool: MemoryPool,
}

impl<'a> PipelineRun<'a> {
    pub(crate) fn new(
        data: &'a DataDir,
        options: &'a Options,
        progress: &'a dyn Progress,
    ) -> PipelineRun<'a> {
        let threads = options.thread_count();
        let pool = MemoryPool::new(options.memory, data.path());
        PipelineRun { data, options, progress, threads, pool }
    }
}
