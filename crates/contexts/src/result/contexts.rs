//! Operations and their contexts.

use serde::{Deserialize, Serialize};

use super::per_level::PerLevel;
use super::reason::SlowReason;
use super::summary::ContextSummary;
use crate::equivalence::ContextLevel;
use crate::identity::OperationLabel;
use crate::statistics::LogBins;

/// The part of a standard deviation that contexts explain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DeviationDecrease {
    /// Average standard deviation within the contexts, weighted by frequency, in nanoseconds.
    pub deviation: f64,
    /// The explained share of the standard deviation (section 3.3), from 0 to 1.
    pub share: f64,
    /// The share explained beyond what as many contexts explain by chance. This compares the square
    /// roots of the unbiased variances, so contexts with one execution explain nothing.
    pub beyond_chance: f64,
    /// Certainty that contexts differ, by the Kruskal-Wallis test: the distance of its statistic
    /// from its mean by chance, in standard deviations.
    pub sureness: f64,
    /// The share of the variance of the ranks that is between contexts, beyond chance.
    pub rank_share: f64,
}

/// An operation and all its contexts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OperationProfile {
    /// Number of the operation as a node of the calling-context tree.
    pub id: u32,
    /// Names of the operation, joined.
    pub name: String,
    /// Names of the operation.
    #[serde(flatten)]
    pub names: OperationLabel,
    /// Steps of the operation and their response times, whatever the context.
    #[serde(flatten)]
    pub summary: ContextSummary,
    /// The bins of all histograms of the operation; `None` if it has no response times.
    pub bins: Option<LogBins>,
    /// How much contexts explain.
    pub decrease: PerLevel<DeviationDecrease>,
    /// The contexts that make the operation slow, if any do.
    pub reason: Option<SlowReason>,
    /// Caller-contexts of the operation.
    pub contexts: Vec<ContextProfile>,
}

/// A context of an operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ContextProfile {
    /// Number of the context as a node of the calling-context tree.
    pub id: u32,
    /// Kind of the context.
    pub level: ContextLevel,
    /// Name of the context: the caller; the path from the caller of the trace; or the class of
    /// traces and the number of the step in it.
    pub name: String,
    /// Number of the class, if the context is a trace-context.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub class: Option<u32>,
    /// Number of the step in the class, in depth-first order from 0, if the context is a
    /// trace-context.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub step: Option<u32>,
    /// Steps in the context and their response times.
    #[serde(flatten)]
    pub summary: ContextSummary,
    /// The share of the context's standard deviation that each finer kind of context explains;
    /// `None` for kinds that are not finer than this context's.
    pub decrease: PerLevel<Option<f64>>,
    /// Subcontexts of the context.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub contexts: Vec<ContextProfile>,
    /// Further subcontexts: trace-contexts that are too many to be listed individually.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub further: Option<CountedContexts>,
}

/// Trace-contexts that are only counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CountedContexts {
    /// Number of contexts.
    pub contexts: u64,
    /// Number of steps in these contexts.
    pub steps: u64,
}

impl ContextProfile {
    /// This context and all its subcontexts, in depth-first order.
    pub fn all_contexts(&self) -> Box<dyn Iterator<Item = &ContextProfile> + '_> {
        Box::new(
            std::iter::once(self)
                .chain(self.contexts.iter().flat_map(|inner| inner.all_contexts())),
        )
    }
}

impl OperationProfile {
    /// All contexts of the operation, in depth-first order.
    pub fn all_contexts(&self) -> impl Iterator<Item = &ContextProfile> {
        self.contexts.iter().flat_map(ContextProfile::all_contexts)
    }
}
