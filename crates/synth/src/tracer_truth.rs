//! Ground truth from the recording itself, if messages carry ids of a tracer's traces
//! (`traceparent`, b3): a request was caused by the request of the same trace that its sender
//! received. If the sender received several, the cause is the one with the same span, if the header
//! was forwarded unchanged; otherwise the truth has no cause. A sender that receives no requests
//! begins a trace.

use message_trace::table::operations::OperationReader;
use message_trace::{DataDir, FROM_CONNECTING, MessageId, MessageTrace, NodeId, OperationRole};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::error::Error;
use crate::ground_truth::GroundTruth;

/// A request of a trace.
struct TracedRequest {
    message: MessageId,
    /// Id of the tracer's trace.
    id: u128,
    /// Id of the span that made the request.
    span: Option<u64>,
}

impl GroundTruth {
    /// The ground truth that tracers give for the messages of `trace`, which is the trace of
    /// `data`.
    ///
    /// # Errors
    /// When the table of operations cannot be read, or no message carries an id.
    pub fn from_tracers(data: &DataDir, trace: &MessageTrace) -> Result<GroundTruth, Error> {
        let table = data.operations_path();
        let mut traced: Vec<TracedRequest> = Vec::new();
        if let Some(mut reader) = OperationReader::open(&table)? {
            while reader.read_batch(|operation| {
                let row = operation.message as usize;
                let asks = operation.role != OperationRole::Response && row < trace.len();
                let id = operation.trace_id.filter(|_| asks);
                let message = MessageId::from_index(row);
                traced.extend(id.map(|id| TracedRequest {
                    message,
                    id,
                    span: operation.parent_id,
                }));
            })? {}
        }
        if traced.is_empty() {
            return Err(Error::malformed(
                &table,
                "no message carries the id of a tracer's trace; record with --protocols, and \
                 programs that send traceparent or b3",
            ));
        }
        Ok(GroundTruth::Messages(find_causes(trace, &traced)))
    }
}

/// The cause of each message for which tracers give one.
fn find_causes(trace: &MessageTrace, traced: &[TracedRequest]) -> FxHashMap<u64, Option<u64>> {
    let asks = |id: &MessageId| trace.direction(*id) == FROM_CONNECTING && !trace.is_connect(*id);
    let receivers: FxHashSet<NodeId> =
        trace.ids().filter(asks).map(|id| trace.message(id).dst).collect();
    let mut received: FxHashMap<(NodeId, u128), Vec<&TracedRequest>> = FxHashMap::default();
    for request in traced {
        received.entry((trace.message(request.message).dst, request.id)).or_default().push(request);
    }
    let mut causes = FxHashMap::default();
    for request in traced {
        let src = trace.message(request.message).src;
        let Some(sent) = trace.send_ts(request.message) else { continue };
        let is_before = |other: &&&TracedRequest| {
            other.message != request.message
                && trace.arrival_time(other.message).is_some_and(|came| came <= sent)
        };
        let of_trace = received.get(&(src, request.id)).into_iter().flatten();
        let of_trace: Vec<&&TracedRequest> = of_trace.filter(is_before).collect();
        let same_span =
            |other: &&&&TracedRequest| request.span.is_some() && other.span == request.span;
        let of_same_span: Vec<&&TracedRequest> =
            of_trace.iter().filter(same_span).copied().collect();
        match (of_same_span.as_slice(), of_trace.as_slice()) {
            ([only], _) | ([], [only]) => {
                causes.insert(request.message.index() as u64, Some(only.message.index() as u64));
            }
            ([], []) if !receivers.contains(&src) => {
                causes.insert(request.message.index() as u64, None);
            }
            _ => {}
        }
    }
    causes
}

#[cfg(test)]
mod tests {
    use message_trace::table::operations::{OperationRow, OperationWriter};
    use message_trace::{
        EndPair, EndpointId, FROM_ACCEPTING, FlowId, Message, Node, NodeEnd, TransportProtocol,
    };

    use super::*;

    /// A client calls a server twice, in two traces; the server calls a store for each, and once
    /// for neither; and the store calls a disk for both at the same time.
    fn recorded(with_ids: bool) -> (tempfile::TempDir, DataDir, MessageTrace) {
        let mut trace = MessageTrace::default();
        let nodes = ["client", "server", "store", "disk"].map(|command| {
            trace.add_node(Node { command: command.into(), traced: true, ..Node::default() })
        });
        // Sender, receiver, trace and span; all are requests except the fourth message.
        let messages = [
            (0, 1, Some(1), 10),
            (0, 1, Some(2), 20),
            (1, 2, Some(2), 21),
            (1, 0, None, 0),
            (1, 2, Some(1), 11),
            (1, 2, Some(9), 90),
            (1, 2, Some(1), 12),
            (2, 3, Some(1), 12),
            (2, 3, Some(1), 13),
        ];
        let directory = tempfile::tempdir().unwrap();
        let data = DataDir::new(directory.path());
        let mut operations = OperationWriter::create(data.operations_path()).unwrap();
        for (row, (src, dst, id, span)) in messages.into_iter().enumerate() {
            let [src, dst] =
                [src, dst].map(|node: usize| NodeEnd::new(nodes[node], EndpointId::default()));
            let ends = EndPair { src, dst, protocol: TransportProtocol::Tcp };
            let direction = if id.is_none() { FROM_ACCEPTING } else { FROM_CONNECTING };
            let (sent, received) = (Some(10 * row as i64), Some(10 * row as i64 + 5));
            let flow = FlowId::from_number(row as i64);
            trace.push(
                &Message::between_ends(ends, flow, direction).with_times(sent, received),
                None,
            );
            let role = match id {
                Some(_) => OperationRole::Request,
                None => OperationRole::Response,
            };
            let operation = OperationRow {
                message: row as u64,
                role,
                protocol: "http",
                name: "GET /",
                detail: "",
                status: "",
                is_error: false,
                call: None,
                trace_id: id.filter(|_| with_ids),
                parent_id: Some(span),
            };
            operations.push(&operation).unwrap();
        }
        operations.finish().unwrap();
        (directory, data, trace)
    }

    #[test]
    fn a_request_was_caused_by_the_request_of_its_trace() {
        let (_directory, data, trace) = recorded(true);
        let GroundTruth::Messages(causes) = GroundTruth::from_tracers(&data, &trace).unwrap()
        else {
            panic!()
        };
        let mut causes: Vec<(u64, Option<u64>)> = causes.into_iter().collect();
        causes.sort_unstable();
        let expected = [
            (0, None),
            (1, None),
            (2, Some(1)),
            (4, Some(0)),
            (6, Some(0)),
            // The header was passed on; the last message could belong to either of two.
            (7, Some(6)),
        ];
        assert_eq!(causes, expected);
    }

    #[test]
    fn without_ids_there_is_no_truth() {
        let (_directory, data, trace) = recorded(false);
        let error = GroundTruth::from_tracers(&data, &trace).unwrap_err().to_string();
        assert!(error.contains("traceparent"), "{error}");
    }
}
