//! Pass 9: the clocks are estimated, and everything is written.

use clocks::Clocks;
use message_trace::Nodes;
use out_of_core::ExternalSorter;

use crate::error::Error;
use crate::host_clocks::{exchanges, facts};
use crate::logs::capture::Capture;
use crate::pipeline::join_imports::Hosts;
use crate::pipeline::run::Run;
use crate::reconciliation::Reconciliation;
use crate::rows::begun::Begun;
use crate::rows::row::Common;
use crate::write::call_ids::CallIds;
use crate::write::output::Output;
use crate::write::timeline::{Rows, Writing};

/// What is written: messages, and what they refer to.
pub(crate) struct Results<'a> {
    pub(crate) rows: Rows<'a>,
    pub(crate) output: Output<'a>,
    /// The call ids of imported messages.
    pub(crate) calls: Option<CallIds>,
}

/// Writes all tables, with the times of `hosts` on one common clock. Messages that begin operations
/// go to `begun`, where logs tell any. Returns the hosts' clocks.
pub(crate) fn finish(
    run: &Run,
    capture: &Capture,
    hosts: Hosts,
    results: Results,
    begun: Option<&mut ExternalSorter<Begun>>,
    outcome: &Reconciliation,
) -> Result<Clocks, Error> {
    let Run { data, progress, threads, .. } = *run;
    let Hosts { facts, samples, host_of } = hosts;
    let Results { rows, output, calls } = results;
    let hints = exchanges::read(data, capture, &facts, threads, progress)?;
    let clocks = facts::clocks(capture, &facts, &samples, &hints, progress);
    let common = Common { clocks: &clocks, hosts: &host_of };
    Nodes::write_each(data.nodes(), output.nodes())?;
    let writing =
        Writing { output: &output, common: &common, calls: calls.as_ref(), threads, progress };
    rows.write(&data.messages(), &writing, begun)?;
    facts::as_set(&clocks, capture, &facts).write(data.clocks())?;
    outcome.write(data)?;
    Ok(clocks)
}
