//! Connections with server push: a broker sends an event to its subscriber, which acknowledges it
//! when it is done with it. If the subscriber keeps up, the two alternate, and the next event
//! follows each acknowledgement as a response follows a request. If the subscriber lags, the broker
//! sends further events before the earlier acknowledgements arrive. A message cannot answer another
//! that had not arrived yet by the clock of the first one's sender. So there is no call on a
//! connection with server push, and each message stands alone.

use message_trace::{FlowId, MessageTrace};
use rustc_hash::{FxHashMap, FxHashSet};

use super::MessagePair;
use crate::tuning::calls::server_push::{MIN_PAIRS, PAIRS_PER_EARLY_ANSWER};

/// Splits the `pairs` on flows with responses that are sent before their requests arrive.
pub(super) fn unpair_server_push(trace: &MessageTrace, pairs: &mut Vec<MessagePair>) {
    let flows = server_push_flows(trace, pairs);
    if flows.is_empty() {
        return;
    }
    let mut unpaired = Vec::new();
    for (request, response) in pairs.iter_mut() {
        let Some(row) = *response else { continue };
        if trace.call_number(row).is_none() && flows.contains(&trace.flow(row)) {
            let alone = response.take();
            match request {
                // A message without a request stands alone, whichever side sent it.
                None => *request = alone,
                Some(_) => unpaired.push((alone, None)),
            }
        }
    }
    pairs.extend(unpaired);
}

/// Returns the flows on which responses are sent before their requests arrive.
fn server_push_flows(trace: &MessageTrace, pairs: &[MessagePair]) -> FxHashSet<FlowId> {
    let mut seen: FxHashMap<FlowId, [usize; 2]> = FxHashMap::default();
    for (request, response) in pairs.iter().filter_map(|(request, response)| request.zip(*response))
    {
        if trace.call_number(request).is_some()
            || !trace.message(request).protocol.has_connections()
        {
            continue;
        }
        let came = trace.recv_first(request).or(trace.recv_last(request));
        let Some((came, answered)) = came.zip(trace.send_first(response)) else { continue };
        let [early, all] = seen.entry(trace.flow(request)).or_default();
        *early += usize::from(answered < came);
        *all += 1;
    }
    let is_push =
        |[early, all]: [usize; 2]| all >= MIN_PAIRS && early * PAIRS_PER_EARLY_ANSWER >= all;
    seen.into_iter().filter(|(_, counts)| is_push(*counts)).map(|(flow, _)| flow).collect()
}

#[cfg(test)]
mod tests {
    use crate::calls::Calls;
    use crate::fixture::Fixture;

    /// Returns how many calls are answered if a subscriber gets an event each millisecond and
    /// acknowledges it after this delay.
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
        assert_eq!(calls.iter().map(|call| calls.message_count(call)).sum::<usize>(), trace.len());
        calls.iter().filter(|call| calls.message_count(*call) == 2).count()
    }

    #[test]
    fn a_message_sent_before_the_request_arrives_is_no_response() {
        // Acknowledgements and next events are under way at the same time.
        assert_eq!(answered(995_000), 0);
    }

    #[test]
    fn a_message_sent_after_the_request_arrived_may_be_a_response() {
        assert_eq!(answered(500_000), 199);
    }
}
