//! Warnings about links: it may be ambiguous which messages are of one call, and whether the calls
//! of a service are for its requests at all. Each warning reduces the probability of links and is
//! recorded for the whole analysis.

use message_trace::{MessageId, MessageTrace};
use rustc_hash::FxHashMap;

use super::assignment::Assignment;
use super::heard_last;
use super::service::{RequestId, Service};
use crate::calls::Calls;
use crate::naming::Naming;
use crate::tuning::auto::search::doubted::{
    AMBIGUOUS_BELOW, AMBIGUOUS_SHARE, MARGIN_SHARE, MAX_AMBIGUITY,
};
use crate::warnings::{self, WarningCause, WarningCounts};

/// Discounts the parents of a message that a service sent, as far as it is ambiguous which messages
/// are of one call, or whether the service's calls are for its requests at all (`of_service` is the
/// share by which the latter reduces all probabilities). Returns the parents with their lower
/// probabilities, and the probability that the message has no parent.
pub(super) fn discount_ambiguous_parents(
    calls: &Calls,
    message: MessageId,
    parents: &[(MessageId, f64)],
    spontaneous: f64,
    of_service: f64,
) -> (Vec<(MessageId, f64)>, f64) {
    let of_call = |message: MessageId| calls.mispairing_probability(calls.call_of_message(message));
    let own = of_call(message).max(of_service);
    let most = max_ambiguity(parents, spontaneous);
    let mut left = spontaneous;
    let parents = parents.iter().map(|(parent, probability)| {
        let discount = own.max(of_call(*parent)).min(most);
        left += discount * probability;
        (*parent, (1.0 - discount) * probability)
    });
    let parents = parents.collect();
    (parents, left)
}

/// Largest share that a discount may take from each of these parents, so that the likeliest parent
/// stays likelier than no parent, if it is likelier now. If there are several candidate parents,
/// the sum of their discounts soon exceeds the probability of a single one.
fn max_ambiguity(parents: &[(MessageId, f64)], spontaneous: f64) -> f64 {
    let likeliest = parents.iter().map(|(_, probability)| *probability).fold(0.0, f64::max);
    let all: f64 = parents.iter().map(|(_, probability)| probability).sum();
    if likeliest <= spontaneous {
        return MAX_AMBIGUITY;
    }
    (MARGIN_SHARE * (likeliest - spontaneous) / (likeliest + all)).min(MAX_AMBIGUITY)
}

/// Records how many calls of a service fit none of its requests, fit another request than the
/// assigned one, or have an ambiguous request. Returns the share by which the first two reduce the
/// probability of its links.
pub(super) fn warn_of_unmatched_calls(
    warnings: &mut WarningCounts,
    service: &Service,
    found: &Assignment,
    name: &str,
) -> f64 {
    if service.one_way || service.calls.is_empty() {
        return 0.0;
    }
    let contradicted =
        heard_last::count_contradicted_calls(service, found).map_or(0.0, |[others, all]| {
            warnings.add_calls(WarningCause::AnsweredOtherwise, name, others, all);
            others as f64 / all as f64
        });
    let guessed = count_ambiguous_calls(found) as u64;
    if guessed as f64 >= AMBIGUOUS_SHARE * service.calls.len() as f64 {
        warnings.add_calls(WarningCause::Guessed, name, guessed, service.calls.len() as u64);
    }
    let (unfit, all) = (service.unmatched_calls() as u64, service.calls.len() as u64);
    warnings.add_calls(WarningCause::FitsNoRequest, name, unfit, all);
    let unfit = if warnings::is_significant(unfit, all) { unfit as f64 / all as f64 } else { 0.0 };
    unfit.max(contradicted)
}

/// Number of calls with a likeliest request that is hardly likelier than others. Likely background
/// calls are not counted.
pub(super) fn count_ambiguous_calls(found: &Assignment) -> usize {
    let is_guessed = |shares: &&Vec<(Option<RequestId>, f64)>| {
        let likeliest = shares.iter().max_by(|one, other| one.1.total_cmp(&other.1));
        likeliest.is_some_and(|(request, share)| request.is_some() && *share < AMBIGUOUS_BELOW)
    };
    found.shares.iter().filter(is_guessed).count()
}

/// Records the pairs of nodes with calls that share connections.
pub(super) fn warn_of_shared_connections(
    warnings: &mut WarningCounts,
    trace: &MessageTrace,
    naming: &Naming,
    calls: &Calls,
) {
    let mut seen: FxHashMap<u32, [u64; 2]> = FxHashMap::default();
    for call in calls.iter() {
        let Some(row) = calls.request(call) else { continue };
        let [doubtful, all] = seen.entry(naming.hop(row)).or_default();
        *doubtful +=
            u64::from(calls.mispairing_probability(call) > 0.0 && trace.call_number(row).is_none());
        *all += 1;
    }
    for (hop, [doubtful, all]) in seen.into_iter().filter(|(_, [doubtful, _])| *doubtful > 0) {
        let hop = naming.hop_name(hop);
        let ends = format!("{} → {}", naming.label_text(hop.src), naming.label_text(hop.dst));
        warnings.add_calls(WarningCause::SharedConnection, &ends, doubtful, all);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::infer::auto::service::NodeSpan;

    #[test]
    fn the_likeliest_parent_stays_likelier_than_none() {
        for (parents, spontaneous) in [([(1, 0.55), (2, 0.45)], 0.0), ([(1, 0.4), (2, 0.35)], 0.25)]
        {
            let parents = parents.map(|(row, share)| (MessageId::from_index(row), share));
            let discount = max_ambiguity(&parents, spontaneous);
            let all: f64 = parents.iter().map(|(_, probability)| probability).sum();
            assert!(
                discount > 0.0 && (1.0 - discount) * parents[0].1 > spontaneous + discount * all,
                "{discount}"
            );
        }
        // A single parent is discounted as before, and there is nothing to keep if no parent is
        // likelier.
        let single = |share| [(MessageId::from_index(1), share)];
        assert!((max_ambiguity(&single(1.0), 0.0) - 0.45).abs() < 1e-9);
        assert!((max_ambiguity(&single(0.3), 0.7) - MAX_AMBIGUITY).abs() < 1e-9);
    }

    #[test]
    fn mostly_ambiguous_calls_make_a_warning() {
        let [first, second] = [1, 2].map(|request| Some(RequestId::from_index(request)));
        let guess = vec![(first, 0.6), (second, 0.4)];
        let found_warnings = |guesses: usize, other: Vec<(Option<RequestId>, f64)>| {
            let calls = vec![NodeSpan { begin: 10, end: 20, kind: 1 }; 40];
            let requests = vec![NodeSpan { begin: 0, end: 100, kind: 9 }];
            let service = Service { requests, calls, ..Service::default() };
            let mut shares = vec![guess.clone(); guesses];
            shares.resize(40, other);
            let found = Assignment { request_of_call: vec![first; 40], shares };
            let mut warnings = WarningCounts::default();
            assert!(warn_of_unmatched_calls(&mut warnings, &service, &found, "web") < 1e-9);
            warnings
                .significant_warnings()
                .iter()
                .map(|warning| (warning.cause, warning.calls, warning.of))
                .collect()
        };
        let found_warnings: [Vec<_>; 3] = [
            found_warnings(30, vec![(first, 0.8), (second, 0.2)]),
            found_warnings(15, vec![(first, 0.8), (second, 0.2)]),
            found_warnings(15, vec![(None, 0.6), (second, 0.4)]),
        ];
        assert_eq!(found_warnings, [vec![(WarningCause::Guessed, 30, 40)], vec![], vec![]]);
    }
}
