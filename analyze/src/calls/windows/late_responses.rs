//! Late responses: responses that come later than the context of the batch with their request. A
//! first pass finds them, so that a call is complete however long it takes. Only the requests that
//! are open at a time and the late responses themselves are in memory.

use std::collections::VecDeque;

use message_trace::{DataDir, FlowId, MessageId, MessageTrace, PathError};
use rustc_hash::{FxHashMap, FxHashSet};

use super::super::Calls;
use super::message::CallMessage;
use crate::batches::{TraceBatches, TraceOverview};
use crate::tuning::calls::late_responses::MAX_OPEN_REQUESTS;

/// The late responses of a trace. Messages have their numbers in the whole trace.
#[derive(Debug, Default)]
pub(super) struct LateResponses {
    /// Late responses, by the number of the request.
    answers: FxHashMap<u64, CallMessage>,
    /// Numbers of the late responses, and of responses within the context of the batch of their
    /// request that are also in another batch without the request.
    numbers: FxHashSet<u64>,
}

impl LateResponses {
    /// Finds the late responses of the trace of `data`, in batches of `length`.
    ///
    /// # Errors
    /// If the trace cannot be read.
    pub(super) fn from_data(
        data: &DataDir,
        length: usize,
        overview: &TraceOverview,
    ) -> Result<LateResponses, PathError> {
        let mut late = LateResponses::default();
        let mut batches = TraceBatches::open(data, length, overview)?;
        if batches.is_single_batch() {
            return Ok(late);
        }
        let mut open = UnansweredRequests::default();
        // Responses in the context after the previous batch that answer requests in that batch.
        let mut already_paired: FxHashSet<u64> = FxHashSet::default();
        // Number of the first message after the context of the previous batch.
        let mut end = 0;
        while let Some(batch) = batches.next_batch()? {
            let (trace, first, own) = (&batch.trace, batch.first, batch.own.clone());
            let calls = Calls::from_trace(trace);
            let mut after_batch = FxHashSet::default();
            for call in calls.iter() {
                match (calls.request(call), calls.response(call)) {
                    (Some(request), Some(response))
                        if own.contains(&request.index()) && response.index() >= own.end =>
                    {
                        after_batch.insert(first + response.index() as u64);
                    }
                    (Some(request), None) if own.contains(&request.index()) => {
                        open.add_request(trace, request, first + request.index() as u64);
                    }
                    (Some(request), Some(response))
                        if request.index() < own.start && own.contains(&response.index()) =>
                    {
                        let answer = first + response.index() as u64;
                        if answer >= end {
                            let request = first + request.index() as u64;
                            open.remove_request(trace, response, request);
                            late.add_response(
                                request,
                                answer,
                                CallMessage::from_row(trace, first, response),
                            );
                        }
                    }
                    (None, Some(response)) if own.contains(&response.index()) => {
                        let answer = first + response.index() as u64;
                        if already_paired.contains(&answer) {
                            late.numbers.insert(answer);
                        } else if let Some(request) = open.take_earliest(trace, response) {
                            late.add_response(
                                request,
                                answer,
                                CallMessage::from_row(trace, first, response),
                            );
                        }
                    }
                    _ => {}
                }
            }
            (already_paired, end) = (after_batch, first + trace.len() as u64);
        }
        Ok(late)
    }

    fn add_response(&mut self, request: u64, answer: u64, seen: CallMessage) {
        self.answers.insert(request, seen);
        self.numbers.insert(answer);
    }

    /// Returns the late response to this request.
    pub(super) fn late_response(&self, request: u64) -> Option<CallMessage> {
        self.answers.get(&request).copied()
    }

    /// Returns whether this message is a late response.
    pub(super) fn is_late_response(&self, message: u64) -> bool {
        self.numbers.contains(&message)
    }
}

/// Open requests, the earliest first, by flow and, if there is one, call id.
#[derive(Default)]
struct UnansweredRequests {
    requests: FxHashMap<(FlowId, Option<Box<str>>), VecDeque<u64>>,
    count: usize,
}

impl UnansweredRequests {
    /// Returns the key that the request and the response of a call share. A message without an id
    /// has one only if its flow has as many responses as requests, so that their order pairs them.
    fn request_key(trace: &MessageTrace, row: MessageId) -> Option<(FlowId, Option<Box<str>>)> {
        let (flow, id) = (trace.flow(row), trace.call_id(row));
        let is_uneven =
            || trace.beyond.uneven.as_ref().is_some_and(|uneven| uneven.contains(&flow));
        (id.is_some() || !is_uneven()).then(|| (flow, id.map(Box::from)))
    }

    fn add_request(&mut self, trace: &MessageTrace, row: MessageId, request: u64) {
        if let Some(key) =
            UnansweredRequests::request_key(trace, row).filter(|_| self.count < MAX_OPEN_REQUESTS)
        {
            self.requests.entry(key).or_default().push_back(request);
            self.count += 1;
        }
    }

    /// Removes and returns the earliest open request with the key of this response.
    fn take_earliest(&mut self, trace: &MessageTrace, row: MessageId) -> Option<u64> {
        self.take_request(trace, row, |requests| requests.pop_front())
    }

    /// Removes a request that is known to be answered.
    fn remove_request(&mut self, trace: &MessageTrace, row: MessageId, request: u64) {
        self.take_request(trace, row, |requests| {
            let place = requests.iter().position(|open| *open == request)?;
            requests.remove(place)
        });
    }

    fn take_request(
        &mut self,
        trace: &MessageTrace,
        row: MessageId,
        take: impl FnOnce(&mut VecDeque<u64>) -> Option<u64>,
    ) -> Option<u64> {
        let key = UnansweredRequests::request_key(trace, row)?;
        let requests = self.requests.get_mut(&key)?;
        let taken = take(requests);
        if requests.is_empty() {
            self.requests.remove(&key);
        }
        self.count -= usize::from(taken.is_some());
        taken
    }
}
