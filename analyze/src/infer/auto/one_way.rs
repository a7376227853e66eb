//! Services of one-way messages: a node forwards messages because of others that it received, and
//! none is answered. A request then has no end, but work for it is done soon. How soon is learned
//! from message linking, and with that a message is a request like any other: the usual calls after
//! it are learned, and all messages that the node sends are assigned to received ones by the best
//! joint score.

use message_trace::{MessageId, MessageTrace};
use rustc_hash::{FxHashMap, FxHashSet};

use super::service::{OPEN, Service};
use crate::calls::Calls;
use crate::links::Links;
use crate::tuning::auto::services::one_way::{
    ALIKE_SHARE, LONGER_FACTOR, MAX_CALLS_BACK, MIN_LINKED, NEARLY_PERCENT,
};

/// Sets an end for each unanswered request of `service`; `linked` has the links of message linking.
/// A kind with a few answered messages is not one-way.
pub(super) fn end_requests(
    service: &mut Service,
    trace: &MessageTrace,
    calls: &Calls,
    linked: &Links,
) {
    let kinds = unanswered_kinds(service);
    if kinds.is_empty() {
        return;
    }
    let first: FxHashSet<MessageId> = service
        .request_calls
        .iter()
        .zip(&service.requests)
        .filter(|(_, request)| kinds.contains(&request.kind))
        .filter_map(|(item, _)| calls.request(item.requesting_call()?))
        .collect();
    let mut delays: Vec<i64> = Vec::new();
    let mut is_plain = true;
    for call in &service.made_calls {
        let Some(row) = calls.request(*call) else { continue };
        is_plain &= calls.response(*call).is_none();
        let came = cause(row, calls, linked).filter(|cause| first.contains(cause));
        let came = came.and_then(|cause| trace.recv_last(cause));
        delays.extend(
            came.zip(trace.send_first(row)).map(|(came, sent)| sent.saturating_sub(came).max(0)),
        );
    }
    let all = kinds.len()
        == service.requests.iter().map(|request| request.kind).collect::<FxHashSet<_>>().len();
    if delays.len() < MIN_LINKED || (all && is_plain && are_alike(&mut delays)) {
        return;
    }
    let nearly = delays.len() * NEARLY_PERCENT / 100;
    let (_, nearly_all, _) = delays.select_nth_unstable(nearly);
    let takes = nearly_all.saturating_mul(LONGER_FACTOR).clamp(1, service.window);
    for request in service.requests.iter_mut().filter(|request| kinds.contains(&request.kind)) {
        request.end = request.begin.saturating_add(takes);
    }
    service.one_way |= all;
    service.has_unanswered_kinds = true;
}

/// The kinds of requests that are never answered.
fn unanswered_kinds(service: &Service) -> FxHashSet<u32> {
    let mut counts: FxHashMap<u32, (usize, bool)> = FxHashMap::default();
    for request in &service.requests {
        let (count, is_answered) = counts.entry(request.kind).or_default();
        *count += 1;
        *is_answered |= request.end != OPEN;
    }
    let is_alone = counts.values().all(|(_, is_answered)| !is_answered);
    let never =
        |(count, is_answered): (usize, bool)| !is_answered && (is_alone || count >= MIN_LINKED);
    counts.into_iter().filter(|(_, counts)| never(*counts)).map(|(kind, _)| kind).collect()
}

/// Cause of a message by message linking: the message that it followed, or the request of a
/// call if it followed the response to the call.
fn cause(mut row: MessageId, calls: &Calls, linked: &Links) -> Option<MessageId> {
    for _ in 0..MAX_CALLS_BACK {
        let parent = linked.likeliest_parent(row)?.0.here()?;
        let call = calls.call_of_message(parent);
        match calls.request(call).filter(|_| calls.response(call) == Some(parent)) {
            Some(request) => row = request,
            None => return Some(parent),
        }
    }
    None
}

/// Returns whether the delays are similar, so that the last message is the cause, as if a node
/// waits for several messages.
fn are_alike(delays: &mut [i64]) -> bool {
    let middle = delays.len() / 2;
    let (_, median, _) = delays.select_nth_unstable(middle);
    let usual = *median / 2..=median.saturating_mul(2);
    delays.iter().filter(|delay| usual.contains(delay)).count() as f64
        >= ALIKE_SHARE * delays.len() as f64
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use crate::fixture::Fixture;
    use crate::infer::auto::tests::{MS, infer, lot, parents};

    /// Number of messages with their true causes, and of all messages, in a system that forwards
    /// messages along two routes through the same nodes, each at this rate per second.
    fn count_forwarded(rate: i64) -> (usize, usize) {
        let mut sent: Vec<(i64, &str, &str, Option<usize>)> = Vec::new();
        let routes = [["in", "a", "b", "c", "d", "out"], ["in2", "d", "c", "b", "a", "out2"]];
        for at in 0..400 {
            let route = &routes[at as usize % 2];
            let mut time = (1000 * MS / rate) / 2 * at + lot(at, 1000 * MS / rate);
            for (place, hop) in route.windows(2).enumerate() {
                let before = (place > 0).then(|| sent.len() - 1);
                sent.push((time, hop[0], hop[1], before));
                time += 4 * MS + lot(13 * at + place as i64, 2 * MS);
            }
        }
        let mut order: Vec<usize> = (0..sent.len()).collect();
        order.sort_by_key(|number| (sent[*number].0, *number));
        let mut fixture = Fixture::new();
        let mut flows: HashMap<[&str; 2], i64> = HashMap::new();
        for number in &order {
            let (time, from, to, _) = sent[*number];
            let next = flows.len() as i64;
            let back = flows.get(&[to, from]).copied();
            let flow = back.unwrap_or_else(|| *flows.entry([from, to]).or_insert(next));
            let message = fixture.send(from, to, time, time + MS / 10).udp().on(flow);
            if back.is_some() {
                message.accepting().ports(80, 40_000);
            }
        }
        let found = parents(&infer(&fixture.trace()));
        let is_right = |(row, number): (usize, &usize)| {
            found[row].map(|cause| order[cause.index()]) == sent[*number].3
        };
        (order.iter().enumerate().filter(|of| is_right(*of)).count(), sent.len())
    }

    #[test]
    fn one_way_messages_are_linked_by_usual_delays() {
        let (right, all) = count_forwarded(2);
        assert!(right as f64 > 0.995 * all as f64, "{right} of {all}");
        // If several messages are under way, the last one is often not the cause.
        let (right, all) = count_forwarded(40);
        assert!(right as f64 > 0.97 * all as f64, "{right} of {all}");
    }
}
