//! What the passes share that match calls: what they know, and where their results go.

use out_of_core::MemoryBudget;

use crate::pipeline::connect::Connected;
use crate::pipeline::run::Run;
use crate::pipeline::sample_pool::SamplePool;
use crate::write::timeline::Rows;

/// The matching of all calls.
pub(crate) struct Matching<'a> {
    pub(crate) run: &'a Run<'a>,
    pub(crate) connected: &'a Connected,
    /// The memory of calls and messages.
    pub(crate) budget: &'a MemoryBudget,
    /// What messages tell of the hosts' clocks.
    pub(crate) samples: SamplePool,
    /// All messages.
    pub(crate) rows: Rows<'a>,
}

impl<'a> Matching<'a> {
    pub(crate) fn new(
        run: &'a Run,
        connected: &'a Connected,
        budget: &'a MemoryBudget,
    ) -> Matching<'a> {
        let samples = SamplePool::new(connected.capture.hosts.len());
        let rows = Rows::new(budget, run.data.path());
        Matching { run, connected, budget, samples, rows }
    }
}
