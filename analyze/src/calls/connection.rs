//! The flow of a message: which side sent it, whether the flow is a connection, and when each side
//! saw the message.

use message_trace::{Endpoint, EndpointId, FROM_CONNECTING, MessageId, MessageTrace};

/// Returns the side of the flow that sent the message at this row, such as [`FROM_CONNECTING`].
pub(super) fn row_direction(trace: &MessageTrace, row: MessageId) -> i8 {
    trace.direction(row)
}

/// Returns whether the message's flow is a connection, or of datagram sockets; otherwise the flow
/// is all traffic between two nodes.
pub(super) fn is_connection(trace: &MessageTrace, row: MessageId) -> bool {
    let message = trace.message(row);
    let is_named = |id: EndpointId| match trace.endpoint(id) {
        Some(Endpoint::Other(name)) => !name.is_empty(),
        endpoint => endpoint.is_some(),
    };
    is_named(message.src_endpoint) || is_named(message.dst_endpoint)
}

/// Returns when the connecting and the accepting end saw a message, on the common clock: when it
/// was sent, and when its first byte arrived.
pub(super) fn times_at_ends(trace: &MessageTrace, row: MessageId) -> [Option<i64>; 2] {
    let (sent, arrived) = (trace.send_ts(row), trace.arrival_time(row));
    if row_direction(trace, row) == FROM_CONNECTING { [sent, arrived] } else { [arrived, sent] }
}
