//! Score: how well a result agrees with the truth. Everything is scored by calls, as both the truth
//! and every algorithm make statements about calls: the parent of a call ([`links`]), its
//! probability ([`confidence`]), and the shape of paths ([`paths`], Project 5 section 7.5.1;
//! [`pruning`], its Figure 17).
//!
//! Only calls in the truth are scored. The calls of excluded callers are not counted as links, and
//! are treated as right where trees are compared.

mod ambiguous_links;
mod confidence;
mod forest;
mod likely_trees;
mod links;
mod paths;
mod pruning;
mod scored_calls;
mod table;
mod whole_share;

use analyze::infer::Links;
use message_trace::{MessageTrace, Progress};
use serde::Serialize;

pub use confidence::{LinkConfidence, ReliabilityBin};
use likely_trees::LikelyTrees;
pub use links::LinkAccuracy;
pub use paths::{FalseCounts, FalsePaths};
pub use pruning::PatternOmission;
pub use scored_calls::{CallPopulation, ScoredCalls};

use crate::error::Error;
use crate::ground_truth::GroundTruth;
use crate::tuning::LIKELY_TREES;

/// Agreement of a result with a truth. Shares are from 0 to 1, null if the denominator is 0.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LinkScore {
    /// Numbers of calls that were scored and that were not.
    pub population: CallPopulation,
    /// Links, requests and traces that are right.
    #[serde(flatten)]
    pub links: LinkAccuracy,
    /// The share of traces with the true tree among the five most probable ones of the root.
    pub top5_trace_accuracy: Option<f64>,
    /// Confidence: how far the probabilities can be trusted.
    #[serde(flatten)]
    pub confidence: LinkConfidence,
    /// Missed and false paths.
    pub paths: FalsePaths,
    /// For each N, the numbers of the N most frequent true patterns that are not among the N most
    /// frequent inferred ones.
    pub top_n_omission: Vec<PatternOmission>,
}

/// Scores `links`, inferred from `trace` with `options`, against `truth`; the calls made by
/// `exclude` (names as in the table of calls) are left out.
///
/// # Errors
/// When no caller has an excluded name, or the truth has none of the calls.
pub fn score_links(
    trace: &MessageTrace,
    links: &Links,
    options: &analyze::Options,
    truth: &GroundTruth,
    exclude: &[String],
    progress: &dyn Progress,
) -> Result<LinkScore, Error> {
    progress.begin_step("finding parents", 0);
    Ok(LinkScore::from_calls(&ScoredCalls::new(trace, links, options, truth, exclude)?, progress))
}

impl LinkScore {
    /// The score of the scored calls.
    pub fn from_calls(scored: &ScoredCalls, progress: &dyn Progress) -> LinkScore {
        progress.begin_step("comparing paths", 0);
        let (paths, top_n_omission) = paths::compare_paths(scored);
        let (links, wrong) = links::measure_accuracy(scored);
        progress.begin_step("looking for other trees", wrong.len() as u64);
        let found = LikelyTrees::from_calls(scored).count_found(&wrong, LIKELY_TREES, progress);
        let top5 = (links.traces > 0)
            .then(|| (links.traces as usize - wrong.len() + found) as f64 / links.traces as f64);
        LinkScore {
            population: scored.count_population(),
            links,
            top5_trace_accuracy: top5,
            confidence: confidence::measure_confidence(scored),
            paths,
            top_n_omission,
        }
    }

    /// The score as a JSON object.
    ///
    /// # Errors
    /// None known: all values are numbers.
    pub fn to_json(&self) -> Result<String, Error> {
        serde_json::to_string_pretty(self).map_err(|error| Error::Unknown(error.to_string()))
    }
}

#[cfg(test)]
#[path = "score_tests.rs"]
mod tests;
