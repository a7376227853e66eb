//! The calls of a data directory window by window, each with its parent and the root of its trace,
//! for callers that process them one by one ([`for_each_window`]). A trace may be larger than
//! memory, so only the messages and links of a batch and its context are in memory
//! ([`crate::batches`]), and of earlier calls only their roots.
//!
//! Within a batch and its context, a quarter of its length on each side, calls and parents are
//! found as in a single trace. A first pass finds the responses that come later than the context
//! ([`late_responses`]); only calls caused by a late response get no parent.

mod late_responses;
mod message;
mod parties;
mod roots;

use std::ops::ControlFlow;

use message_trace::{
    DataDir, EndpointId, FROM_CONNECTING, MessageId, MessageTrace, PathError, TransportProtocol,
};
use rustc_hash::FxHashMap;

use super::{CallId, Calls, CandidateParents, LikelyParents};
use crate::batches::{TraceBatches, TraceOverview};
use crate::links::{LinkReader, Links};
use crate::options::Options;
use crate::receipt::MessageReceipt;
use late_responses::LateResponses;
use parties::PartyIndex;
use roots::TraceRoots;

pub use message::CallMessage;
pub use parties::Party;
pub use roots::TraceRoot;

/// The call that another call was made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParentCall {
    /// Number of the call.
    pub call: u64,
    /// Whether a message of the call was seen at the node that made the call.
    pub at_caller: bool,
    /// Whether a message of the call was seen at the node that serves the call.
    pub at_callee: bool,
}

/// One call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TracedCall<'window> {
    /// Number of the call's first message in the whole trace.
    pub number: u64,
    /// The most likely parent; `None` if the call is most likely spontaneous, or nothing is known.
    pub parent: Option<ParentCall>,
    /// Probability of the parent, from 0 to 1; `None` if the links do not cover the call.
    pub probability: Option<f64>,
    /// The root of the call's trace; the call itself if it has no parent.
    pub root: TraceRoot,
    /// The caller, as an index into [`CallWindow::parties`].
    pub caller: usize,
    /// The callee, as an index into [`CallWindow::parties`].
    pub callee: usize,
    /// The threads of caller and callee.
    pub threads: [Option<i32>; 2],
    /// The caller's endpoint, by the user's name for it.
    pub src_endpoint: Option<&'window str>,
    /// The callee's endpoint.
    pub dst_endpoint: Option<&'window str>,
    /// Whether the caller made the connection, so that the callee's port is a server's.
    pub from_connecting: bool,
    /// Transport protocol of the call.
    pub protocol: TransportProtocol,
    /// The request; `None` if only the response was seen.
    pub request: Option<CallMessage>,
    /// The response.
    pub response: Option<CallMessage>,
    /// The call id that the source of the trace recorded, if any.
    pub id: Option<&'window str>,
}

/// The calls of a batch.
pub struct CallWindow<'whole> {
    /// All parties of this window and the earlier ones.
    pub parties: &'whole [Party],
    batch: &'whole MessageTrace,
    /// Number of the first message of `batch` in the whole trace.
    first: u64,
    /// The calls of the batch and its context.
    calls: &'whole Calls,
    parents: &'whole LikelyParents,
    /// The calls of the batch without its context.
    own: &'whole [CallId],
    late: &'whole LateResponses,
    /// The root of each of `calls`.
    roots: &'whole [TraceRoot],
    /// Whether each of `calls` was cut off from its parent to break a cycle.
    cut: &'whole [bool],
    /// The caller and the callee of each of `own`, as indices into `parties`.
    ends: Vec<[usize; 2]>,
    /// The name of each endpoint of `batch`; `None` if it is unnamed.
    endpoints: Vec<Option<String>>,
}

