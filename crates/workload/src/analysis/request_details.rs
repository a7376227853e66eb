//! One request for JSON: its events or steps with names instead of numbers.

use out_of_core::NameInterner;
use request_flow::Step;
use serde::Serialize;

use crate::analysis::request_source::{RequestRecord, SourceRequest};
use crate::canonical::ElementAct;
use crate::demands::{Demands, WaitTimes};
use crate::joined_request::{JoinedEvent, JoinedRequest};

/// A request with all its facts. Times are nanoseconds since the Unix epoch.
#[derive(Clone, Debug, Serialize)]
pub struct RequestDetails {
    /// Number of the request.
    pub request: u64,
    /// Name of the request.
    pub name: String,
    /// When the request began.
    pub begin: i64,
    /// When the request ended.
    pub end: i64,
    /// Resources used on behalf of the request.
    pub demands: Demands,
    /// Times in which the request's threads were blocked.
    pub waits: WaitTimes,
    /// Events of the request in the order of time; empty if it consists of steps.
    pub events: Vec<EventDetails>,
    /// Synchronisations: the index of the signalling event, and that of the event with which the
    /// other thread continues.
    pub syncs: Vec<[u32; 2]>,
    /// Steps of the request, depth first; empty if it is joined from events.
    pub steps: Vec<StepDetails>,
    /// Canonical form of the request.
    pub canonical: Vec<ElementDetails>,
}

/// An event of a joined request.
#[derive(Clone, Debug, Serialize)]
pub struct EventDetails {
    /// When the event happened, in nanoseconds since the Unix epoch.
    pub time: i64,
    /// Kind of the event.
    pub event: String,
    /// The host.
    pub host: String,
    /// The processor, -1 if it is not known.
    pub processor: i32,
    /// The process, 0 if it is not known.
    pub process: i32,
    /// The thread, 0 if it is not known.
    pub thread: i32,
    /// Resources used since the thread's previous event.
    pub demands: Demands,
    /// Times for which the thread was blocked since its previous event, by reason.
    pub waits: WaitTimes,
}

/// A step of a request.
#[derive(Clone, Debug, Serialize)]
pub struct StepDetails {
    /// The calling step.
    pub parent: Option<u32>,
    /// The operation.
    pub operation: String,
    /// When the step's node began it, in nanoseconds since the Unix epoch.
    pub begin: Option<i64>,
    /// When the step ended, in nanoseconds since the Unix epoch.
    pub end: Option<i64>,
    /// Processor time in nanoseconds.
    pub processor_ns: Option<i64>,
    /// Times in which the step was blocked, by reason.
    pub waits: Option<WaitTimes>,
    /// Time in which the step waited for its calls, in nanoseconds.
    pub calls_ns: Option<i64>,
}

/// An element of the canonical form.
#[derive(Clone, Debug, Serialize)]
pub struct ElementDetails {
    /// Act of the element.
    pub act: ElementAct,
    /// The role that performs the element.
    pub role: String,
    /// Demands of the element.
    pub demands: Demands,
    /// Begin of the element with unlimited processors, in nanoseconds from the begin of the
    /// request.
    pub begin: i64,
    /// End of the element with unlimited processors, in nanoseconds from the begin of the request.
    pub end: i64,
}

impl RequestDetails {
    /// The details of a request.
    pub fn from_source(found: &SourceRequest<'_>, names: &NameInterner) -> RequestDetails {
        let facts = &found.facts;
        let text = |number| names.name_of(number).to_owned();
        let elements = found.canonical.elements.iter().map(|element| ElementDetails {
            act: element.act,
            role: text(element.role),
            demands: element.demands,
            begin: element.begin,
            end: element.end,
        });
        let mut details = RequestDetails {
            request: facts.number,
            name: text(facts.name),
            begin: facts.begin,
            end: facts.end,
            demands: facts.demands,
            waits: facts.waits,
            events: Vec::new(),
            syncs: Vec::new(),
            steps: Vec::new(),
            canonical: elements.collect(),
        };
        match found.record {
            RequestRecord::Joined(request) => details.add_joined_events(request, names),
            RequestRecord::Steps(request) => {
                details.steps =
                    request.steps.iter().map(|step| step_details(step, names)).collect();
            }
        }
        details
    }

    fn add_joined_events(&mut self, request: &JoinedRequest, names: &NameInterner) {
        self.events = request.events.iter().map(|event| event_details(event, names)).collect();
        self.syncs = request.syncs.iter().map(|sync| [sync.source, sync.destination]).collect();
    }
}

fn event_details(event: &JoinedEvent, names: &NameInterner) -> EventDetails {
    EventDetails {
        time: event.time,
        event: names.name_of(event.kind).to_owned(),
        host: names.name_of(event.host).to_owned(),
        processor: event.processor,
        process: event.process,
        thread: event.thread,
        demands: event.demands,
        waits: event.waits,
    }
}

fn step_details(step: &Step, names: &NameInterner) -> StepDetails {
    StepDetails {
        parent: step.parent,
        operation: names.name_of(step.operation).to_owned(),
        begin: step.begin,
        end: step.end,
        processor_ns: step.processor_ns,
        waits: step.waits,
        calls_ns: step.children_ns(),
    }
}
