//! The shares of links, requests and traces that are right.
//!
//! A link is right if the inferred parent of a call is the true one. A request is right if no link
//! to it is wrong: none of its calls was assigned to another request, and none of another request
//! to it. A trace, which is a root with all calls below it, is right if every request in it is.

use rustc_hash::FxHashSet;
use serde::Serialize;

use super::ambiguous_links;
use super::forest::find_roots;
use super::scored_calls::ScoredCalls;
use super::whole_share::share_of_whole;

/// Links, requests and traces that are right.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct LinkAccuracy {
    /// Calls that have a parent in the truth, without the calls of excluded callers.
    pub links: u64,
    /// The share of links with the true parent as the inferred one.
    pub link_accuracy: Option<f64>,
    /// Links with a caller that had more than one request open when it made the call.
    pub ambiguous_links: u64,
    /// The share of ambiguous links that is right.
    pub ambiguous_link_accuracy: Option<f64>,
    /// Calls that caused other calls.
    pub requests: u64,
    /// The share of requests with exactly their own calls.
    pub request_accuracy: Option<f64>,
    /// Roots with at least one link below them.
    pub traces: u64,
    /// The share of traces with exactly their own tree.
    pub trace_accuracy: Option<f64>,
    /// Of all traces of the truth, including unrecorded ones, the share that is complete and has
    /// exactly its own tree. `None` if the truth cannot contain others.
    pub trace_recall: Option<f64>,
}

/// The accuracy, and the roots of the traces that are wrong.
pub(super) fn measure_accuracy(scored: &ScoredCalls) -> (LinkAccuracy, Vec<u32>) {
    let roots = find_roots(&scored.true_parents());
    let root = |call: u32| roots[call as usize].unwrap_or(call);
    let ambiguous = ambiguous_links::find_ambiguous(scored);
    let (mut links, mut right) = (0, 0);
    let (mut ambiguous_count, mut ambiguous_right) = (0, 0);
    let (mut requests, mut wrong_requests) = (FxHashSet::default(), FxHashSet::default());
    let (mut traces, mut wrong_traces) = (FxHashSet::default(), FxHashSet::default());
    for (number, call, parent) in scored.scored_links() {
        let is_right = call.inferred == Some(parent);
        links += 1;
        right += usize::from(is_right);
        ambiguous_count += usize::from(ambiguous[number]);
        ambiguous_right += usize::from(ambiguous[number] && is_right);
        requests.insert(parent);
        traces.insert(root(number as u32));
        if !is_right {
            // The true parent misses the call, and the inferred parent has one call too many.
            wrong_requests.insert(parent);
            wrong_traces.insert(root(number as u32));
            if let Some(other) = call.inferred {
                wrong_requests.insert(other);
                wrong_traces.insert(root(other));
            }
        }
    }
    let right_requests = requests.difference(&wrong_requests).count();
    let mut wrong: Vec<u32> = traces.intersection(&wrong_traces).copied().collect();
    wrong.sort_unstable();
    let is_whole = |root: &u32| scored.whole.get(*root as usize).copied().unwrap_or(false);
    let found = traces.iter().filter(|root| is_whole(root) && !wrong_traces.contains(root)).count();
    let accuracy = LinkAccuracy {
        links: links as u64,
        link_accuracy: share_of_whole(right, links),
        ambiguous_links: ambiguous_count as u64,
        ambiguous_link_accuracy: share_of_whole(ambiguous_right, ambiguous_count),
        requests: requests.len() as u64,
        request_accuracy: share_of_whole(right_requests, requests.len()),
        traces: traces.len() as u64,
        trace_accuracy: share_of_whole(traces.len() - wrong.len(), traces.len()),
        trace_recall: scored.traces_in_truth.and_then(|all| share_of_whole(found, all as usize)),
    };
    (accuracy, wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two roots of two calls each, where the second call of the first is assigned to the second,
    /// and a root of one call that is right.
    fn scored() -> ScoredCalls {
        ScoredCalls::from_rows(&[
            ("c", "a", None, None, 1.0),       // 0
            ("a", "b", Some(0), Some(0), 0.9), // 1
            ("c", "a", None, None, 1.0),       // 2
            ("a", "d", Some(0), Some(2), 0.6), // 3: wrong
            ("a", "b", Some(2), Some(2), 0.9), // 4
            ("c", "a", None, None, 1.0),       // 5
            ("a", "b", Some(5), Some(5), 0.9), // 6
            ("b", "e", Some(6), Some(6), 0.9), // 7
        ])
    }

    #[test]
    fn a_wrong_link_spoils_both_requests_and_both_traces() {
        let (found, wrong) = measure_accuracy(&scored());
        assert_eq!((found.links, found.link_accuracy), (5, Some(0.8)));
        // Of the requests 0, 2, 5 and 6 the first two are wrong.
        assert_eq!((found.requests, found.request_accuracy), (4, Some(0.5)));
        assert_eq!((found.traces, found.trace_accuracy), (3, Some(1.0 / 3.0)));
        assert_eq!(wrong, [0, 2]);
    }

    #[test]
    fn an_excluded_caller_spoils_nothing_and_counts_for_nothing() {
        let mut scored = scored();
        scored.exclude_callers(&["a".into()]).unwrap();
        let (found, wrong) = measure_accuracy(&scored);
        assert_eq!((found.links, found.link_accuracy, found.traces), (1, Some(1.0), 1));
        assert_eq!((found.requests, found.trace_accuracy, wrong.len()), (1, Some(1.0), 0));
        let error = scored.exclude_callers(&["x".into()]).unwrap_err().to_string();
        assert!(error.contains("--exclude x") && error.contains("callers are a, b, c"), "{error}");
    }

    #[test]
    fn incomplete_traces_are_not_recalled() {
        let mut scored = scored();
        // Four traces in the truth, one of them not in the trace at all; at first, 5, which is
        // right, is complete.
        scored.traces_in_truth = Some(4);
        scored.whole = vec![true; 8];
        assert_eq!(measure_accuracy(&scored).0.trace_recall, Some(0.25));
        scored.whole[5] = false;
        assert_eq!(measure_accuracy(&scored).0.trace_recall, Some(0.0));
        scored.traces_in_truth = None;
        assert_eq!(measure_accuracy(&scored).0.trace_recall, None);
    }

    #[test]
    fn nothing_has_no_accuracy() {
        let (found, _) = measure_accuracy(&ScoredCalls::from_rows(&[("c", "a", None, None, 1.0)]));
        assert_eq!((found.links, found.link_accuracy, found.trace_accuracy), (0, None, None));
    }
}
