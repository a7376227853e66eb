//! Flows without calls: both sides send independently, and no message answers another. Pairing by
//! alternation would combine unrelated messages, so the messages of these flows are not paired.
//!
//! Messages that are paired by an id are a call. So are messages that alternate, as on most
//! connections: one from each side, one after the other. If more than one in five messages follows
//! another of its own side, either several calls are open at a time, or both sides send at any
//! time. In the first case most responses come a usual time after some request; in the second no
//! more of them do than by chance.

use message_trace::{FROM_CONNECTING, FlowId, MessageId, MessageTrace, NodeId};
use rustc_hash::{FxHashMap, FxHashSet};

use super::flows_with_ids::FlowsWithIds;
use super::{MessagePair, multiplexed};
use crate::tuning::calls::one_way::{
    ANSWERED_SHARE, FIRST_TIME, MAX_OUT_OF_ALTERNATION, MAX_SAMPLE, MIN_DEVIATIONS, MIN_MESSAGES,
    MIN_MESSAGES_OF_FLOW, SHARE_BETWEEN, TIMES_TRIED,
};

/// The connecting and the accepting node of all flows between the two.
type NodePair = (NodeId, NodeId);

/// Messages of both sides of the flows between two nodes.
#[derive(Default)]
struct NodePairMessages {
    flows: Vec<FlowId>,
    /// Send times of the messages of the connecting and the accepting side, in nanoseconds by one
    /// clock, with their flows.
    sent: [Vec<(FlowId, i64)>; 2],
}

/// Splits the `pairs` on flows without calls.
pub(super) fn unpair_one_way(
    trace: &MessageTrace,
    id_flows: &FlowsWithIds,
    pairs: &mut Vec<MessagePair>,
) {
    let mut flows = one_way_flows(trace);
    // If calls have ids, messages without ids are control messages.
    flows.retain(|flow| !id_flows.has_ids(*flow));
    if flows.is_empty() {
        return;
    }
    let is_one_way = |row: Option<MessageId>| {
        row.is_some_and(|row| trace.call_number(row).is_none() && flows.contains(&trace.flow(row)))
    };
    let mut unpaired = Vec::new();
    for (request, response) in pairs.iter_mut() {
        if is_one_way(*response) && request.is_some() {
            unpaired.push((response.take(), None));
        }
    }
    // A message without a response stands alone, whichever side sent it.
    for (request, response) in pairs.iter_mut() {
        if request.is_none() && is_one_way(*response) {
            *request = response.take();
        }
    }
    pairs.extend(unpaired);
}

/// Returns the flows without calls.
fn one_way_flows(trace: &MessageTrace) -> FxHashSet<FlowId> {
    let turns = AlternationCounts::from_trace(trace);
    let shared = flows_with_calls(trace, &turns);
    let mut pairs_of_nodes: FxHashMap<NodePair, NodePairMessages> = FxHashMap::default();
    let mut of_flow: FxHashMap<FlowId, NodePair> = FxHashMap::default();
    for row in
        trace.ids().filter(|row| trace.call_number(*row).is_none() && !trace.is_connect(*row))
    {
        let (message, flow) = (trace.message(row), trace.flow(row));
        if turns.alternates(flow) || shared.contains(&flow) {
            continue;
        }
        let is_connecting = message.direction == FROM_CONNECTING;
        let pair = of_flow.entry(flow).or_insert_with(|| {
            let pair =
                if is_connecting { (message.src, message.dst) } else { (message.dst, message.src) };
            pairs_of_nodes.entry(pair).or_default().flows.push(flow);
            pair
        });
        if let Some(sides) = pairs_of_nodes.get_mut(pair) {
            sides.sent[usize::from(!is_connecting)].push((flow, message.sort_time()));
        }
    }
    let no_calls = pairs_of_nodes.into_values().filter_map(|mut sides| {
        sides.sent.iter_mut().for_each(|sent| sent.sort_unstable());
        (!sides.are_calls()).then_some(sides.flows)
    });
    no_calls.flatten().collect()
}

/// Returns multiplexed connections, and connections that alternate except for control messages:
/// these only look as if messages were sent at any time.
fn flows_with_calls(trace: &MessageTrace, turns: &AlternationCounts) -> FxHashSet<FlowId> {
    let mut rows: FxHashMap<FlowId, Vec<(i64, MessageId)>> = FxHashMap::default();
    for row in trace.ids().filter(|row| trace.call_number(*row).is_none()) {
        let flow = trace.flow(row);
        if !turns.alternates(flow) {
            rows.entry(flow).or_default().push((trace.message(row).sort_time(), row));
        }
    }
    rows.retain(|_, rows| {
        rows.sort_unstable();
        multiplexed::is_multiplexed_flow(trace, rows) || {
            let turns = AlternationCounts::from_rows(trace, rows.iter().map(|(_, row)| *row));
            turns.0.keys().all(|flow| turns.alternates(*flow))
        }
    });
    rows.into_keys().collect()
}

/// Alternation of each flow: the number of its messages, the number of those that follow a message
/// of their own side, and the side that sent the last one.
#[derive(Default)]
struct AlternationCounts(FxHashMap<FlowId, (usize, usize, i8)>);

impl AlternationCounts {
    fn from_trace(trace: &MessageTrace) -> AlternationCounts {
        AlternationCounts::from_rows(
            trace,
            trace.ids().filter(|row| trace.call_number(*row).is_none()),
        )
    }

    fn from_rows(trace: &MessageTrace, rows: impl Iterator<Item = MessageId>) -> AlternationCounts {
        let mut turns = AlternationCounts::default();
        for row in rows {
            let (messages, again, last) = turns.0.entry(trace.flow(row)).or_insert((0, 0, -1));
            *messages += 1;
            *again += usize::from(*last == trace.direction(row));
            *last = trace.direction(row);
        }
        turns
    }

