//! Rare words that a call shares with requests that were open when it was made: with the message of
//! the request, or with its response. A word that a single open request has decides the call; a
//! word that several open requests have is weighed with the result of the other evidence. A call
//! that is nearly certain by its word is fixed before the search, which attributes the other calls.
//! How reliable words are is learned for each kind of call ([`crate::infer::words`]): matches with
//! requests that are open at the call are compared with matches by chance, with requests that are
//! open at a later call, after all of the former have ended.

use std::sync::Arc;

use message_trace::{MessageTrace, WordHash};
use rustc_hash::{FxHashMap, FxHashSet};

use super::assignment::Assignment;
use super::holders;
use super::service::{MadeCallId, RequestId, Service};
use crate::calls::{CallId, Calls};
use crate::evidence::Evidence;
use crate::infer::call_links::WorkItem;
use crate::infer::words::{
    MatchCase, MatchCounts, RarityLevel, WordClaim, received_words, sent_words,
};
use crate::naming::Naming;
use crate::tuning::words::{EXAMINED_REQUESTS, RARITY_LEVELS};

/// The words of the requests of a service, and when these are open.
struct RequestWords<'a> {
    service: &'a Service,
    /// The requests with each word, by time.
    requests: FxHashMap<WordHash, Vec<RequestId>>,
    /// Number of requests and calls with each word.
    counts: FxHashMap<WordHash, u32>,
    /// The times at which requests were closed, in order.
    closed: Vec<i64>,
    /// For each request the latest time at which it or an earlier request was closed.
    closed_until: Vec<i64>,
}

/// The matches of the words of one call with the words of requests, by the rarity of the word.
#[derive(Default)]
struct CallMatches {
    /// Number of requests that are open at the call.
    open: u32,
    /// The open requests that share a word with the call.
    requests: [Vec<RequestId>; RARITY_LEVELS],
    /// Whether any request that is open at another time, and so not the cause, shares a word with
    /// the call.
    by_chance: [bool; RARITY_LEVELS],
}

impl CallMatches {
    /// Whether there are matches of one level of rarity.
    fn case(&self, level: usize) -> MatchCase {
        MatchCase {
            is_matched: !self.requests[level].is_empty(),
            is_matched_by_chance: self.by_chance[level],
        }
    }
}

impl Service {
    /// Finds the requests that share rare words with calls. Calls in `recorded`, whose requests
    /// recorded hand-offs show, are left out.
    pub(super) fn find_by_words(
        &mut self,
        trace: &MessageTrace,
        naming: &Naming,
        calls: &Calls,
        recorded: &FxHashSet<CallId>,
    ) {
        let is_empty = self.requests.is_empty() || self.calls.is_empty();
        if !trace.has_words() || !self.evidence.contains(Evidence::Words) || is_empty {
            return;
        }
        if !holders::bound_requests(self).is_empty() {
            // One thread for each request is exact.
            return;
        }
        let words_of_calls: Vec<Vec<WordHash>> =
            self.made_calls.iter().map(|call| words_of_call(trace, calls, *call)).collect();
        let requests = RequestWords::new(self, trace, calls, &words_of_calls);
        let mut counts: FxHashMap<Option<u32>, [MatchCounts; RARITY_LEVELS]> = FxHashMap::default();
        let matches: Vec<CallMatches> = MadeCallId::ids()
            .zip(&words_of_calls)
            .map(|(call, words)| requests.matches(call, words))
            .collect();
        let hop = |made: CallId| calls.request(made).map(|row| naming.hop(row));
        for (made, matches) in self.made_calls.iter().zip(&matches) {
            let counts = counts.entry(hop(*made)).or_default();
            (0..).zip(counts).for_each(|(level, counts)| counts.add(matches.case(level)));
        }
        let mut found: Vec<(CallId, WordClaim)> = Vec::new();
        for (made, matches) in self.made_calls.iter().zip(&matches) {
            let Some(counts) = counts.get(&hop(*made)).filter(|_| !recorded.contains(made)) else {
                continue;
            };
            let claims = RarityLevel::all().map(RarityLevel::index).filter_map(|level| {
                let requests = matches.requests[level].iter();
                let requests: Vec<WorkItem> =
                    requests.map(|request| self.request_calls[request.index()]).collect();
                let known = counts[level].reliability_without(matches.case(level))?;
                let claim = WordClaim {
                    requests,
                    open: matches.open,
                    at_least: known.at_least,
                    expected: known.expected,
                };
                Some(claim).filter(|claim| !claim.requests.is_empty())
            });
            let best =
                claims.max_by(|one, other| one.information().total_cmp(&other.information()));
            found.extend(best.map(|claim| (*made, claim)));
        }
        found.retain(|(made, _)| !self.traced_for.contains_key(made));
        for (made, claim) in &found {
            if let Some(request) = claim.given() {
                self.attributed_to.entry(*made).or_insert(request);
            }
        }
        self.word_claims.extend(found.into_iter().map(|(made, claim)| (made, Arc::new(claim))));
    }

    /// The calls with requests that words decide, as calls of the trace.
    pub(super) fn decided_by_words(&self) -> impl Iterator<Item = CallId> + '_ {
        let decided = self.word_claims.iter().filter(|(_, claim)| claim.decided().is_some());
        decided.map(|(made, _)| *made)
    }
}

