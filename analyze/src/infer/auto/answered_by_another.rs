//! Responses sent by another process than the one that received the request.

use message_trace::{MessageId, MessageTrace};

use crate::calls::Calls;
use crate::naming::Naming;

/// Finds the request that a message answers by its connection or call id, for messages that no
/// service explains: the sender was not traced, or another process on the host received the request
/// and passed the connection to the sender.
pub(super) fn request_of(
    trace: &MessageTrace,
    naming: &Naming,
    calls: &Calls,
    message: MessageId,
) -> Option<MessageId> {
    let call = calls.call_of_message(message);
    let is_known = calls.response(call) == Some(message) && calls.is_reliably_paired(trace, call);
    let (sender, node) = (naming.src(message), |node: u32| &naming.nodes()[node as usize]);
    calls.request(call).filter(|request| {
        let receiver = naming.dst(*request);
        let host = |id| trace.nodes.get(id).map(|node| &node.host);
        let [got, answers] = [trace.message(*request).dst, trace.message(message).src];
        is_known
            && (!node(sender).traced
                || sender != receiver && node(receiver).traced && host(got) == host(answers))
    })
}
