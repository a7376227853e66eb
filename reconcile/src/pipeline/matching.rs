//! What the passes share that match calls: what they know, and where their results go.

use out_of_core::MemoryBudget;

use crate::pipeline::connect::ConnectedCapture;
use crate::pipeline::run::PipelineRun;
use crate::pipeline::sample_pool::SamplePool;
use crate::write::timeline::PartitionedRows;

/// The matching of all calls.
pub(crate) struct MatchingContext<'a> {
    pub(crate) run: &'a PipelineRun<'a>,
    pub(crate) connected: &'a ConnectedCapture,
    /// The memory of calls and messages.
    pub(crate) budget: &'a MemoryBudget,
    /// What messages tell of the hosts' clocks.
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
