//! Context of the passes that match calls: their inputs, and the destinations of their results.

use out_of_core::MemoryBudget;

use crate::pipeline::connect::ConnectedCapture;
use crate::pipeline::run::PipelineRun;
use crate::pipeline::sample_pool::SamplePool;
use crate::write::timeline::PartitionedRows;

/// The matching of all calls.
pub(crate) struct MatchingContext<'a> {
    pub(crate) run: &'a PipelineRun<'a>,
    pub(crate) connected: &'a ConnectedCapture,
    /// The memory budget of calls and messages.
    pub(crate) budget: &'a MemoryBudget,
    /// Clock samples from messages.
    pub(crate) samples: SamplePool,
    /// All messages.
    pub(crate) rows: PartitionedRows<'a>,
}

impl<'a> MatchingContext<'a> {
    pub(crate) fn new(
        run: &'a PipelineRun,
        connected: &'a ConnectedCapture,
        budget: &'a MemoryBudget,
    ) -> MatchingContext<'a> {
        let samples = SamplePool::new(connected.capture.hosts.len());
        let rows = PartitionedRows::new(budget, run.data.path());
        MatchingContext { run, connected, budget, samples, rows }
    }
}
