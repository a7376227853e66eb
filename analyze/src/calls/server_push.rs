//! Connections on which the accepting side sends what nobody asked for: a broker hands an event to
//! its subscriber, who acknowledges it when it is done with it. Where the subscriber has time, the
//! two take turns, and each acknowledgement is followed by the next event as a question by its
//! answer. Where it is behind, events are sent before the acknowledgements come that they would be
//! the answers to. Nothing answers what has not come, by the clock of who answers, so there is no
//! call on such a connection, and each message is one by itself.

use message_trace::MessageTrace;
use rustc_hash::{FxHashMap, FxHashSet};

use super::NONE;
use crate::tuning::calls::server_push::{MIN_PAIRS, PAIRS_PER_EARLY_ANSWER};

/// Takes the `pairs` apart that are on flows whose answers are sent before the questions come.
pub(super) fn unpair_server_push(trace: &MessageTrace, pairs: &mut Vec<(u32, u32)>) {
    let flows = server_push_flows(trace, pairs);
    if flows.is_empty() {
        return;
    }
    let mut apart = Vec::new();
    for (request, response) in pairs.iter_mut().filter(|(_, response)| *response != NONE) {
        let row = *response as usize;
        if trace.call_number(row).is_none() && flows.contains(&trace.flow(row)) {
            let alone = std::mem::replace(response, NONE);
            match *request {
                // A message without a question is one by itself, whoever sent it.
                NONE => *request = alone,
                _ => apart.push((alone, NONE)),
            }
        }
    }
    pairs.extend(apart);
}

/// The flows on which answers are sent before their questions come.
fn server_push_flows(trace: &MessageTrace, pairs: &[(u32, u32)]) -> FxHashSet<i64> {
    let mut seen: FxHashMap<i64, [usize; 2]> = FxHashMap::default();
    for (request, response) in
        pairs.iter().filter(|(request, response)| *request.max(response) != NONE)
    {
        let [request, response] = [*request as usize, *response as usize];
        if trace.call_number(request).is_some()
            || !trace.message(request).protocol.has_connections()
        {
            continue;
        }
        let came = trace.recv_first(request).or(trace.recv_last(request));
        let Some((came, answered)) = came.zip(trace.send_first(response)) else { continue };
        let [before, all] = seen.entry(trace.flow(request)).or_default();
        *before += usize::from(answered < came);
        *all += 1;
    }
    let is_unasked =
        |[before, all]: [usize; 2]| all >= MIN_PAIRS && before * PAIRS_PER_EARLY_ANSWER >= all;
    seen.into_iter().filter(|(_, counts)| is_unasked(*counts)).map(|(flow, _)| flow).collect()
}

#[cfg(test)]
mod tests {
    use crate::calls::Calls;
    use crate::fixture::Fixture;

    /// How many calls are answered where a subscriber is given an event each millisecond, and
    /// acknowledges it so much later.
    fn answered(later: i64) -> usize {
        const MS: i64 = 1_000_000;
        let mut trace = Fixture::new();
        for at in 0..200 {
            let given = MS * at;
            let event = trace.send("broker", "reader", given, given + 10_000).bytes(24);
            event.accepting().ports(80, 40_000).on(1);
            let read = given + later;
            trace.send("reader", "broker", read, read + 10_000).bytes(4).on(1);
        }
        let trace = trace.trace();
        let calls = Calls::from_trace(&trace);
        assert_eq!(
            (0..calls.len()).map(|call| calls.message_count(call)).sum::<usize>(),
            trace.len()
        );
        (0..calls.len()).filter(|call| calls.message_count(*call) == 2).count()
    }

    #[test]
    fn what_is_sent_before_the_question_comes_is_no_answer() {
        // Each is on its way as the next one is.
        assert_eq!(answered(995_000), 0);
    }

    #[test]
    fn what_is_sent_when_the_question_has_come_may_be_one() {
        assert_eq!(answered(500_000), 199);
    }
}