impl CallWindow<'_> {
    /// Returns the number of calls.
    pub fn len(&self) -> usize {
        self.own.len()
    }

    /// Returns whether there are no calls.
    pub fn is_empty(&self) -> bool {
        self.own.is_empty()
    }

    /// Returns the number of messages of these calls.
    pub fn message_count(&self) -> usize {
        let late = self.own.iter().filter(|call| self.late_response(**call).is_some()).count();
        self.own.iter().map(|call| self.calls.message_count(*call)).sum::<usize>() + late
    }

    /// Returns the calls, in the order of their first messages.
    pub fn calls(&self) -> impl ExactSizeIterator<Item = TracedCall<'_>> + '_ {
        self.own.iter().zip(&self.ends).map(|(call, ends)| self.traced_call(*call, *ends))
    }

    /// Returns the request and the response of a call of the window.
    fn messages_of(&self, call: CallId) -> [Option<CallMessage>; 2] {
        let seen = |row: Option<MessageId>| {
            row.map(|row| CallMessage::from_row(self.batch, self.first, row))
        };
        let response = seen(self.calls.response(call)).or_else(|| self.late_response(call));
        let request = self.calls.request(call).map(|row| {
            let mut receipt = MessageReceipt::from_row(self.batch, row);
            receipt.note_effect(response.and_then(|response| response.sent));
            CallMessage {
                received: receipt.at,
                ..CallMessage::from_row(self.batch, self.first, row)
            }
        });
        [request, response]
    }

    /// Returns the response to a call if it lies beyond the window.
    fn late_response(&self, call: CallId) -> Option<CallMessage> {
        let request = self.calls.request(call).filter(|_| self.calls.response(call).is_none())?;
        self.late.late_response(self.first + request.index() as u64)
    }

    fn traced_call(&self, call: CallId, [caller, callee]: [usize; 2]) -> TracedCall<'_> {
        let (calls, trace) = (self.calls, self.batch);
        let [request, response] = self.messages_of(call);
        let has_request = calls.request(call).is_some();
        let message = trace.message(calls.request_or_response(call));
        let known = self.parents.of_call(call).filter(|_| !self.cut[call.index()]);
        let parent = known.and_then(|parent| parent.call).map(|parent| {
            let [request, response] = self.messages_of(parent);
            ParentCall {
                call: self.first + calls.earliest_message(parent).index() as u64,
                at_caller: request.is_some_and(|m| m.sent.is_some())
                    || response.is_some_and(|m| m.received.is_some()),
                at_callee: request.is_some_and(|m| m.received.is_some())
                    || response.is_some_and(|m| m.sent.is_some()),
            }
        });
        let endpoint =
            |id: EndpointId| self.endpoints.get(id.index()).and_then(|text| text.as_deref());
        let (src, dst, from_connecting) = if has_request {
            (message.src_endpoint, message.dst_endpoint, message.direction == FROM_CONNECTING)
        } else {
            (message.dst_endpoint, message.src_endpoint, message.direction != FROM_CONNECTING)
        };
        TracedCall {
            number: self.first + calls.earliest_message(call).index() as u64,
            parent,
            probability: known.map(|parent| parent.probability),
            root: self.roots[call.index()],
            caller,
            callee,
            threads: calls.caller_and_callee(trace, call).map(|(_, tid)| tid),
            src_endpoint: endpoint(src),
            dst_endpoint: endpoint(dst),
            from_connecting,
            protocol: message.protocol,
            request,
            response,
            id: trace.call_id(calls.request_or_response(call)),
        }
    }
}

/// Passes each window of the calls of `data`, analyzed with `options`, to `each`, until `each`
/// breaks off.
///
/// # Errors
/// If a table cannot be read, and errors of `each`.
pub fn for_each_window<E: From<PathError>>(
    data: &DataDir,
    options: &Options,
    mut each: impl FnMut(&CallWindow<'_>) -> Result<ControlFlow<()>, E>,
) -> Result<(), E> {
    let overview = TraceOverview::read(data, options.resources.thread_count(), true)?;
    let overview = overview.without_evidence(&options.without);
    let late = LateResponses::from_data(data, options.stretch, &overview)?;
    let mut parties = PartyIndex::new(overview.outline.trace(), options);
    let mut batches = TraceBatches::open(data, options.stretch, &overview)?;
    let mut reader = LinkReader::open(&data.links_path())?;
    let (mut links, mut first) = (Links::default(), 0);
    // Roots of earlier calls that the window still refers to.
    let mut known: FxHashMap<u64, TraceRoot> = FxHashMap::default();
    while let Some(current) = batches.next_batch()? {
        let trace = &current.trace;
        links.remove_first(((current.first - first) as usize).min(links.message_count()));
        first = current.first;
        reader.read_until(&mut links, first, first + trace.len() as u64)?;
        let calls = Calls::from_trace(trace);
        let parents = LikelyParents::from_links(
            &calls,
            &links,
            &CandidateParents::from_links(&calls, &links),
        );
        known.retain(|call, _| *call >= first);
        let TraceRoots { roots, cut } =
            TraceRoots::from_parents(trace, first, &calls, &parents, &known);
        let number = |call: CallId| first + calls.earliest_message(call).index() as u64;
        let own: Vec<CallId> = calls
            .iter()
            .filter(|call| {
                current.own.contains(&calls.earliest_message(*call).index())
                    && !late.is_late_response(number(*call))
            })
            .collect();
        known.extend(own.iter().map(|call| (number(*call), roots[call.index()])));
        let ends = own
            .iter()
            .map(|call| {
                calls
                    .caller_and_callee(trace, *call)
                    .map(|(node, tid)| parties.party_index(node, tid))
            })
            .collect();
        let endpoints = trace.endpoints().iter().map(|endpoint| {
            let text = endpoint.to_string();
            Some(options.aliases.endpoint_text(&text).unwrap_or(text))
                .filter(|text| !text.is_empty())
        });
        let window = CallWindow {
            parties: &parties.all,
            batch: trace,
            first,
            calls: &calls,
            parents: &parents,
            own: &own,
            late: &late,
            roots: &roots,
            cut: &cut,
            ends,
            endpoints: endpoints.collect(),
        };
        if each(&window)?.is_break() {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "windows_tests.rs"]
mod tests;
