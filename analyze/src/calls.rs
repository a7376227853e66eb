//! Calls: a request and the response to it. Links say which message caused which; people, and
//! tables of calls that other tools write, ask which call was made for which. What is between the
//! two is here: which messages are the two of a call ([`pairing`]), which call is the parent of
//! which ([`LikelyParents`], [`CandidateParents`]), and the table of all that ([`CallTable`]), as a
//! whole or window by window ([`windows`]).
//!
//! Where both sides of a flow send on their own, or what seems to answer was sent before it was
//! asked for, nothing is paired ([`one_way`], [`server_push`]). An answer may come in several
//! pieces ([`response_fragments`]).
//!
//! A message that was never answered is a call without a response, so that every message is of
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

use message_trace::{Message, MessageTrace, NodeId};
use rustc_hash::FxHashSet;

pub use candidates::CandidateParents;
pub use parents::{LikelyParent, LikelyParents};
pub use table::CallTable;

/// Row of no message.
const NONE: u32 = u32::MAX;

/// The calls of a trace, by the row of their first message.
#[derive(Clone, Debug, Default)]
pub struct Calls {
    request: Vec<u32>,
    response: Vec<u32>,
    of_message: Vec<u32>,
    /// The pieces of answers before the last one, which is the response: the call and the row of
    /// each, in order.
    response_fragments: Vec<(u32, u32)>,
    /// Calls that are none: messages of a connection's own, in order.
    own: Vec<u32>,
    /// Calls whose imported id an earlier one has, too.
    repeated: FxHashSet<u32>,
    /// Calls whose pairing is doubtful, in order.
    mispairing: Vec<(u32, f32)>,
}

impl Calls {
    /// Number of calls.
    pub fn len(&self) -> usize {
        self.request.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.request.is_empty()
    }

    /// The row of the call's request; none where only its response was seen.
    pub fn request(&self, call: usize) -> Option<usize> {
        Some(self.request[call] as usize).filter(|row| *row != NONE as usize)
    }

    /// The row of the call's request or, where it was not seen, of its response.
    fn request_or_response(&self, call: usize) -> usize {
        self.request(call).or(self.response(call)).unwrap_or_default()
    }

    /// The row of the call's first message: calls are in the order of these.
    pub(crate) fn earliest_row(&self, call: usize) -> usize {
        let (request, response) = (self.request(call), self.response(call));
        request.into_iter().chain(response).min().unwrap_or_default()
    }

    /// The row of the call's response.
    pub fn response(&self, call: usize) -> Option<usize> {
        Some(self.response[call] as usize).filter(|row| *row != NONE as usize)
    }

    /// Whether the call is none, but a message of a connection's own: settings, or a window that
    /// opens.
    pub(crate) fn is_control(&self, call: usize) -> bool {
        self.own.binary_search(&(call as u32)).is_ok()
    }

    /// Probability that the response is another call's, from 0 (sure) to 1, where nothing but their
    /// order tells the calls of a connection apart: of n calls that were open when it came, it is
    /// this one's with 1 / n.
    pub fn mispairing_probability(&self, call: usize) -> f64 {
        let place = self.mispairing.binary_search_by_key(&(call as u32), |(call, _)| *call);
        place.map_or(0.0, |place| f64::from(self.mispairing[place].1))
    }

    /// Number of messages of the call: 1 or 2, or more where its answer came in pieces.
    pub fn message_count(&self, call: usize) -> usize {
        let place =
            |call: usize| self.response_fragments.partition_point(|(of, _)| (*of as usize) < call);
        let pieces = place(call + 1) - place(call);
        usize::from(self.request[call] != NONE) + usize::from(self.response[call] != NONE) + pieces
    }

    /// The request of the call whose answer has that message as a piece, but not as its last one.
    pub(crate) fn request_of_fragment(&self, message: usize) -> Option<usize> {
        let call = self.call_of_message(message);
        self.response_fragments
            .binary_search(&(call as u32, message as u32))
            .ok()
            .and_then(|_| self.request(call))
    }

    /// Whether there is such a message: links of another trace may know more.
    fn has_message(&self, message: u32) -> bool {
        (message as usize) < self.of_message.len()
    }

    /// Whether the message is of a call of two, or a request that was not answered.
    pub(crate) fn is_in_call(&self, message: usize) -> bool {
        self.request[self.call_of_message(message)] != NONE
    }

    /// Whether an id or a connection says which messages the call is of, not only the order of all
    /// between two nodes.
    pub(crate) fn is_reliably_paired(&self, trace: &MessageTrace, call: usize) -> bool {
        let row = self.request_or_response(call);
        trace.call_number(row).is_some() || connection::is_connection(trace, row as u32)
    }

    /// The call that the message is of.
    pub fn call_of_message(&self, message: usize) -> usize {
        self.of_message[message] as usize
    }

    /// The call's id: the imported one or, where there is none, `#` and the row of its first
    /// message. Where an earlier call has the same imported id, it is followed by the latter, so
    /// that every id is of one call only.
    pub fn id<'trace>(&self, trace: &'trace MessageTrace, call: usize) -> Cow<'trace, str> {
        let row = self.request[call].min(self.response[call]);
        match trace.call_id(row as usize) {
            Some(id) if !self.repeated.contains(&(call as u32)) => Cow::Borrowed(id),
            Some(id) => Cow::Owned(format!("{id}#{row}")),
            None => Cow::Owned(format!("#{row}")),
        }
    }

    /// The two ends of a call, who made it and who was called, each with the thread that sent or
    /// received the request (or, where that was not seen, the response).
    pub fn caller_and_callee(
        &self,
        trace: &MessageTrace,
        call: usize,
    ) -> [(NodeId, Option<i32>); 2] {
        let of = |m: Message| [(m.src, m.src_tid), (m.dst, m.dst_tid)];
        match self.request(call) {
            Some(request) => of(trace.message(request)),
            None => {
                let [callee, caller] = of(trace.message(self.response[call] as usize));
                [caller, callee]
            }
        }
    }
}
