//! The operations of all patterns: how often each was asked for, and how many of its calls failed.
//! An operation is what a message asks for at the node that it goes to. One that begins paths is
//! told apart from the same one within paths, since users meet the former.

use analyze::paths::{CallTree, Hop, PathPattern};
use rustc_hash::FxHashMap;

/// An operation, by the words of its hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PatternOperation<'a> {
    /// What is asked for.
    pub(crate) name: &'a str,
    /// The node that is asked.
    pub(crate) node: &'a str,
    /// Whether paths begin with it.
    pub(crate) is_root: bool,
}

/// How often an operation was called and how its calls ended. All numbers are of calls that are
/// expected to be real.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct CallCounts {
    /// Number of calls.
    pub(crate) calls: f64,
    /// Number of these whose answer says how they ended.
    pub(crate) answered: f64,
    /// Number of these that failed.
    pub(crate) errors: f64,
}

impl CallCounts {
    /// The share of the calls that failed, of those whose answer says how they ended.
    pub(crate) fn error_share(&self) -> Option<f64> {
        (self.answered > 0.0).then(|| self.errors / self.answered)
    }

    /// Adds the calls of `other`.
    pub(crate) fn add(&mut self, other: CallCounts) {
        self.calls += other.calls;
        self.answered += other.answered;
        self.errors += other.errors;
    }
}

/// The operations of a report.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct OperationCounts<'a> {
    /// Operations, those with the most errors first; of as many, those that paths begin with, and
    /// then those with the most calls.
    pub(crate) rows: Vec<(PatternOperation<'a>, CallCounts)>,
}

/// A call of a pattern that says what it asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct NamedCall<'a> {
    pub(crate) operation: PatternOperation<'a>,
    /// The hop that asks.
    pub(crate) request: usize,
    /// The hop that answers.
    pub(crate) response: Option<usize>,
}

/// The calls of a pattern that say what they ask for.
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
    /// The operations of `patterns`.
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
    fn calls_are_counted_by_what_they_ask_for_and_errors_by_what_answers_them() {
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
    fn what_says_nothing_has_no_operation() {
        let mut patterns = sample_reports::small_system();
        assert!(OperationCounts::from_patterns(&patterns).rows.is_empty());
        // An answer alone is nothing that was asked for.
        patterns[0].hops[5].outcomes =
            Some(CallOutcomes { answers: 3, errors: 1, error_share: 0.3 });
        assert!(OperationCounts::from_patterns(&patterns).rows.is_empty());
    }
}
