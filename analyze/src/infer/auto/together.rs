//! Pooled processes: processes of one program learn together. A server often has several processes,
//! and each receives a part of the requests. Some programs start a process for each connection. One
//! process alone may have too few requests to learn from. So the processes are put one after the
//! other in time, so that no request is open when the next process begins:
//!
//! ```text
//! worker 1:  ─[──]──[────]─         ─[──]──[────]─
//! worker 2:  ──[───]──[──]─    →                   ──[───]──[──]─
//! ```
//!
//! The result is one service. Everything is learned and inferred together, and no request can be
//! assigned a call of another process.

use rustc_hash::FxHashMap;

use super::service::{
    MadeCallId, NodeSpan, OPEN, RequestId, Service, UNKNOWN_SIZE, UNKNOWN_THREAD,
};
use crate::naming::Naming;
use crate::tuning::auto::services::together::{ENOUGH_REQUESTS, SHIFT_UNIT};

/// Pools the `services` with the same name; they are the nodes of `naming`. The result replaces the
/// first of them, and the others become empty.
pub(super) fn pool_processes(services: &mut [Service], naming: &Naming) {
    let mut groups: FxHashMap<u32, Vec<usize>> = FxHashMap::default();
    for (at, service) in
        services.iter().enumerate().filter(|(_, service)| !service.calls.is_empty())
    {
        if !service.requests.is_empty() && service.requests.len() < ENOUGH_REQUESTS {
            groups.entry(naming.nodes()[at].name).or_default().push(at);
        }
    }
    for group in groups.into_values() {
        let mut left = group.as_slice();
        while let [first, ..] = left {
            let mut requests = 0;
            let enough = left.iter().position(|at| {
                requests += services[*at].requests.len();
                requests >= ENOUGH_REQUESTS
            });
            let (some, rest) = left.split_at(enough.map_or(left.len(), |last| last + 1));
            if some.len() > 1 {
                let parts: Vec<Service> =
                    some.iter().map(|at| std::mem::take(&mut services[*at])).collect();
                services[*first] = join_services(&parts);
            }
            left = rest;
        }
    }
}

/// Puts the services one after the other in time.
fn join_services(parts: &[Service]) -> Service {
    let mut all = Service {
        window: parts.iter().map(|part| part.window).max().unwrap_or(0),
        evidence: parts.first().map(|part| part.evidence).unwrap_or_default(),
        one_way: parts.iter().all(|part| part.one_way),
        has_unanswered_kinds: parts.iter().any(|part| part.has_unanswered_kinds),
        is_loop: Some(parts.iter().all(Service::is_event_loop)),
        ..Service::default()
    };
    let mut next = 0;
    for part in parts {
        let (requests, calls) = (all.requests.len(), all.calls.len());
        let spans = || part.requests.iter().chain(&part.calls);
        let begin = spans().map(|span| span.begin).min().unwrap_or(0);
        // In whole units, so that the resolution of the times is kept.
        let shift = i64::saturating_sub(next, begin)
            .div_euclid(SHIFT_UNIT)
            .saturating_add(1)
            .saturating_mul(SHIFT_UNIT);
        let closed = part.request_ids().map(|request| part.closed_at(request));
        let times = spans().flat_map(|span| [span.begin, span.end]).filter(|time| *time != OPEN);
        let last = closed.chain(times).max().unwrap_or(begin);
        next = last.saturating_add(part.window).saturating_add(shift);
        let moved = |span: &NodeSpan| NodeSpan {
            begin: span.begin.saturating_add(shift),
            end: if span.end == OPEN { OPEN } else { span.end.saturating_add(shift) },
            ..*span
        };
        all.requests.extend(part.requests.iter().map(moved));
        all.calls.extend(part.calls.iter().map(moved));
        let (some, made) = (part.requests.len(), part.calls.len());
        append(
            &mut all.request_threads,
            &part.request_threads,
            requests,
            some,
            [UNKNOWN_THREAD; 2],
        );
        append(&mut all.request_sizes, &part.request_sizes, requests, some, [UNKNOWN_SIZE; 2]);
        append(&mut all.answering, &part.answering, requests, some, 0);
        append(&mut all.call_threads, &part.call_threads, calls, made, [UNKNOWN_THREAD; 2]);
        append(&mut all.call_sizes, &part.call_sizes, calls, made, [UNKNOWN_SIZE; 2]);
        append(&mut all.call_unsure, &part.call_unsure, calls, made, false);
        let call = |at: MadeCallId| MadeCallId::from_index(at.index() + calls);
        let before: Vec<_> = part.call_before.iter().map(|before| before.map(call)).collect();
        append(&mut all.call_before, &before, calls, made, None);
        let request = |at: RequestId| RequestId::from_index(at.index() + requests);
        let rivals: Vec<_> = part.rivals.iter().map(|rival| rival.map(request)).collect();
        append(&mut all.rivals, &rivals, requests, some, None);
        all.attributed_to.extend(&part.attributed_to);
        all.shown_by.extend(&part.shown_by);
        all.alternative_request.extend(&part.alternative_request);
        let traced = part.traced_for.iter().map(|(made, among)| (*made, among.clone()));
        all.traced_for.extend(traced);
        let words = part.word_claims.iter().map(|(made, claim)| (*made, claim.clone()));
        all.word_claims.extend(words);
        all.request_calls.extend(&part.request_calls);
        all.made_calls.extend(&part.made_calls);
        all.timer_calls.extend(&part.timer_calls);
        let writes = part.shared_writes.iter();
        all.shared_writes.extend(writes.map(|times| times.map(|at| at.saturating_add(shift))));
    }
    all
}

