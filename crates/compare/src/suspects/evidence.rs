//! Evidence: a change at a call site.

use request_flow::{NameId, StepResource};

use crate::options::Options;
use crate::sites::SiteKey;
use crate::tuning::MIN_RATIO_NS;

/// Direction of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeDirection {
    /// The site takes longer, or fails more often.
    Worse,
    /// The site takes less time, or fails less often.
    Better,
    /// The site behaves differently.
    Other,
}

/// An operation that is called more or less often than before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CallChange {
    /// The called node.
    pub node: NameId,
    /// The called operation.
    pub operation: NameId,
    /// Approximate calls per execution of the caller in both periods.
    pub calls: [f64; 2],
}

/// The kind of change at a call site.
#[derive(Clone, Debug, PartialEq)]
pub enum EvidenceKind {
    /// The node's own time, with means in nanoseconds.
    Own,
    /// Transfer time of the call and its response, with means in nanoseconds.
    Network,
    /// The operation's calls, with the shares of its executions that have them.
    Calls(Vec<CallChange>),
    /// The share of the operation's executions that fail although none of their calls does.
    Failures,
}

/// What changed at a call site.
#[derive(Clone, Debug, PartialEq)]
pub struct SiteEvidence {
    /// The call site.
    pub site: SiteKey,
    /// The kind of change.
    pub kind: EvidenceKind,
    /// Whether the evidence covers all operations of the node, or of the edge, together.
    pub is_pooled: bool,
    /// Values in both periods: a mean in nanoseconds, or a share from 0 to 1.
    pub values: [f64; 2],
    /// For own time, the resource that changed most, with means in nanoseconds; `None` if resources
    /// were not recorded in both periods.
    pub resource: Option<(StepResource, [f64; 2])>,
    /// Number of executions in both periods.
    pub executions: [f64; 2],
    /// The change's own contribution to the change of the mean response time of all requests, in
    /// nanoseconds; 0 if the change is one of a share.
    pub of_mean: f64,
    /// Weight of the evidence: the share of the mean response time, or of the requests, that the
    /// change affects, times the logarithm of the ratio of the change.
    pub weight: f64,
    /// Probability of a change of at least this size, if nothing changed.
    pub p_value: f64,
    /// The p-value adjusted for all tests of the comparison.
    pub adjusted: f64,
    /// Whether the change is more than chance explains. Unsure evidence is only reported in
    /// addition to sure evidence.
    pub is_sure: bool,
}

impl SiteEvidence {
    /// Direction of the change.
    pub fn direction(&self) -> ChangeDirection {
        match self.kind {
            EvidenceKind::Calls(_) => ChangeDirection::Other,
            _ if self.values[1] > self.values[0] => ChangeDirection::Worse,
            _ => ChangeDirection::Better,
        }
    }

    /// Whether the change is large enough to matter, if the mean response time of all requests is
    /// at least `response` nanoseconds in both periods.
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

    /// Ratio of a change of a time, as a natural logarithm. Positive for an increase.
    pub(super) fn ln_ratio(&self) -> f64 {
        let [before, after] = self.values.map(|value| value.max(MIN_RATIO_NS));
        (after / before).ln()
    }
}
