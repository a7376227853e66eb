//! Pass 3: the logs are read again, and their calls are dealt into partitions.

use out_of_core::MemoryBudget;

use crate::dealing::deal::{self, Stores};
use crate::error::Error;
use crate::pipeline::connect::Connected;
use crate::pipeline::run::Run;

/// The memory of calls and messages, beside the tables that there are.
pub(crate) fn budget(run: &Run) -> MemoryBudget {
    let budget = MemoryBudget::beside(run.options.memory, run.pool.in_memory());
    run.pool.leave(run.options.memory / 8);
    budget
}

/// Deals all calls: those of streams by connection, datagrams by content.
pub(crate) fn deal<'a>(
    run: &Run,
    connected: &Connected,
    budget: &'a MemoryBudget,
) -> Result<Stores<'a>, Error> {
    let Connected { sockets, told, partitions, .. } = connected;
    let stores = Stores::new(budget, run.data.path(), partitions, &sockets.all);
    deal::deal(sockets, told, partitions, connected.reach(), &stores, run.threads, run.progress)?;
    Ok(stores)
}
