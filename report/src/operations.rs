//! The operations of all patterns: how often each was called, and how many of its calls failed. An
//! operation is what a message requests from its receiver. An operation at the start of paths is
//! separate from the same one within paths, since users see the former.

use analyze::paths::{CallTree, Hop, PathPattern};
use rustc_hash::FxHashMap;

/// An operation, as its hop names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PatternOperation<'a> {
    /// The name of the operation.
    pub(crate) name: &'a str,
    /// The node that receives the request.
    pub(crate) node: &'a str,
    /// Whether paths begin with the operation.
    pub(crate) is_root: bool,
}

/// How often an operation was called and the outcomes of its calls. All numbers are expected
/// numbers of real calls.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct CallCounts {
    /// Expected number of calls.
    pub(crate) calls: f64,
    /// Number of calls with a known outcome.
    pub(crate) answered: f64,
    /// Number of calls that failed.
    pub(crate) errors: f64,
}

impl CallCounts {
    /// The share of failed calls among the calls with a known outcome.
    pub(crate) fn error_share(&self) -> Option<f64> {
        (self.answered > 0.0).then(|| self.errors / self.answered)
    }

    /// Adds the counts of `other`.
    pub(crate) fn add(&mut self, other: CallCounts) {
        self.calls += other.calls;
        self.answered += other.answered;
        self.errors += other.errors;
    }
}

/// The operations of a report.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct OperationCounts<'a> {
    /// Operations, the ones with the most errors first; then the ones that paths begin with, and
    /// then the ones with the most calls.
    pub(crate) rows: Vec<(PatternOperation<'a>, CallCounts)>,
}

/// A call of a pattern with a known operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct NamedCall<'a> {
    pub(crate) operation: PatternOperation<'a>,
    /// The hop of the request.
    pub(crate) request: usize,
    /// The hop of the response.
    pub(crate) response: Option<usize>,
}

/// The calls of a pattern with known operations.
pub(crate) fn named_calls(pattern: &PathPattern) -> Vec<NamedCall<'_>> {
    let hops = &pattern.hops;
    if hops.iter().all(|hop| hop.operation.is_none()) {
        return Vec::new();
    }
    let named = |call: analyze::paths::PathCall| {
        let hop: &Hop = hops.get(call.request)?;
        let name = hop.operation.as_deref()?;
        let operation = PatternOperation { name, node: &hop.dst, is_root: call.request == 0 };
        Some(NamedCall { operation, request: call.request, response: call.response })
    };
    CallTree::from_hops(hops).calls.into_iter().filter_map(named).collect()
}

impl<'a> OperationCounts<'a> {
    /// Sums up the operations of `patterns`.
    pub(crate) fn from_patterns(patterns: &'a [PathPattern]) -> OperationCounts<'a> {
        let mut sums: FxHashMap<PatternOperation<'a>, CallCounts> = FxHashMap::default();
        for pattern in patterns {
            for call in named_calls(pattern) {
                let outcomes = call.response.and_then(|hop| pattern.hops[hop].outcomes);
                let of_each = pattern.expected / pattern.count.max(1) as f64;
                let answered = outcomes.map_or(0.0, |of| of.answers as f64 * of_each);
                let errors = outcomes.map_or(0.0, |of| of.error_share * answered);
                let calls = CallCounts { calls: pattern.expected, answered, errors };
                sums.entry(call.operation).or_default().add(calls);
            }
        }
        let mut rows: Vec<(PatternOperation<'a>, CallCounts)> = sums.into_iter().collect();
        rows.sort_by(|(one, first), (other, second)| {
            (second.errors.total_cmp(&first.errors))
                .then(other.is_root.cmp(&one.is_root))
                .then(second.calls.total_cmp(&first.calls))
                .then((one.node, one.name).cmp(&(other.node, other.name)))
        });
        OperationCounts { rows }
    }
}

#[cfg(test)]
mod tests {
    use analyze::paths::CallOutcomes;

    use super::*;
    use crate::sample_reports;

    fn rows<'a>(operations: &'a OperationCounts<'a>) -> Vec<(&'a str, &'a str, bool, [f64; 3])> {
        let row = |(of, calls): &'a (PatternOperation<'a>, CallCounts)| {
            let numbers = [calls.calls, calls.answered, calls.errors];
            (of.node, of.name, of.is_root, numbers.map(|number| (number * 1e3).round() / 1e3))
        };
        operations.rows.iter().map(row).collect()
    }

    #[test]
    fn calls_are_counted_by_operation_and_errors_by_response() {
        let patterns = sample_reports::patterns_with_operations();
        let operations = OperationCounts::from_patterns(&patterns);
        let rows = rows(&operations);
        assert_eq!(
            rows,
            [
                ("redis-server", "GET", false, [250.0, 225.0, 54.0]),
                ("nginx", "GET /cart/{}", true, [200.0, 200.0, 51.0]),
                ("nginx", "GET /", true, [50.0, 50.0, 0.0]),
                ("app.py", "GET /cart/{}", false, [200.0, 0.0, 0.0]),
            ]
        );
        let shares: Vec<Option<f64>> =
            operations.rows.iter().map(|(_, calls)| calls.error_share()).collect();
        assert_eq!(shares, [Some(0.24), Some(0.255), Some(0.0), None]);
    }

    #[test]
    fn messages_without_operations_are_not_counted() {
        let mut patterns = sample_reports::small_system();
        assert!(OperationCounts::from_patterns(&patterns).rows.is_empty());
        // A response alone is not a call.
        patterns[0].hops[5].outcomes =
            Some(CallOutcomes { answers: 3, errors: 1, error_share: 0.3 });
        assert!(OperationCounts::from_patterns(&patterns).rows.is_empty());
    }
}
