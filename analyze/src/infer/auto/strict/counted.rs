//! Call plans from frequencies: the calls that requests can make, by how often each kind of call
//! occurs. If all requests of a kind make the same calls, each once, a kind of call is as frequent
//! as the kinds of requests that make it, taken together. Counts leave several plans, and do not
//! show the order within a request. Responses show which of the plans is true.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::infer::auto::service::Service;
use crate::infer::span::NodeSpan;
use crate::tuning::auto::search::strict::{COUNTED_PER_EXCEPTION, MAX_COUNTED, MAX_COUNTED_KINDS};

/// For each kind of request the kinds of the calls that such requests mostly have, in their order.
pub(in crate::infer::auto) type CallPlans = FxHashMap<u32, Vec<u32>>;

/// All plans that the counts permit; empty if they permit none, or too many.
pub(super) fn plans(service: &Service) -> Vec<CallPlans> {
    let [requests, calls] = [&service.requests, &service.calls].map(|spans| counts(spans));
    let (rare, requests): (Vec<_>, Vec<_>) =
        requests.into_iter().partition(|(_, count)| is_rare(*count, service.requests.len()));
    // Calls at the beginning of a connection.
    let calls = calls.into_iter().filter(|(_, count)| !is_rare(*count, service.calls.len()));
    let calls: Vec<(u32, usize)> = calls.collect();
    if requests.len().max(calls.len()) > MAX_COUNTED_KINDS {
        return Vec::new();
    }
    // The calls of each kind of request.
    let mut all: Vec<Vec<Vec<u32>>> = vec![vec![Vec::new(); requests.len()]];
    for (kind, count) in calls {
        let had: Vec<u32> = (1..1_u32 << requests.len())
            .filter(|had| {
                is_about(count, selected_kinds(&requests, *had).map(|(_, count)| *count).sum())
            })
            .collect();
        let with = |plans: &Vec<Vec<u32>>, had: u32| {
            let with = |(at, plan): (usize, &Vec<u32>)| match had >> at & 1 {
                1 => with_at_each_place(plan, kind),
                _ => vec![plan.clone()],
            };
            product(plans.iter().enumerate().map(with).collect())
        };
        // Plans are counted before any is built, since each kind multiplies their number.
        let places = |plans: &Vec<Vec<u32>>, had: u32| -> usize {
            let places = plans.iter().enumerate().filter(|(at, _)| had >> at & 1 == 1);
            places.map(|(_, plan)| plan.len() + 1).fold(1, usize::saturating_mul)
        };
        let orders = all.iter().flat_map(|plans| had.iter().map(|had| places(plans, *had)));
        if orders.fold(0, usize::saturating_add) > MAX_COUNTED {
            return Vec::new();
        }
        all = all.iter().flat_map(|plans| had.iter().flat_map(|had| with(plans, *had))).collect();
    }
    let kinds = || requests.iter().chain(&rare).map(|(kind, _)| *kind);
    let with_rare = |plans: Vec<Vec<u32>>| plans.into_iter().chain(rare.iter().map(|_| Vec::new()));
    all.into_iter().map(|plans| kinds().zip(with_rare(plans)).collect()).collect()
}

/// Returns whether `count` out of `all` spans is so few that they may belong to the beginnings of
/// connections.
pub(super) fn is_rare(count: usize, all: usize) -> bool {
    count * COUNTED_PER_EXCEPTION <= all
}

/// Number of spans by kind.
pub(super) fn counts(spans: &[NodeSpan]) -> BTreeMap<u32, usize> {
    let mut counts = BTreeMap::new();
    spans.iter().for_each(|span| *counts.entry(span.kind).or_default() += 1);
    counts
}

/// The kinds of requests whose bits are set in `had`, with their numbers.
fn selected_kinds(requests: &[(u32, usize)], had: u32) -> impl Iterator<Item = &(u32, usize)> {
    requests.iter().enumerate().filter(move |(at, _)| had >> at & 1 == 1).map(|(_, of)| of)
}