/// Updates an assignment by the words of calls. The other calls keep the requests that they have
/// without words.
pub(super) fn update_assignment(service: &Service, found: &mut Assignment) {
    if service.word_claims.is_empty() {
        return;
    }
    let places: FxHashMap<WorkItem, RequestId> =
        service.request_calls.iter().copied().zip(RequestId::ids()).collect();
    let item_of = |request: RequestId| service.request_calls.get(request.index()).copied();
    let calls = service.made_calls.iter().zip(&mut found.shares).zip(&mut found.request_of_call);
    for ((made, shares), likeliest) in calls {
        let Some(claim) = service.word_claims.get(made) else { continue };
        let matched: Vec<RequestId> =
            claim.requests.iter().filter_map(|item| places.get(item).copied()).collect();
        claim.update(shares, &matched, item_of);
        let best = shares.iter().max_by(|one, other| one.1.total_cmp(&other.1));
        *likeliest = best.and_then(|(request, _)| *request);
    }
}

impl<'a> RequestWords<'a> {
    fn new(
        service: &'a Service,
        trace: &MessageTrace,
        calls: &Calls,
        words_of_calls: &[Vec<WordHash>],
    ) -> RequestWords<'a> {
        let mut requests: FxHashMap<WordHash, Vec<RequestId>> = FxHashMap::default();
        for (request, item) in RequestId::ids().zip(&service.request_calls) {
            for word in words_of_request(trace, calls, *item) {
                requests.entry(word).or_default().push(request);
            }
        }
        let mut counts: FxHashMap<WordHash, u32> =
            requests.iter().map(|(word, all)| (*word, all.len() as u32)).collect();
        for word in words_of_calls.iter().flatten() {
            counts.entry(*word).and_modify(|count| *count += 1);
        }
        let ids = RequestId::ids().take(service.requests.len());
        let closed: Vec<i64> = ids.map(|request| service.closed_at(request)).collect();
        let mut latest = i64::MIN;
        let closed_until = closed
            .iter()
            .map(|closed| {
                latest = latest.max(*closed);
                latest
            })
            .collect();
        let mut sorted = closed;
        sorted.sort_unstable();
        RequestWords { service, requests, counts, closed: sorted, closed_until }
    }

    /// The matches of the call, which has these words.
    fn matches(&self, call: MadeCallId, words: &[WordHash]) -> CallMatches {
        let time = self.service.calls[call.index()].begin;
        let elsewhere = self.time_of_others(call, time);
        let mut found = CallMatches { open: self.open_at(time), ..CallMatches::default() };
        let mut levels: FxHashMap<RequestId, RarityLevel> = FxHashMap::default();
        let mut others: FxHashMap<RequestId, RarityLevel> = FxHashMap::default();
        for word in words {
            let Some(requests) = self.requests.get(word) else { continue };
            let level = RarityLevel::of_count(self.counts.get(word).copied().unwrap_or(0));
            for (time, levels) in [(time, &mut levels), (elsewhere, &mut others)] {
                for request in self.open_requests(requests, time) {
                    let is_excluded = self.service.is_itself(request, call)
                        || self.service.are_of_two_traces(request, call);
                    if !is_excluded {
                        // The rarest word of each pair counts.
                        let known = levels.entry(request).or_insert(level);
                        *known = level.min(*known);
                    }
                }
            }
        }
        for (request, level) in levels {
            found.requests[level.index()].push(request);
        }
        found.requests.iter_mut().for_each(|requests| requests.sort_unstable());
        others.into_values().for_each(|level| found.by_chance[level.index()] = true);
        found
    }

    /// The requests among `requests`, which are in the order of time, that are open at `time`.
    fn open_requests(&self, requests: &[RequestId], time: i64) -> impl Iterator<Item = RequestId> {
        let service = self.service;
        let end = requests.partition_point(|of| service.requests[of.index()].begin <= time);
        let last = requests[..end].iter().rev().take(EXAMINED_REQUESTS).copied();
        last.filter(move |request| service.closed_at(*request) >= time)
    }

    /// Number of requests that are open at `time`.
    fn open_at(&self, time: i64) -> u32 {
        let begun = self.service.requests.partition_point(|request| request.begin <= time);
        (begun - self.closed.partition_point(|closed| *closed < time).min(begun)) as u32
    }

    /// The time of another call at which other requests are open than at `time`: of the first call
    /// after all requests that are open at `time` have ended or, if there is none, of the call that
    /// is half of all calls away from `call`.
    fn time_of_others(&self, call: MadeCallId, time: i64) -> i64 {
        let Service { requests, calls, .. } = self.service;
        let begun = requests.partition_point(|request| request.begin <= time);
        let closed = begun.checked_sub(1).map_or(time, |last| self.closed_until[last].max(time));
        let next = calls.partition_point(|call| call.begin <= closed);
        let half = (call.index() + calls.len() / 2) % calls.len();
        calls.get(next).unwrap_or(&calls[half]).begin
    }
}

/// The words of a request or delivery and of its response, as the service received and sent them.
fn words_of_request(trace: &MessageTrace, calls: &Calls, item: WorkItem) -> Vec<WordHash> {
    let (request, response) = (calls.request(item.call()), calls.response(item.call()));
    if item.is_delivery() {
        let row = response.or(request);
        return merged(row.map(|row| received_words(trace, row)), None);
    }
    merged(
        request.map(|row| received_words(trace, row)),
        response.map(|row| sent_words(trace, row)),
    )
}

/// The words of a call and of its response, as the service sent and received them.
fn words_of_call(trace: &MessageTrace, calls: &Calls, call: CallId) -> Vec<WordHash> {
    let (request, response) = (calls.request(call), calls.response(call));
    merged(
        request.map(|row| sent_words(trace, row)),
        response.map(|row| received_words(trace, row)),
    )
}

/// The words of both messages, each once.
fn merged(one: Option<&[WordHash]>, other: Option<&[WordHash]>) -> Vec<WordHash> {
    let mut words: Vec<WordHash> = [one, other].into_iter().flatten().flatten().copied().collect();
    words.sort_unstable();
    words.dedup();
    words
}
