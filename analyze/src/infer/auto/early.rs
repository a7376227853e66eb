//! Work that starts before the message that announces it. A receiver of one-way messages that
//! announce work may also look for work by itself, as a program does that reads a folder or a table
//! whenever it is awake. It then does work before the announcement arrives: the calls of that work
//! come before the message, and the message causes nothing when it arrives. Such a message is
//! treated as a request that began when the work began. The cause of the work is the request for
//! which the message itself was sent.

mod pairs;

use message_trace::{FROM_CONNECTING, MessageId, MessageTrace, NodeId};
use rustc_hash::{FxHashMap, FxHashSet};

use pairs::{WorkAnnouncement, WorkPairs, usual_delay};

use super::pool;
use super::service::{MadeCallId, OPEN, RequestId, Service};
use crate::calls::Calls;
use crate::infer::call_links::WorkItem;
use crate::links::Links;
use crate::tuning::auto::queues::early::{MESSAGES_PER_EXCEPTION, MIN_MESSAGES, OWN_WORK_SHARE};

/// Calls with their times in nanoseconds.
type TimedCalls = Vec<(i64, MadeCallId)>;

/// Times at which each thread received its requests, in order.
#[derive(Debug)]
pub(super) struct RequestArrivals(FxHashMap<(NodeId, i32), Vec<i64>>);

impl RequestArrivals {
    pub(super) fn from_trace(trace: &MessageTrace) -> RequestArrivals {
        let mut asked: FxHashMap<(NodeId, i32), Vec<i64>> = FxHashMap::default();
        for row in trace.ids().filter(|row| trace.direction(*row) == FROM_CONNECTING) {
            let message = trace.message(row);
            let known = message.dst_tid.zip(message.recv_last).filter(|_| !message.is_connect());
            if let Some((thread, time)) = known {
                asked.entry((message.dst, thread)).or_default().push(time);
            }
        }
        asked.values_mut().for_each(|times| times.sort_unstable());
        RequestArrivals(asked)
    }

    /// The time at which the sender of the message received its own request; `None` if that is not
    /// known, or if the receiver is on another host, since only work on the same host can be found
    /// before its announcement.
    fn sender_request_time(&self, trace: &MessageTrace, row: MessageId) -> Option<i64> {
        let message = trace.message(row);
        let host = |node: NodeId| trace.nodes.get(node).map(|node| &node.host);
        let (thread, sent) = message.src_tid.zip(message.send_first)?;
        let times = self
            .0
            .get(&(message.src, thread))
            .filter(|_| host(message.src) == host(message.dst))?;
        times.get(times.partition_point(|time| *time <= sent).checked_sub(1)?).copied()
    }
}

/// Moves the beginning of each request of `service` to the beginning of its work if the work began
/// before the message came. Returns the messages of these requests. `asked` is computed when it is
/// first needed.
pub(super) fn begin_with_work(
    service: &mut Service,
    trace: &MessageTrace,
    calls: &Calls,
    asked: &mut Option<RequestArrivals>,
) -> FxHashSet<MessageId> {
    let mut found = FxHashSet::default();
    // The kind and the request of each piece of work, the earliest time at which the work can have
    // been found, and the time at which it was found.
    let mut under_way: Vec<(u32, WorkItem, [i64; 2])> = Vec::new();
    for kind in kinds(service, calls) {
        let asked = asked.get_or_insert_with(|| RequestArrivals::from_trace(trace));
        let requests =
            RequestId::ids().zip(&service.requests).filter(|(_, span)| span.kind == kind);
        let places: Vec<RequestId> = requests.map(|(request, _)| request).collect();
        let row = |request: RequestId| {
            calls.request(service.request_calls[request.index()].requesting_call()?)
        };
        let announcements = places.iter().map(|request| {
            let begin = service.requests[request.index()].begin;
            let since = row(*request).and_then(|row| asked.sender_request_time(trace, row));
            WorkAnnouncement { begin, since: since.map_or(begin, |since| since.min(begin)) }
        });
        let announcements: Vec<WorkAnnouncement> = announcements.collect();
        let Some((work, pairs)) = find_work(service, &announcements) else { continue };
        found.extend(pairs.early.iter().filter_map(|(message, _)| row(places[*message])));
        for (message, piece) in pairs.after_message.iter().chain(&pairs.early) {
            let call = service.request_calls[places[*message].index()];
            let (time, begun) = work[*piece];
            under_way.push((kind, call, [announcements[*message].since, time]));
            service.attributed_to.insert(service.made_calls[begun.index()], call);
        }
        for (message, piece) in &pairs.early {
            let begin = work[*piece].0.saturating_sub(pairs.usual);
            service.requests[places[*message].index()].begin = begin;
        }
    }
    if !found.is_empty() {
        let mut order: Vec<u32> = (0..service.requests.len() as u32).collect();
        order.sort_by_key(|place| service.requests[*place as usize].begin);
        service.keep_requests(&order);
        service.rivals = rival_messages(service, under_way);
    }
    found
}

impl Service {
    /// Binds each call that was found to be early work to its request.
    pub(super) fn bind_early_work(&mut self) {
        if self.attributed_to.is_empty() {
            return;
        }
        self.bound_to.resize(self.calls.len(), None);
        let place: FxHashMap<WorkItem, RequestId> =
            self.request_calls.iter().copied().zip(RequestId::ids()).collect();
        for (bound, made) in self.bound_to.iter_mut().zip(&self.made_calls) {
            let request = self.attributed_to.get(made).and_then(|call| place.get(call));
            *bound = request.copied().or(*bound);
        }
    }
}

