//! Builds the calls of a trace: pairs its messages, splits pairs that are no calls, and joins
//! responses that came in fragments.

use message_trace::MessageTrace;

use super::flows_with_ids::FlowsWithIds;
use super::{CallId, Calls, multiplexed, one_way, pairing, response_fragments, server_push};

impl Calls {
    /// Pairs the messages of `trace`, which must be sorted: by call id if they have one, else by
    /// the alternation of the two sides of their connection, or by their order if no connection is
    /// known.
    pub fn from_trace(trace: &MessageTrace) -> Calls {
        // By the row of a call's first message: the row of its second message, and whether the
        // second is the request.
        let mut second = vec![(None, false); trace.len()];
        let mut is_first = vec![false; trace.len()];
        let id_flows = FlowsWithIds::from_trace(trace);
        let mut pairs = pairing::pair_messages(trace, &id_flows);
        one_way::unpair_one_way(trace, &id_flows, &mut pairs);
        server_push::unpair_server_push(trace, &mut pairs);
        let fragments = response_fragments::join_fragments(trace, &mut pairs);
        for (request, response) in &pairs {
            let first = request.iter().chain(response).min();
            let other = request.zip(*response).map(|(request, response)| request.max(response));
            if let Some(first) = first {
                is_first[first.index()] = true;
                second[first.index()] = (other, response.as_ref() == Some(first));
            }
        }
        // Each message gets its call below.
        let unset = CallId::from_index(0);
        let mut calls = Calls { of_message: vec![unset; trace.len()], ..Calls::default() };
        calls.request.reserve_exact(pairs.len());
        calls.response.reserve_exact(pairs.len());
        drop(pairs);
        let mut ids: Vec<bool> = Vec::new();
        for row in trace.ids().filter(|row| is_first[row.index()]) {
            let call = CallId::from_index(calls.len());
            let (other, is_request) = second[row.index()];
            calls.of_message[row.index()] = call;
            if let Some(other) = other {
                calls.of_message[other.index()] = call;
            }
            if other.is_none() && id_flows.is_control(trace, row) {
                calls.control.push(call);
            }
            if let Some(id) = trace.call_number(row).map(|id| id as usize) {
                if ids.len() <= id {
                    ids.resize(id + 1, false);
                }
                if std::mem::replace(&mut ids[id], true) {
                    calls.repeated.insert(call);
                }
            }
            let row = Some(row);
            calls.request.push(if is_request { other } else { row });
            calls.response.push(if is_request { row } else { other });
        }
        for (row, request) in fragments {
            let call = calls.of_message[request.index()];
            calls.of_message[row.index()] = call;
            calls.response_fragments.push((call, row));
        }
        calls.response_fragments.sort_unstable();
        calls.mispairing = multiplexed::mispairing_probabilities(trace, &calls);
        calls
    }
}
