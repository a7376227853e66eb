//! Pass 3: the logs are read again, and their calls are distributed over partitions.

use out_of_core::MemoryBudget;

use crate::error::Error;
use crate::partitioning::partition_pass::{self, CallStores};
use crate::pipeline::connect::ConnectedCapture;
use crate::pipeline::run::PipelineRun;

/// The memory budget of calls and messages, given the existing tables.
pub(crate) fn call_budget(run: &PipelineRun) -> MemoryBudget {
    let budget = MemoryBudget::after_tables(run.options.memory, run.pool.in_memory());
    run.pool.lower_budget(run.options.memory / 8);
    budget
}

/// Partitions all calls: stream calls by connection, datagrams by content.
pub(crate) fn partition_calls<'a>(
    run: &PipelineRun,
    connected: &ConnectedCapture,
    budget: &'a MemoryBudget,
) -> Result<CallStores<'a>, Error> {
    let ConnectedCapture { sockets, recorded_operations, partitions, .. } = connected;
    let stores = CallStores::new(budget, run.data.path(), partitions, &sockets.all);
    partition_pass::partition_logs(
        sockets,
        recorded_operations,
        partitions,
        connected.datagram_routing(),
        &stores,
        run.threads,
        run.progress,
    )?;
    Ok(stores)
}
