//! Pass 9: the clocks are estimated, and everything is written.

use clocks::ClockModel;
use message_trace::NodeList;

use crate::error::Error;
use crate::host_clocks::{exchanges, facts};
use crate::logs::capture::Capture;
use crate::pipeline::join_imports::HostClocks;
use crate::pipeline::run::PipelineRun;
use crate::reconciliation::Reconciliation;
use crate::rows::row::CommonClock;
use crate::write::call_ids::CallIdFile;
use crate::write::entity_tables::EntityTables;
use crate::write::timeline::{MessageSorters, PartitionedRows, RowWriting};

/// Results to write: messages, and the tables to which they refer.
pub(crate) struct TraceResults<'a> {
    pub(crate) rows: PartitionedRows<'a>,
    pub(crate) output: EntityTables<'a>,
    /// The call ids of imported messages.
    pub(crate) calls: Option<CallIdFile>,
}

/// Writes all tables, with the times of `hosts` on one common clock. The keys by which later passes
/// join operations and words with messages go to `sorters`. Returns the hosts' clocks.
pub(crate) fn write_results(
    run: &PipelineRun,
    capture: &Capture,
    hosts: HostClocks,
    results: TraceResults,
    sorters: &mut MessageSorters,
    outcome: &Reconciliation,
) -> Result<ClockModel, Error> {
    let PipelineRun { data, progress, threads, .. } = *run;
    let HostClocks { facts, samples, host_of } = hosts;
    let TraceResults { rows, output, calls } = results;
    let hints = exchanges::read_hints(data, capture, &facts, threads, progress)?;
    let clocks = facts::estimate_clocks(capture, &facts, &samples, &hints, progress);
    let common = CommonClock { clocks: &clocks, hosts: &host_of };
    NodeList::write_all(data.nodes_path(), output.nodes())?;
    let writing =
        RowWriting { output: &output, common: &common, calls: calls.as_ref(), threads, progress };
    rows.write_table(&data.messages_path(), &writing, sorters)?;
    facts::restore_settings(&clocks, capture, &facts).write(data.clocks_path())?;
    outcome.write(data)?;
    Ok(clocks)
}
