//! Operations and their contexts.

use serde::{Deserialize, Serialize};

use super::per_level::PerLevel;
use super::reason::SlowReason;
use super::summary::ContextSummary;
use crate::equivalence::ContextLevel;
use crate::identity::OperationLabel;
use crate::statistics::LogBins;

/// How much of a standard deviation is gone within contexts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DeviationDecrease {
    /// Average standard deviation within the contexts, weighted by frequency, in nanoseconds.
    pub deviation: f64,
    /// The share of the standard deviation that is gone (section 3.3), from 0 to 1.
    pub share: f64,
    /// The share that is gone beyond what as many contexts take away by chance. This compares the
    /// square roots of the unbiased variances, so contexts with one execution explain nothing.
    pub beyond_chance: f64,
    /// How sure it is that contexts differ, by the test of Kruskal and Wallis: the distance of its
    /// statistic from the mean of chance, in standard deviations.
    pub sureness: f64,
    /// The share of the variance of the ranks that is between contexts, beyond chance.
    pub rank_share: f64,
}

/// An operation and all its contexts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OperationProfile {
    /// Number of it as a node of the calling-context tree.
    pub id: u32,
    /// Its names, as one.
    pub name: String,
    /// Its names.
    #[serde(flatten)]
    pub names: OperationLabel,
    /// Its steps and their response times, whatever the context.
    #[serde(flatten)]
    pub summary: ContextSummary,
    /// The bins of all its histograms; none where it has no response times.
    pub bins: Option<LogBins>,
    /// How much contexts explain.
    pub decrease: PerLevel<DeviationDecrease>,
    /// The contexts that make it slow, where contexts do.
    pub reason: Option<SlowReason>,
    /// Its caller-contexts.
    pub contexts: Vec<ContextProfile>,
}

/// A context of an operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ContextProfile {
    /// Number of it as a node of the calling-context tree.
    pub id: u32,
    /// What kind of context it is.
    pub level: ContextLevel,
    /// What it is called: the caller; the path from the caller of the trace; or the class of traces
    /// and the number of the step in it.
    pub name: String,
    /// Number of the class, of a trace-context.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub class: Option<u32>,
    /// Number of the step in the class, in depth-first order from 0, of a trace-context.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub step: Option<u32>,
    /// Its steps and their response times.
    #[serde(flatten)]
    pub summary: ContextSummary,
    /// The share of its standard deviation that is gone within each finer kind of context; `None`
    /// for kinds that are not finer.
    pub decrease: PerLevel<Option<f64>>,
    /// The contexts that it is made of.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub contexts: Vec<ContextProfile>,
    /// What else it is made of: trace-contexts that are too many to be told one by one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub further: Option<CountedContexts>,
}

/// Trace-contexts that are only counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CountedContexts {
    /// Number of contexts.
    pub contexts: u64,
    /// Number of their steps.
    pub steps: u64,
}

impl ContextProfile {
    /// It and all contexts that it is made of, in depth-first order.
    pub fn all_contexts(&self) -> Box<dyn Iterator<Item = &ContextProfile> + '_> {
        Box::new(
            std::iter::once(self)
                .chain(self.contexts.iter().flat_map(|inner| inner.all_contexts())),
        )
    }
}

impl OperationProfile {
    /// All its contexts, in depth-first order.
    pub fn all_contexts(&self) -> impl Iterator<Item = &ContextProfile> {
        self.contexts.iter().flat_map(ContextProfile::all_contexts)
    }
}