    /// Returns whether the two sides of the flow alternate, regardless of other flows between the
    /// same nodes.
    fn alternates(&self, flow: FlowId) -> bool {
        let known = self.0.get(&flow).filter(|(messages, _, _)| *messages >= MIN_MESSAGES_OF_FLOW);
        known.is_some_and(|(messages, again, _)| {
            *again as f64 <= MAX_OUT_OF_ALTERNATION / 2.0 * *messages as f64
        })
    }
}

impl NodePairMessages {
    /// Returns whether the accepting side seems to answer the connecting one, or there are too few
    /// messages to tell.
    fn are_calls(&self) -> bool {
        self.sent.iter().any(|sent| sent.len() < MIN_MESSAGES)
            || self.alternates()
            || self.responses_follow_requests()
    }

    fn alternates(&self) -> bool {
        let mut all: Vec<(FlowId, i64, usize)> = Vec::new();
        for (side, sent) in self.sent.iter().enumerate() {
            all.extend(sent.iter().map(|(flow, time)| (*flow, *time, side)));
        }
        all.sort_unstable();
        let again =
            all.windows(2).filter(|two| two[0].0 == two[1].0 && two[0].2 == two[1].2).count();
        again as f64 <= MAX_OUT_OF_ALTERNATION * all.len() as f64
    }

    /// Returns whether responses come a usual time after requests on their flow.
    fn responses_follow_requests(&self) -> bool {
        let [requests, answers] = &self.sent;
        let (Some(first), Some(last)) =
            (requests.iter().min_by_key(|r| r.1), requests.iter().max_by_key(|r| r.1))
        else {
            return true;
        };
        let span = last.1.saturating_sub(first.1).max(1) as f64;
        let step = answers.len().div_ceil(MAX_SAMPLE);
        let sample: Vec<&(FlowId, i64)> = answers.iter().step_by(step).collect();
        let mut of_flow: FxHashMap<FlowId, f64> = FxHashMap::default();
        requests.iter().for_each(|(flow, _)| *of_flow.entry(*flow).or_default() += 1.0);
        let until =
            |flow: FlowId, time: i64| requests.partition_point(|request| *request <= (flow, time));
        let (size, mut before) = (sample.len() as f64, (0.0, 0.0));
        (0..TIMES_TRIED).map(|step| FIRST_TIME << step).any(|within| {
            let (mut came, mut chance) = (0.0, 0.0);
            for (flow, time) in &sample {
                came += (until(*flow, *time) - until(*flow, time.saturating_sub(within))) as f64;
                chance += of_flow.get(flow).copied().unwrap_or_default()
                    * (within as f64 / span).min(1.0);
            }
            let is_more = |came: f64, chance: f64, part: f64| {
                came - chance >= part * size
                    && came - chance >= MIN_DEVIATIONS * chance.max(0.0).sqrt()
            };
            let between = (came - before.0, chance - before.1);
            before = (came, chance);
            is_more(came, chance, ANSWERED_SHARE) || is_more(between.0, between.1, SHARE_BETWEEN)
        })
    }
}

#[cfg(test)]
mod tests {
    use message_trace::MessageTrace;

    use crate::calls::Calls;
    use crate::fixture::Fixture;

    const MS: i64 = 1_000_000;

    /// Returns a pseudo-random number below `bound`.
    fn lot(at: i64, bound: i64) -> i64 {
        let mixed = at.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        ((mixed ^ mixed >> 29).wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33).rem_euclid(bound)
    }

    /// 200 messages each way over one flow; `back` gives the times of the messages back.
    fn both_ways(back: impl Fn(i64) -> i64) -> MessageTrace {
        let mut trace = Fixture::new();
        for at in 0..200 {
            let forth = 10 * MS * at + lot(at, 40 * MS);
            trace.send("a", "b", forth, forth + MS / 10).udp().on(1);
            let back = back(at);
            trace.send("b", "a", back, back + MS / 10).udp().accepting().ports(80, 40_000).on(1);
        }
        trace.trace()
    }

    /// Returns how many calls are answered.
    fn answered(trace: &MessageTrace) -> usize {
        let calls = Calls::from_trace(trace);
        assert_eq!(calls.iter().map(|call| calls.message_count(call)).sum::<usize>(), trace.len());
        calls.iter().filter(|call| calls.message_count(*call) == 2).count()
    }

    #[test]
    fn messages_without_responses_are_no_calls() {
        let own = both_ways(|at| 10 * MS * at + lot(at + 1000, 40 * MS));
        assert_eq!(answered(&own), 0);
        let calls = Calls::from_trace(&own);
        assert!(
            calls
                .iter()
                .all(|call| calls.request(call).is_some() && calls.response(call).is_none())
        );
    }

    #[test]
    fn calls_that_overlap_are_calls() {
        let busy = both_ways(|at| 10 * MS * at + lot(at, 40 * MS) + 30 * MS + lot(at + 7, 10 * MS));
        assert_eq!(answered(&busy), 200);
    }

    #[test]
    fn alternating_messages_are_calls_of_any_duration() {
        let mut trace = Fixture::new();
        let mut now = 0;
        for at in 0..200 {
            now += lot(at, 40 * MS);
            trace.send("a", "b", now, now + 10).on(1);
            now += 20 + lot(at + 1000, 400 * MS);
            trace.send("b", "a", now, now + 10).accepting().ports(80, 40_000).on(1);
        }
        assert_eq!(answered(&trace.trace()), 200);
    }
}
