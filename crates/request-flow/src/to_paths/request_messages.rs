//! The messages of a request, and the cause of each.
//!
//! ```text
//! caller   |--------------------------|             1 the call
//!          1\                        /4
//! step       |----------------------|               2 a child's call, caused by 1
//!               2\     /3   ...                     3 its response, caused by the messages below
//! child            |--|                             4 the response, caused by 3, the latest one
//! ```

mod nodes;

use message_trace::{FROM_ACCEPTING, FROM_CONNECTING, FlowId, TransportProtocol};

use super::call_parameters::{CallParameters, ParameterKeys};
use super::end_interner::EndInterner;
use super::message_record::{MessageRecord, NIL, NO_CAUSE, NO_THREAD};
use crate::request::Request;
use crate::siblings::SiblingSteps;
use crate::step::Step;
use nodes::{CalleeEnd, NodeNames};
use out_of_core::NameInterner;

/// Messages of a group of requests.
pub(super) struct GroupMessages {
    /// The messages in the order of time. Their numbers and those of nodes, endpoints, flows and
    /// steps begin at 0 in each group.
    pub(super) records: Vec<MessageRecord>,
    pub(super) ends: EndInterner,
    /// Number of steps.
    pub(super) steps: u64,
}

/// Makes messages of one request after the other.
pub(super) struct RequestConverter {
    names: NodeNames,
    keys: ParameterKeys,
    made: GroupMessages,
    steps: Vec<StepFacts>,
    /// For each step of the current request: the number of its call or, if only the response was
    /// seen, of the response.
    begun_by: Vec<u64>,
    /// For each step of the current request: the number of its response, once it was made.
    answers: Vec<Option<u64>>,
    /// Buffer for the children of a step.
    children: Vec<Step>,
}

/// Facts about a step that are computed before its messages are made.
#[derive(Clone, Copy)]
struct StepFacts {
    callee: CalleeEnd,
    tid: i32,
    protocol: TransportProtocol,
    /// Whether the step is a call within its node, without separate times at the caller.
    is_within: bool,
    has_call: bool,
    has_answer: bool,
    /// The sibling with the response that the step waits for.
    waits_for: Option<u32>,
    /// The child with the response that the step waits for before it ends.
    last: Option<u32>,
}

/// A message of a step, and its cause.
#[derive(Clone, Copy)]
struct StepMessage {
    /// Index of the step in its request.
    place: u32,
    is_answer: bool,
    cause: u64,
    probability: f64,
}

/// One end of a message.
#[derive(Clone, Copy)]
struct RecordEnd {
    node: u32,
    endpoint: u32,
    tid: i32,
    time: Option<i64>,
}

impl RequestConverter {
    /// Creates a converter of requests with names in `names`.
    pub(super) fn new(names: NameInterner) -> RequestConverter {
        let keys = ParameterKeys::from_names(&names);
        RequestConverter {
            names: NodeNames::new(names),
            keys,
            made: GroupMessages { records: Vec::new(), ends: EndInterner::default(), steps: 0 },
            steps: Vec::new(),
            begun_by: Vec::new(),
            answers: Vec::new(),
            children: Vec::new(),
        }
    }

    /// Makes the messages of a request.
    pub(super) fn add_request(&mut self, request: &Request) {
        let Some(root) = request.steps.first() else { return };
        self.collect_facts(request);
        self.find_waits(request);
        let parameters = CallParameters::from_parameters(&request.parameters, 0, &self.keys);
        let caller = self.names.find_caller(request, root, &parameters, &mut self.made.ends);
        self.begun_by.clear();
        self.answers.clear();
        // A response follows all messages of its step: a step stays open until the next step is not
        // below it.
        let mut open: Vec<u32> = Vec::new();
        for (place, step) in (0..).zip(&request.steps) {
            while open.last().is_some_and(|last| Some(*last) != step.parent) {
                self.push_response(request, caller, open.pop());
            }
            self.push_call(request, caller, place);
            open.push(place);
        }
        while let Some(last) = open.pop() {
            self.push_response(request, caller, Some(last));
        }
        self.made.steps += request.steps.len() as u64;
    }

    /// Returns the messages, in the order of time.
    pub(super) fn finish(mut self) -> GroupMessages {
        self.made.records.sort_by_key(out_of_core::KeyedRecord::key);
        self.made
    }

    fn collect_facts(&mut self, request: &Request) {
        self.steps.clear();
        for (place, step) in request.steps.iter().enumerate() {
            let parameters =
                CallParameters::from_parameters(&request.parameters, place, &self.keys);
            let callee = self.names.find_callee(step, &parameters, &mut self.made.ends);
            let above = step.parent.and_then(|parent| request.steps.get(parent as usize));
            let is_unseen = step.caller_begin.is_none() && step.caller_end.is_none();
            let is_same = |above: &Step| (above.node, above.host) == (step.node, step.host);
            let is_one_way = step.caller_begin.is_some() && step.caller_end.is_none();
            let has_end = step.end.is_some() || step.caller_end.is_some();
            // The step continued when its caller no longer waited.
            let is_left = step.caller_end.is_some() && step.end > step.caller_end;
            self.steps.push(StepFacts {
                callee,
                tid: parameters.tid().unwrap_or(NO_THREAD),
                protocol: if parameters.is_exported() {
                    parameters.protocol()
                } else {
                    TransportProtocol::Other
                },
                is_within: is_unseen && above.is_some_and(is_same),
                has_call: !parameters.is_unseen("request"),
                has_answer: has_end && !is_one_way && !is_left && !parameters.is_unseen("response"),
                waits_for: None,
                last: None,
            });
        }
    }

