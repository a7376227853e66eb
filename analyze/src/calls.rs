//! Calls: a request and the response to it. Links state which message caused which; people, and
//! tables of calls from other tools, ask which call was made for which. This module derives calls
//! from links: which messages form a call ([`pairing`]), which call is the parent of another
//! ([`LikelyParents`], [`CandidateParents`]), and the table of all calls ([`CallTable`]), as a
//! whole or window by window ([`windows`]).
//!
//! If both sides of a flow send independently, or a seeming response was sent before its request,
//! nothing is paired ([`one_way`], [`server_push`]). A response may come in several fragments
//! ([`response_fragments`]).
//!
//! A message that was never answered is a call without a response, so that every message belongs to
//! exactly one call.

mod by_roles;
mod candidates;
mod connection;
mod deliveries;
mod flows_with_ids;
mod from_trace;
mod greetings;
mod in_order;
mod multiplexed;
mod one_way;
mod order;
mod pairing;
mod parents;
mod response_fragments;
mod server_push;
mod table;
pub mod windows;

use std::borrow::Cow;

use message_trace::{Message, MessageId, MessageTrace, NodeId};
use out_of_core::id_types;
use rustc_hash::FxHashSet;

pub use candidates::CandidateParents;
pub use parents::{LikelyParent, LikelyParents};
pub use table::CallTable;

use crate::links::ParentMessage;

id_types! {
    /// Number of a call among the [`Calls`] of a trace, in the order of their first messages.
    pub struct CallId;
}

#[cfg(test)]
impl Calls {
    /// The rows of the request and the response of each call.
    pub(crate) fn pair_rows(&self) -> Vec<(Option<usize>, Option<usize>)> {
        let row = |id: Option<MessageId>| id.map(MessageId::index);
        self.iter().map(|call| (row(self.request(call)), row(self.response(call)))).collect()
    }
}

/// A request and its response; one of the two may be missing.
type MessagePair = (Option<MessageId>, Option<MessageId>);

const _: () = assert!(size_of::<MessagePair>() == 2 * size_of::<u32>());

/// The calls of a trace, ordered by the row of their first message.
#[derive(Clone, Debug, Default)]
pub struct Calls {
    request: Vec<Option<MessageId>>,
    response: Vec<Option<MessageId>>,
    /// The call of each message.
    of_message: Vec<CallId>,
    /// Fragments of responses before the last one, which is the response: the call and the row of
    /// each, in order.
    response_fragments: Vec<(CallId, MessageId)>,
    /// Entries that are no real calls but control messages of a connection, in order.
    control: Vec<CallId>,
    /// Calls with an imported id that an earlier call has, too.
    repeated: FxHashSet<CallId>,
    /// Calls with an uncertain pairing, in order, and the probability that it is wrong.
    mispairing: Vec<(CallId, f32)>,
}

impl Calls {
    /// Number of calls.
    pub fn len(&self) -> usize {
        self.request.len()
    }

    /// Returns all calls, in order.
    pub fn iter(&self) -> impl Iterator<Item = CallId> + Clone + use<> {
        CallId::ids().take(self.len())
    }

    /// Returns whether there are no calls.
    pub fn is_empty(&self) -> bool {
        self.request.is_empty()
    }

    /// Returns the call's request; `None` if only its response was seen.
    pub fn request(&self, call: CallId) -> Option<MessageId> {
        self.request[call.index()]
    }

    /// Returns the call's request or, if that was not seen, its response.
    fn request_or_response(&self, call: CallId) -> MessageId {
        self.request(call).or(self.response(call)).unwrap_or(MessageId::from_index(0))
    }

    /// Returns the call's first message, by which calls are ordered.
    pub(crate) fn earliest_message(&self, call: CallId) -> MessageId {
        let (request, response) = (self.request(call), self.response(call));
        request.into_iter().chain(response).min().unwrap_or(MessageId::from_index(0))
    }

    /// Returns the call's response.
    pub fn response(&self, call: CallId) -> Option<MessageId> {
        self.response[call.index()]
    }

    /// Returns whether the call is no real one but a control message of a connection, such as
    /// settings or a window update.
    pub(crate) fn is_control(&self, call: CallId) -> bool {
        self.control.binary_search(&call).is_ok()
    }

    /// Returns the probability that the response belongs to another call: 0 if that is impossible.
    /// It is above 0 if only the order distinguishes the calls of a connection. Of n calls that are
    /// open when a response comes, each is the right one with probability 1 / n.
    pub fn mispairing_probability(&self, call: CallId) -> f64 {
        let place = self.mispairing.binary_search_by_key(&call, |(call, _)| *call);
        place.map_or(0.0, |place| f64::from(self.mispairing[place].1))
    }

    /// Returns the number of messages of the call: 1 or 2, or more if its response came in
    /// fragments.
    pub fn message_count(&self, call: CallId) -> usize {
        let first = self.response_fragments.partition_point(|(of, _)| *of < call);
        let end = self.response_fragments.partition_point(|(of, _)| *of <= call);
        usize::from(self.request[call.index()].is_some())
            + usize::from(self.response[call.index()].is_some())
            + (end - first)
    }

    /// Returns the request that this message answers as a response fragment; `None` if the message
    /// is no fragment, or is the last one of its response.
    pub(crate) fn request_of_fragment(&self, message: MessageId) -> Option<MessageId> {
        let call = self.call_of_message(message);
        self.response_fragments
            .binary_search(&(call, message))
            .ok()
            .and_then(|_| self.request(call))
    }

    /// Returns the message of a possible parent; `None` if the parent is not in memory or the trace
    /// has no such message, which happens with links of another trace.
    fn known_message(&self, parent: ParentMessage) -> Option<MessageId> {
        parent.here().filter(|id| id.index() < self.of_message.len())
    }

    /// Returns whether the message is part of a complete call, or is an unanswered request.
    pub(crate) fn is_in_call(&self, message: MessageId) -> bool {
        self.request(self.call_of_message(message)).is_some()
    }

    /// Returns whether an id or a connection shows which messages belong to the call, rather than
    /// only the order of all messages between two nodes.
    pub(crate) fn is_reliably_paired(&self, trace: &MessageTrace, call: CallId) -> bool {
        let row = self.request_or_response(call);
        trace.call_number(row).is_some() || connection::is_connection(trace, row)
    }

    /// Returns the call that the message belongs to.
    pub fn call_of_message(&self, message: MessageId) -> CallId {
        self.of_message[message.index()]
    }

    /// Returns the call's id: the imported one or, without one, `#` and the row of its first
    /// message. If an earlier call has the same imported id, the `#` and row are appended, so that
    /// every id is unique.
    pub fn id<'trace>(&self, trace: &'trace MessageTrace, call: CallId) -> Cow<'trace, str> {
        let first = self.earliest_message(call);
        let row = first.index();
        match trace.call_id(first) {
            Some(id) if !self.repeated.contains(&call) => Cow::Borrowed(id),
            Some(id) => Cow::Owned(format!("{id}#{row}")),
            None => Cow::Owned(format!("#{row}")),
        }
    }

    /// Returns the caller and the callee, each with the thread that sent or received the request
    /// (or, if that was not seen, the response).
    pub fn caller_and_callee(
        &self,
        trace: &MessageTrace,
        call: CallId,
    ) -> [(NodeId, Option<i32>); 2] {
        let of = |m: Message| [(m.src, m.src_tid), (m.dst, m.dst_tid)];
        let [src, dst] = of(trace.message(self.request_or_response(call)));
        if self.request(call).is_some() { [src, dst] } else { [dst, src] }
    }
}
