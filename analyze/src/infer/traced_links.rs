//! Links by the trace ids of tracers (`traceparent`, b3), for algorithms that link messages one by
//! one: a request or notification with a trace id was caused by the request with the same id that
//! its sender received, if there is exactly one; and by no message with another trace id.

use message_trace::{MessageId, MessageTrace, OperationRole};
use rustc_hash::FxHashMap;

use super::input::InferenceInput;
use crate::links::Links;

/// The trace id of a message that is not a response.
fn trace_id_of_message(trace: &MessageTrace, row: MessageId) -> Option<u64> {
    let operation =
        trace.operations(row).filter(|operation| operation.role != OperationRole::Response)?;
    operation.trace
}

/// Changes `links` so that they agree with the trace ids of the messages.
pub(super) fn link_by_trace_ids(input: &InferenceInput<'_>, links: &mut Links) {
    let InferenceInput { trace, naming, .. } = *input;
    if !trace.has_operations() {
        return;
    }
    // By receiver and trace: the arrival of each request, and its id.
    let mut received: FxHashMap<(u32, u64), Vec<(i64, MessageId)>> = FxHashMap::default();
    for row in trace.ids() {
        if let Some((id, came)) = trace_id_of_message(trace, row).zip(trace.arrival_time(row)) {
            received.entry((naming.dst(row), id)).or_default().push((came, row));
        }
    }
    for row in trace.ids() {
        let Some((id, sent)) = trace_id_of_message(trace, row).zip(trace.send_ts(row)) else {
            continue;
        };
        let before = received.get(&(naming.src(row), id)).into_iter().flatten();
        let mut before = before.filter(|(came, of)| *came <= sent && *of != row);
        let causes: Vec<MessageId> = before.by_ref().map(|(_, of)| *of).take(2).collect();
        if let [only] = causes[..] {
            links.set_parents(row, &[(only, 1.0)], 0.0);
            continue;
        }
        let is_possible =
            |parent: MessageId| trace_id_of_message(trace, parent).is_none_or(|other| other == id);
        let parents: Vec<(MessageId, f64)> = links.parents_here(row).collect();
        if parents.iter().all(|(parent, _)| is_possible(*parent)) {
            continue;
        }
        let mut left: Vec<(MessageId, f64)> =
            parents.into_iter().filter(|(parent, _)| is_possible(*parent)).collect();
        let spontaneous = links.spontaneous_probability(row);
        let sum = left.iter().fold(spontaneous, |sum, (_, share)| sum + share);
        match sum > 0.0 {
            true => {
                left.iter_mut().for_each(|(_, share)| *share /= sum);
                links.set_parents(row, &left, spontaneous / sum);
            }
            false => links.set_parents(row, &[], 1.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;
    use crate::naming::Naming;
    use crate::options::Options;

    #[test]
    fn messages_of_a_trace_are_caused_within_it() {
        let mut trace = Fixture::new();
        trace.send("x", "web", 0, 5).on(1).of_trace(1, 10);
        trace.send("x", "web", 1, 6).on(2).of_trace(2, 20);
        for (at, of) in [(50, Some(2)), (60, Some(1)), (70, Some(3)), (80, None)] {
            let call = trace.send("web", "db", at, at + 5);
            call.on(at);
            if let Some(id) = of {
                call.of_trace(id, id);
            }
        }
        let trace = trace.trace();
        let options = Options::default();
        let naming = Naming::new(&trace, &options);
        let mut links = Links::spontaneous_only(trace.len());
        (2..6).for_each(|row| links.set_parent_rows(row, &[(0, 0.4), (1, 0.4)], 0.2));
        link_by_trace_ids(&InferenceInput::without_progress(&trace, &naming, &options), &mut links);
        let parents = |row: usize| links.parent_rows(row);
        assert_eq!((parents(2), parents(3)), (vec![(1, 1.0)], vec![(0, 1.0)]));
        // No request of the third trace was received; the last call has no known trace.
        let spontaneous = links.spontaneous_probability(MessageId::from_index(4));
        assert_eq!((parents(4), spontaneous), (vec![], 1.0));
        assert_eq!(parents(5), [(0, 0.4), (1, 0.4)]);
    }
}