    /// Finds the response that each step waits for before it begins, and before it ends.
    fn find_waits(&mut self, request: &Request) {
        for (parent, children) in request.children_of_steps().iter().enumerate() {
            if children.is_empty() {
                continue;
            }
            self.children.clear();
            self.children.extend(children.iter().map(|child| {
                let (step, facts) = (&request.steps[*child as usize], &self.steps[*child as usize]);
                // A step without a response is not waited for.
                match facts.has_answer {
                    true => *step,
                    false => Step { end: None, caller_end: None, ..*step },
                }
            }));
            let step = &request.steps[parent];
            let siblings = SiblingSteps::from_children(&self.children, step.last_time());
            let child = |place: u32| children.get(place as usize).copied();
            for (of, waits_for) in children.iter().zip(&siblings.waits_for) {
                self.steps[*of as usize].waits_for = waits_for.and_then(child);
            }
            self.steps[parent].last = siblings.last.and_then(child);
        }
    }

    /// Makes the message that begins a step: its call or, if only the response was seen, the
    /// response.
    fn push_call(&mut self, request: &Request, caller: u32, place: u32) {
        let (step, facts) = (&request.steps[place as usize], self.steps[place as usize]);
        let waited = facts.waits_for.and_then(|sibling| self.answers[sibling as usize]);
        let above = step.parent.map(|parent| self.begun_by[parent as usize]);
        let cause = waited.or(above).unwrap_or(NO_CAUSE);
        let probability = if step.probability > 0.0 { step.probability.min(1.0) } else { 1.0 };
        let is_answer = !facts.has_call;
        let made =
            self.push_message(step, caller, StepMessage { place, is_answer, cause, probability });
        self.begun_by.push(made);
        self.answers.push(is_answer.then_some(made));
    }

    /// Makes the response of a step, if it has one.
    fn push_response(&mut self, request: &Request, caller: u32, place: Option<u32>) {
        let Some(place) = place else { return };
        let facts = self.steps[place as usize];
        if facts.has_answer && facts.has_call {
            let last = facts.last.and_then(|child| self.answers[child as usize]);
            let cause = last.unwrap_or(self.begun_by[place as usize]);
            let message = StepMessage { place, is_answer: true, cause, probability: 1.0 };
            let made = self.push_message(&request.steps[place as usize], caller, message);
            self.answers[place as usize] = Some(made);
        }
    }

    /// Adds a message of a step, and returns its number.
    fn push_message(&mut self, step: &Step, caller: u32, message: StepMessage) -> u64 {
        let StepMessage { place, is_answer, cause, probability } = message;
        let facts = self.steps[place as usize];
        let above = step.parent.and_then(|parent| self.steps.get(parent as usize));
        let (times, bytes) = match is_answer {
            true => ([step.caller_end, step.end], step.bytes_out),
            false => ([step.caller_begin, step.begin], step.bytes_in),
        };
        let CalleeEnd { node, endpoint, caller_endpoint, is_connecting } = facts.callee;
        let at_callee = RecordEnd { node, endpoint, tid: facts.tid, time: times[1] };
        let at_caller = RecordEnd {
            node: above.map_or(caller, |above| above.callee.node),
            endpoint: caller_endpoint,
            tid: above.map_or(NO_THREAD, |above| above.tid),
            time: if facts.is_within { times[1] } else { times[0] },
        };
        let GroupMessages { records, ends, steps } = &mut self.made;
        let flow = ends.flows.intern([at_caller.node, node, endpoint]);
        let (from, to) = if is_answer { (at_callee, at_caller) } else { (at_caller, at_callee) };
        let made = records.len() as u64;
        records.push(MessageRecord {
            sent: from.time.unwrap_or(NIL),
            received: to.time.unwrap_or(NIL),
            made,
            cause,
            probability,
            step: *steps + u64::from(place),
            flow: FlowId::from_number(i64::from(flow)),
            bytes: bytes.unwrap_or(0),
            src: from.node as i32,
            dst: to.node as i32,
            src_endpoint: from.endpoint,
            dst_endpoint: to.endpoint,
            src_tid: from.tid,
            dst_tid: to.tid,
            direction: if is_answer == is_connecting { FROM_CONNECTING } else { FROM_ACCEPTING },
            protocol: facts.protocol as u8,
            unused: [0; 6],
        });
        made
    }
}

#[cfg(test)]
mod tests;
