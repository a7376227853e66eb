//! Analysis: from the tables of requests to all results.

use std::path::Path;

use message_trace::{PathError, Progress};
use out_of_core::MemoryBudget;
use request_flow::StepResource;
use request_flow::tables::RequestTables;
use serde::{Deserialize, Serialize};

use crate::collect::CollectedContexts;
use crate::identity::OperationIdentity;
use crate::instrumentation::{InstrumentationResults, evaluate_random};
use crate::profile::profile_contexts;
use crate::result::Profile;
use crate::tree::{ModelOptions, TimingModel, build_model};
use crate::tuning::MEMORY_BYTES;

/// Options of an analysis.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// What identifies an operation.
    pub by: OperationIdentity,
    /// The resource time that is analyzed in place of the response time.
    pub spent: Option<StepResource>,
    /// Maximum number of bytes of response times in memory; more are spilled to a temporary file.
    pub memory: u64,
    /// Options of the timing model.
    pub model: ModelOptions,
    /// Number of random partial instrumentations to evaluate, and the seed of their choice; `None`
    /// if none are evaluated.
    pub instrumentations: Option<(u64, u64)>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            by: OperationIdentity::default(),
            spent: None,
            memory: MEMORY_BYTES,
            model: ModelOptions::default(),
            instrumentations: None,
        }
    }
}

/// All results of an analysis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ContextAnalysis {
    /// Profile of the contexts.
    #[serde(flatten)]
    pub profile: Profile,
    /// The resource that the times are spent on, if they are not response times.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub spent: Option<StepResource>,
    /// Timing model of the operations.
    pub model: TimingModel,
    /// Results of partial instrumentations, if they were requested.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub instrumentations: Option<InstrumentationResults>,
}

/// Analyzes the requests of `tables`. A temporary file, if one is needed, is created in
/// `directory`.
///
/// # Errors
/// If a table cannot be read, or the temporary file cannot be written.
pub fn analyze_contexts(
    tables: &RequestTables,
    options: &Options,
    directory: &Path,
    progress: &dyn Progress,
) -> Result<ContextAnalysis, PathError> {
    let budget = MemoryBudget::new(options.memory);
    let collected = CollectedContexts::read_requests(
        tables,
        (options.by, options.spent),
        &budget,
        directory,
        progress,
    )?;
    let profiled = profile_contexts(&collected, &budget, progress)?;
    let model = build_model(&profiled, &collected, &options.model)?;
    let instrumentations = options
        .instrumentations
        .map(|(count, seed)| evaluate_random(&collected, &profiled.moments, count, seed, progress));
    Ok(ContextAnalysis { profile: profiled.profile, spent: options.spent, model, instrumentations })
}
