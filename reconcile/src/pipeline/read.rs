//! Pass 1: the logs are indexed, and the imports are listed.

use message_trace::{DataDir, ImportedTrace};

use crate::error::Error;
use crate::logs::capture::Capture;
use crate::logs::read_logs;
use crate::pipeline::run::PipelineRun;
use crate::reconciliation::Reconciliation;

/// Inputs of a reconciliation.
pub(crate) struct PipelineInputs {
    pub(crate) capture: Capture,
    pub(crate) imports: Vec<ImportedTrace>,
}

/// Reads all logs except for their calls.
pub(crate) fn read_inputs(
    run: &PipelineRun,
    outcome: &mut Reconciliation,
) -> Result<PipelineInputs, Error> {
    let capture =
        read_logs::read_all_logs(run.data, &run.pool, run.threads, run.progress, outcome)?;
    let imports = run.data.imported_messages()?;
    if imports.is_empty() {
        has_logs(run.data, &capture, outcome)?;
    }
    Ok(PipelineInputs { capture, imports })
}

/// Fails unless at least one log is readable.
fn has_logs(data: &DataDir, capture: &Capture, outcome: &Reconciliation) -> Result<(), Error> {
    if outcome.logs == 0 {
        return Err(Error::NoLogs { hosts: data.hosts_dir().to_path_buf() });
    }
    if capture.processes.is_empty() {
        let first = outcome.damaged.first().and_then(|log| log.what.first());
        return Err(Error::NothingReadable {
            logs: outcome.logs,
            first: first.cloned().unwrap_or_default(),
        });
    }
    Ok(())
}