/// Returns whether calls are as many as requests, except for some that are cut off or fail.
fn is_about(calls: usize, requests: usize) -> bool {
    calls.abs_diff(requests) * COUNTED_PER_EXCEPTION <= requests
}

/// A plan with a further kind inserted at each of its places.
fn with_at_each_place(plan: &[u32], kind: u32) -> Vec<Vec<u32>> {
    let with = |at: usize| {
        let mut plan = plan.to_vec();
        plan.insert(at, kind);
        plan
    };
    (0..=plan.len()).map(with).collect()
}

/// The Cartesian product: all rows with one element of each list.
fn product(of: Vec<Vec<Vec<u32>>>) -> Vec<Vec<Vec<u32>>> {
    let with = |rows: Vec<Vec<Vec<u32>>>, next: Vec<Vec<u32>>| {
        let with = |row: Vec<Vec<u32>>| {
            let with = move |plan: &Vec<u32>| [row.as_slice(), std::slice::from_ref(plan)].concat();
            next.iter().map(with).collect::<Vec<_>>()
        };
        rows.into_iter().flat_map(with).collect()
    };
    of.into_iter().fold(vec![Vec::new()], with)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All plans that these numbers of requests and calls by kind permit.
    fn plans_of_counts(requests: &[(u32, usize)], calls: &[(u32, usize)]) -> Vec<CallPlans> {
        let spans = |counts: &[(u32, usize)]| {
            let of = |(kind, count): &(u32, usize)| {
                std::iter::repeat_n(NodeSpan { begin: 0, end: 1, kind: *kind }, *count)
            };
            counts.iter().flat_map(of).collect()
        };
        plans(&Service { requests: spans(requests), calls: spans(calls), ..Service::default() })
    }

    fn plan(of: &[(u32, &[u32])]) -> CallPlans {
        of.iter().map(|(kind, calls)| (*kind, calls.to_vec())).collect()
    }

    #[test]
    fn all_plans_that_counts_permit_are_listed_with_all_orders() {
        let both = plans_of_counts(&[(8, 100)], &[(1, 100), (2, 99)]);
        assert_eq!(both, [plan(&[(8, &[2, 1])]), plan(&[(8, &[1, 2])])]);
        // 300 is the number of requests of both kinds.
        let by_number = plans_of_counts(&[(8, 100), (9, 200)], &[(1, 300), (2, 200)]);
        let orders: [&[u32]; 2] = [&[2, 1], &[1, 2]];
        assert_eq!(by_number, orders.map(|of| plan(&[(8, &[1]), (9, of)])));
        // Each of three belongs to one kind or the other: 6 orders of all, or 2 of two of them.
        assert_eq!(
            plans_of_counts(&[(8, 99), (9, 100)], &[(1, 100), (2, 100), (3, 100)]).len(),
            24
        );
    }

    #[test]
    fn rare_calls_are_ignored() {
        let rare = plans_of_counts(&[(7, 1), (8, 100)], &[(1, 100), (2, 2)]);
        assert_eq!(rare, [plan(&[(7, &[]), (8, &[1])])]);
    }

    #[test]
    fn counts_that_fit_nothing_permit_no_plan() {
        assert_eq!(plans_of_counts(&[(8, 100)], &[(1, 100), (2, 40)]), []);
        assert_eq!(plans_of_counts(&[(8, 100)], &[(1, 200)]), [], "two of a kind");
        let many = |count: u32| (0..count).map(|kind| (kind, 100)).collect::<Vec<_>>();
        assert_eq!(plans_of_counts(&[(8, 100)], &many(6)), [], "720 orders");
        let all = [(70, 800), (71, 800), (72, 800)];
        assert_eq!(plans_of_counts(&many(8), &all), [], "6 to the eighth orders");
    }
}