/// Appends `count` values of `part` to a column with `before` values, or as many `unknown` ones if
/// the part has none. A column that is empty in all parts stays empty.
fn append<T: Copy>(all: &mut Vec<T>, part: &[T], before: usize, count: usize, unknown: T) {
    if part.is_empty() && all.is_empty() {
        return;
    }
    all.resize(before, unknown);
    all.extend_from_slice(part);
    all.resize(before + count, unknown);
}

#[cfg(test)]
mod tests {
    use message_trace::MessageId;

    use super::*;
    use crate::calls::CallId;
    use crate::infer::call_links::WorkItem;

    fn process(begin: i64, calls: i64) -> Service {
        let span = |at: i64, kind: u32| NodeSpan {
            begin: begin + 10 * at,
            end: begin + 10 * at + 5,
            kind,
        };
        Service {
            window: 100,
            requests: vec![span(0, 9)],
            request_calls: vec![WorkItem::request_at(begin as usize)],
            calls: (0..calls).map(|at| span(at, 1)).collect(),
            made_calls: CallId::ids().skip(begin as usize + 1).take(calls as usize).collect(),
            call_before: std::iter::once(None)
                .chain(MadeCallId::ids().map(Some))
                .take(calls as usize)
                .collect(),
            ..Service::default()
        }
    }

    #[test]
    fn processes_are_concatenated_with_all_their_columns() {
        let mut second = process(3, 2);
        second.requests[0].end = OPEN;
        second.call_threads = vec![[7, 7], [7, 8]];
        let all = join_services(&[process(5, 2), second, process(4, 1)]);
        let begins = |spans: &[NodeSpan]| spans.iter().map(|span| span.begin).collect::<Vec<_>>();
        // By whole seconds, so that each time keeps its last digits.
        assert_eq!(
            begins(&all.requests).iter().map(|at| at % SHIFT_UNIT).collect::<Vec<_>>(),
            [5, 3, 4]
        );
        assert!(begins(&all.requests).is_sorted() && begins(&all.calls).is_sorted());
        assert!(all.calls[4].begin - all.calls[3].begin > 100);
        assert_eq!([all.requests[1].end, all.requests[0].end % SHIFT_UNIT], [OPEN, 10]);
        let [first, third] = [0, 2].map(|call| Some(MadeCallId::from_index(call)));
        assert_eq!(all.call_before, [None, first, None, third, None]);
        let unknown = [UNKNOWN_THREAD; 2];
        assert_eq!(all.call_threads, [unknown, unknown, [7, 7], [7, 8], unknown]);
        let calls = all.request_calls.iter().map(|item| item.call().index());
        assert_eq!(calls.collect::<Vec<_>>(), [5, 3, 4]);
        assert_eq!(all.made_calls, [6, 7, 4, 5, 5].map(CallId::from_index));
        assert!(all.request_threads.is_empty() && all.answering.is_empty());
    }

    #[test]
    fn processes_of_one_name_are_pooled_until_there_are_enough() {
        use crate::fixture::Fixture;
        use crate::options::Options;

        let mut fixture = Fixture::new();
        for name in ["web#1", "web#2", "db#3", "web#4", "web#5"] {
            fixture.send("client#9", name, 0, 1);
        }
        let trace = fixture.trace();
        let naming = Naming::new(&trace, &Options::default());
        let node = |process: usize| naming.dst(MessageId::from_index(process)) as usize;
        let mut services: Vec<Service> = naming.nodes().iter().map(|_| process(5, 2)).collect();
        services[node(1)].requests =
            vec![NodeSpan { begin: 5, end: 9, kind: 9 }; ENOUGH_REQUESTS - 1];
        services[node(1)].request_calls = vec![WorkItem::request_at(0); ENOUGH_REQUESTS - 1];
        services[node(4)].requests = vec![NodeSpan { begin: 5, end: 9, kind: 9 }; ENOUGH_REQUESTS];
        pool_processes(&mut services, &naming);
        let count = |process: usize| services[node(process)].requests.len();
        // The first two are enough; the fourth remains alone, and the fifth was
        // enough before.
        assert_eq!([0, 1, 2, 3, 4].map(count), [ENOUGH_REQUESTS, 0, 1, 1, ENOUGH_REQUESTS]);
        assert_eq!([0, 2, 4].map(|at| services[node(at)].is_loop.is_some()), [true, false, false]);
    }
}
