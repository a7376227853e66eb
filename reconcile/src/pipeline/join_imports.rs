//! Pass 8: what was imported as messages joins the messages of our own.

use clocks::{HostFacts, Samples};
use message_trace::Import;

use crate::error::Error;
use crate::host_clocks::facts;
use crate::logs::capture::Capture;
use crate::pipeline::run::Run;
use crate::reconciliation::Reconciliation;
use crate::tuning::IMPORTED_BLOCK_ROWS;
use crate::write::call_ids::CallIds;
use crate::write::imported::{self, Joining};
use crate::write::output::Output;
use crate::write::timeline::Rows;

/// What is known of the hosts' clocks.
pub(crate) struct Hosts {
    pub(crate) facts: Vec<HostFacts>,
    pub(crate) samples: Samples,
    /// The host of each node with a clock of its own.
    pub(crate) host_of: Vec<u32>,
}

impl Hosts {
    /// What the logs tell, with what their messages told.
    pub(crate) fn of(capture: &Capture, samples: Samples) -> Hosts {
        let host_of = capture.processes.iter().map(|process| process.host).collect();
        Hosts { facts: facts::of(capture), samples, host_of }
    }
}

/// Adds the messages of `imports`. Returns their call ids, if there is any import.
pub(crate) fn join_imports(
    run: &Run,
    imports: &[Import],
    hosts: &mut Hosts,
    output: &mut Output,
    rows: &mut Rows,
    outcome: &mut Reconciliation,
) -> Result<Option<CallIds>, Error> {
    if imports.is_empty() {
        return Ok(None);
    }
    run.progress.step("reading imports", 0);
    hosts.samples.merge(imported::sample(imports, &mut hosts.facts, run.progress)?);
    let mut calls = CallIds::new(run.data.path())?;
    let mut joining = Joining {
        output,
        hosts: &mut hosts.host_of,
        host_names: &hosts.facts,
        calls: &mut calls,
        outcome,
    };
    let mut block = Vec::new();
    joining.rows(imports, run.progress, |row| {
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
