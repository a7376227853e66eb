//! Evidence: what changed at a call site.

use request_flow::{NameId, StepResource};

use crate::options::Options;
use crate::sites::SiteKey;
use crate::tuning::MIN_RATIO_NS;

/// Which way something changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeDirection {
    /// It takes longer, or fails more often.
    Worse,
    /// It takes less time, or fails less often.
    Better,
    /// It is done in another way.
    Other,
}

/// An operation that is called more or less often than before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CallChange {
    /// The node that is called.
    pub node: NameId,
    /// The operation.
    pub operation: NameId,
    /// Calls for each execution of the caller in both periods, about.
    pub calls: [f64; 2],
}

/// What changed.
#[derive(Clone, Debug, PartialEq)]
pub enum EvidenceKind {
    /// The node's own time, with means in nanoseconds.
    Own,
    /// Time of the call and its answer on the way, with means in nanoseconds.
    Network,
    /// What the operation calls, with the shares of its executions that call so.
    Calls(Vec<CallChange>),
    /// The share of its executions that fail while none of their calls does.
    Failures,
}

/// What changed at a call site.
#[derive(Clone, Debug, PartialEq)]
pub struct SiteEvidence {
    /// The call site.
    pub site: SiteKey,
    /// What changed.
    pub kind: EvidenceKind,
    /// Whether it is of all operations of the node, or of the edge, together.
    pub is_pooled: bool,
    /// It in both periods: a mean in nanoseconds, or a share from 0 to 1.
    pub values: [f64; 2],
    /// Of own time, what changed most of it, with means in nanoseconds; `None` where resources were
    /// not recorded in both periods.
    pub resource: Option<(StepResource, [f64; 2])>,
    /// Number of executions in both periods.
    pub executions: [f64; 2],
    /// By how much it alone changes the mean response time of all requests, in nanoseconds; 0 where
    /// it is a share.
    pub of_mean: f64,
    /// How much it weighs: the share of the mean response time, or of the requests, that it
    /// changes, times the logarithm of by how many times it changed.
    pub weight: f64,
    /// Probability of what was seen, or of what is further off, if nothing changed.
    pub p_value: f64,
    /// The same with all tests of the comparison taken together.
    pub adjusted: f64,
    /// Whether chance does not explain it. What is not sure is there only beside what is.
    pub is_sure: bool,
}

impl SiteEvidence {
    /// Which way it changed.
    pub fn direction(&self) -> ChangeDirection {
        match self.kind {
            EvidenceKind::Calls(_) => ChangeDirection::Other,
            _ if self.values[1] > self.values[0] => ChangeDirection::Worse,
            _ => ChangeDirection::Better,
        }
    }

    /// Whether it is large enough to matter, where the mean response time of all requests is at
    /// least `response` nanoseconds in both periods.
    pub fn is_large(&self, options: &Options, response: f64) -> bool {
        let change = (self.values[1] - self.values[0]).abs();
        match self.kind {
            EvidenceKind::Own | EvidenceKind::Network => {
                let less = self.values[0].min(self.values[1]);
                let of_response = change.max(self.of_mean.abs()) / response.max(1.0);
                change >= options.least_ns
                    && change >= options.least_relative * less
                    && of_response >= options.least_of_response
            }
            EvidenceKind::Calls(_) | EvidenceKind::Failures => change >= options.least_share,
        }
    }

    /// By how many times a time changed, as a natural logarithm. Positive where it is longer.
    pub(super) fn ln_ratio(&self) -> f64 {
        let [before, after] = self.values.map(|value| value.max(MIN_RATIO_NS));
        (after / before).ln()
    }
}
