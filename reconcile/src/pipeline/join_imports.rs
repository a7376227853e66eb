//! Pass 8: imported messages join the messages from logs.

use clocks::{ClockSamples, HostFacts};
use message_trace::ImportedTrace;

use crate::error::Error;
use crate::host_clocks::facts;
use crate::indices::{HostIndex, OptionalIndex};
use crate::logs::capture::Capture;
use crate::pipeline::run::PipelineRun;
use crate::reconciliation::Reconciliation;
use crate::tuning::IMPORTED_BLOCK_ROWS;
use crate::write::call_ids::CallIdFile;
use crate::write::entity_tables::EntityTables;
use crate::write::imported::{self, ImportJoiner};
use crate::write::timeline::PartitionedRows;

/// Facts about the hosts' clocks.
pub(crate) struct HostClocks {
    pub(crate) facts: Vec<HostFacts>,
    pub(crate) samples: ClockSamples,
    /// The host of each node with a clock of its own.
    pub(crate) host_of: Vec<OptionalIndex<HostIndex>>,
}

impl HostClocks {
    /// Facts from the logs, with the samples of their messages.
    pub(crate) fn from_capture(capture: &Capture, samples: ClockSamples) -> HostClocks {
        let host_of =
            capture.processes.iter().map(|process| OptionalIndex::some(process.host)).collect();
        HostClocks { facts: facts::facts_of_hosts(capture), samples, host_of }
    }
}

/// Adds the messages of `imports`. Returns their call ids, if there is any import.
pub(crate) fn join_imports(
    run: &PipelineRun,
    imports: &[ImportedTrace],
    hosts: &mut HostClocks,
    output: &mut EntityTables,
    rows: &mut PartitionedRows,
    outcome: &mut Reconciliation,
) -> Result<Option<CallIdFile>, Error> {
    if imports.is_empty() {
        return Ok(None);
    }
    run.progress.begin_step("reading imports", 0);
    hosts.samples.merge_samples(imported::sample_imports(imports, &mut hosts.facts, run.progress)?);
    let mut calls = CallIdFile::new(run.data.path())?;
    let mut joining = ImportJoiner {
        output,
        hosts: &mut hosts.host_of,
        host_names: &hosts.facts,
        calls: &mut calls,
        outcome,
    };
    let mut block = Vec::new();
    joining.for_each_row(imports, run.progress, |row| {
        block.push(row);
        if block.len() < IMPORTED_BLOCK_ROWS {
            Ok(())
        } else {
            rows.add_imported(std::mem::take(&mut block))
        }
    })?;
    rows.add_imported(block)?;
    Ok(Some(calls))
}