/// For each request, another request that may have caused its work instead, if any.
fn rival_messages(
    service: &Service,
    mut under_way: Vec<(u32, WorkItem, [i64; 2])>,
) -> Vec<Option<RequestId>> {
    let place: FxHashMap<WorkItem, RequestId> =
        service.request_calls.iter().copied().zip(RequestId::ids()).collect();
    let mut rivals = vec![None; service.requests.len()];
    under_way.sort_unstable_by_key(|(kind, _, [_, found])| (*kind, *found));
    for pair in under_way.windows(2) {
        let [(kind, one, [_, found]), (of, other, [since, _])] = pair else { continue };
        let Some((one, other)) = place.get(one).zip(place.get(other)) else { continue };
        if kind == of && since <= found {
            rivals[other.index()] = Some(*one);
            rivals[one.index()] = Some(*other);
        }
    }
    rivals
}

/// Lowers the share of each call's request by the part for which the request is ambiguous.
pub(super) fn calibrate_shares(service: &Service, shares: &mut [Vec<(Option<RequestId>, f64)>]) {
    if service.rivals.is_empty() {
        return;
    }
    for shares in shares {
        let Some((request, share)) = shares.iter_mut().find(|(_, share)| *share > OWN_WORK_SHARE)
        else {
            continue;
        };
        let rival = request.and_then(|request| service.rivals.get(request.index()).copied());
        let rival @ Some(_) = rival.flatten() else { continue };
        let left = *share - OWN_WORK_SHARE;
        *share = OWN_WORK_SHARE;
        match shares.iter_mut().find(|(request, _)| *request == rival) {
            Some((_, share)) => *share += left,
            None => shares.push((rival, left)),
        }
    }
}

/// The parents of a message, with the probability that it has no parent. A parent that arrived
/// after the message was sent cannot be its cause and is replaced by its own causes.
pub(super) fn links(
    trace: &MessageTrace,
    links: &Links,
    message: MessageId,
    parents: Vec<(MessageId, f64)>,
    mut spontaneous: f64,
) -> (Vec<(MessageId, f64)>, f64) {
    let came = |parent: MessageId| trace.recv_first(parent).or(trace.recv_last(parent));
    let is_later = |parent: MessageId| {
        came(parent).zip(trace.send_first(message)).is_some_and(|(came, sent)| came > sent)
    };
    let mut known: Vec<(MessageId, f64)> = Vec::new();
    let mut add = |parent: MessageId, probability: f64| match known
        .iter_mut()
        .find(|(of, _)| *of == parent)
    {
        Some((_, sum)) => *sum += probability,
        None => known.push((parent, probability)),
    };
    for (parent, probability) in parents {
        if !is_later(parent) {
            add(parent, probability);
            continue;
        }
        let mut left = probability;
        for (cause, share) in links.parents_here(parent) {
            if !is_later(cause) {
                add(cause, share * probability);
                left -= share * probability;
            }
        }
        spontaneous += left.max(0.0);
    }
    known.sort_by(|one, other| other.1.total_cmp(&one.1));
    (known, spontaneous)
}

/// The kinds of requests that are one-way messages to which an end was given nevertheless.
fn kinds(service: &Service, calls: &Calls) -> Vec<u32> {
    let mut counts: FxHashMap<u32, (usize, bool)> = FxHashMap::default();
    for (request, item) in service.requests.iter().zip(&service.request_calls) {
        let (count, is_one_way) = counts.entry(request.kind).or_insert((0, true));
        *count += 1;
        let is_answered = item.requesting_call().is_none_or(|call| calls.response(call).is_some());
        *is_one_way &= request.end != OPEN && !is_answered;
    }
    let found =
        counts.into_iter().filter(|(_, (count, is_one_way))| *is_one_way && *count >= MIN_MESSAGES);
    let mut kinds: Vec<u32> = found.map(|(kind, _)| kind).collect();
    kinds.sort_unstable();
    kinds
}

/// The work that the messages announce, with its pairs with the messages. Work is the calls of the
/// kind that is about as frequent as the messages and follows them soonest. `None` if no work comes
/// before its message.
fn find_work(
    service: &Service,
    announcements: &[WorkAnnouncement],
) -> Option<(TimedCalls, WorkPairs)> {
    let kind = pool::kinds(service, service.call_ids());
    let mut times: FxHashMap<(u32, Option<pool::CallKind>), TimedCalls> = FxHashMap::default();
    for (call, span) in MadeCallId::ids().zip(&service.calls) {
        times.entry((span.kind, None)).or_default().push((span.begin, call));
        times.entry((span.kind, Some(kind(call)))).or_default().push((span.begin, call));
    }
    let mut times: Vec<_> = times.into_iter().collect();
    times.sort_unstable_by_key(|(kind, _)| *kind);
    let is_as_many = |times: &[(i64, MadeCallId)]| {
        MESSAGES_PER_EXCEPTION * times.len().abs_diff(announcements.len()) <= announcements.len()
    };
    let found = times.into_iter().filter(|(_, times)| is_as_many(times));
    let only_times =
        |work: &[(i64, MadeCallId)]| work.iter().map(|(time, _)| *time).collect::<Vec<i64>>();
    let found =
        found.filter_map(|(_, work)| Some((usual_delay(announcements, &only_times(&work))?, work)));
    let (usual, work) = found.min_by_key(|(usual, _)| *usual)?;
    let times = only_times(&work);
    let pairs = WorkPairs::from_announcements(announcements, &times, usual);
    pairs.are_credible(announcements, &times).then_some((work, pairs))
}

#[cfg(test)]
#[path = "early_tests.rs"]
mod tests;
