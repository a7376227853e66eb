//! Call site: statistics of an operation as it is called from one other operation.

use std::collections::hash_map::Entry;

use request_flow::{NameId, StepResource};
use rustc_hash::FxHashMap;

use super::call_pattern::CallPattern;
use super::histogram::SiteHistogram;
use crate::period::PeriodSide;
use crate::tuning::{MAX_PATTERNS, WINDOWS};

/// Key of a call site: calling node and operation, called node and operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SiteKey {
    /// The calling node.
    pub caller: NameId,
    /// The calling operation.
    pub calling: NameId,
    /// The called node.
    pub node: NameId,
    /// The called operation.
    pub operation: NameId,
}

impl SiteKey {
    /// Whether the call goes from one node to another.
    pub fn is_between_nodes(&self) -> bool {
        self.caller != self.node
    }
}

/// Weights of executions, by window of each period.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ExecutionWeights(pub [[f64; WINDOWS]; 2]);

impl ExecutionWeights {
    /// Adds an execution in a window of a period, with its probability `weight`.
    pub(super) fn add(&mut self, side: PeriodSide, window: usize, weight: f64) {
        if let Some(count) = self.0[side as usize].get_mut(window) {
            *count += weight;
        }
    }

    fn merge(&mut self, other: &ExecutionWeights) {
        for (sums, of) in self.0.iter_mut().zip(&other.0) {
            sums.iter_mut().zip(of).for_each(|(sum, count)| *sum += count);
        }
    }

    /// Sum over a period.
    pub fn period_sum(&self, side: usize) -> f64 {
        self.0[side].iter().sum()
    }
}

/// A call site in both periods.
#[derive(Clone, Debug, Default)]
pub struct CallSite {
    /// The node's own time.
    pub own: SiteHistogram,
    /// Transfer time of the call and its response.
    pub network: SiteHistogram,
    /// For each period the sums of own and of transfer time on the critical path, in nanoseconds.
    pub critical: [[f64; 2]; 2],
    /// For each period, the weight of the executions with known resources, and the sums of their
    /// times in nanoseconds, in the order of [`StepResource::ALL`].
    pub resources: [(f64, [f64; StepResource::ALL.len()]); 2],
    /// Weights of all executions.
    pub all: ExecutionWeights,
    /// Executions without failed calls; all executions if failures are not recorded.
    pub executions: ExecutionWeights,
    /// The failures among `executions`.
    pub failures: ExecutionWeights,
    /// The executions with a known pattern, by their pattern.
    pub patterns: FxHashMap<CallPattern, ExecutionWeights>,
    /// Whether there are more patterns than the limit. The kept ones then depend on the order of
    /// arrival, so that patterns cannot be compared.
    pub has_more_patterns: bool,
}

impl CallSite {
    /// The weights of a pattern, which is added if it is new; `None` beyond the limit of patterns.
    pub(super) fn pattern_weights_mut(
        &mut self,
        pattern: CallPattern,
    ) -> Option<&mut ExecutionWeights> {
        let is_full = self.patterns.len() >= MAX_PATTERNS;
        match self.patterns.entry(pattern) {
            Entry::Occupied(known) => Some(known.into_mut()),
            Entry::Vacant(_) if is_full => {
                self.has_more_patterns = true;
                None
            }
            Entry::Vacant(new) => Some(new.insert(ExecutionWeights::default())),
        }
    }

    /// Adds the statistics from another part of the periods; `number` maps its names to this
    /// collector's.
    pub(super) fn merge(&mut self, other: CallSite, number: impl Fn(NameId) -> NameId) {
        self.own.merge(&other.own);
        self.network.merge(&other.network);
        for (sums, of) in self.critical.iter_mut().zip(&other.critical) {
            sums.iter_mut().zip(of).for_each(|(sum, time)| *sum += time);
        }
        for (sums, of) in self.resources.iter_mut().zip(&other.resources) {
            sums.0 += of.0;
            sums.1.iter_mut().zip(of.1).for_each(|(sum, time)| *sum += time);
        }
        self.all.merge(&other.all);
        self.executions.merge(&other.executions);
        self.failures.merge(&other.failures);
        self.has_more_patterns |= other.has_more_patterns;
        let mut patterns: Vec<(CallPattern, ExecutionWeights)> = other
            .patterns
            .into_iter()
            .map(|(pattern, counts)| {
                let mut calls = pattern.0;
                for call in &mut calls {
                    (call.node, call.operation) = (number(call.node), number(call.operation));
                }
                calls.sort_unstable();
                (CallPattern(calls), counts)
            })
            .collect();
        patterns.sort_unstable_by(|one, other| one.0.cmp(&other.0));
        for (pattern, counts) in patterns {
            self.pattern_weights_mut(pattern).into_iter().for_each(|sums| sums.merge(&counts));
        }
    }
}

/// All call sites, by their keys.
pub type CallSites = FxHashMap<SiteKey, CallSite>;
