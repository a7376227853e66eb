//! One request for JSON: its events or steps with names instead of numbers.

use out_of_core::Names;
use request_flow::Step;
use serde::Serialize;

use crate::analysis::source::{Found, Told};
use crate::canonical::Act;
use crate::demands::{Demands, Waits};
use crate::joined::{JoinedEvent, JoinedRequest};

/// One request with all that is known of it. Times are nanoseconds since the Unix epoch.
#[derive(Clone, Debug, Serialize)]
pub struct One {
    /// Its number.
    pub request: u64,
    /// Its name.
    pub name: String,
    /// When it began.
    pub begin: i64,
    /// When it ended.
    pub end: i64,
    /// What was used on its behalf.
    pub demands: Demands,
    /// Times in which its threads could not go on.
    pub waits: Waits,
    /// Its events in the order of time; empty where it is made of steps.
    pub events: Vec<OneEvent>,
    /// Synchronisations: places of two events each.
    pub syncs: Vec<[u32; 2]>,
    /// Its steps, depth first; empty where it is joined from events.
    pub steps: Vec<OneStep>,
    /// Its canonical form.
    pub canonical: Vec<OneElement>,
}

/// An event of a joined request.
#[derive(Clone, Debug, Serialize)]
pub struct OneEvent {
    /// When it happened.
    pub time: i64,
    /// Its kind.
    pub event: String,
    /// The host.
    pub host: String,
    /// The processor, -1 where it is not known.
    pub processor: i32,
    /// The process, 0 where it is not known.
    pub process: i32,
    /// The thread, 0 where it is not known.
    pub thread: i32,
    /// What was used since the thread's event before.
    pub demands: Demands,
    /// Why the thread could not go on in that time.
    pub waits: Waits,
}

/// A step of a request.
#[derive(Clone, Debug, Serialize)]
pub struct OneStep {
    /// The step that called it.
    pub parent: Option<u32>,
    /// The operation.
    pub operation: String,
    /// When its node began with it.
    pub begin: Option<i64>,
    /// When it ended.
    pub end: Option<i64>,
    /// Processor time in nanoseconds.
    pub processor_ns: Option<i64>,
    /// Why it could not go on.
    pub waits: Option<Waits>,
    /// Time in which it waited for its calls, in nanoseconds.
    pub calls_ns: Option<i64>,
}

/// An element of the canonical form.
#[derive(Clone, Debug, Serialize)]
pub struct OneElement {
    /// What happens.
    pub act: Act,
    /// Who does it.
    pub role: String,
    /// What it demands.
    pub demands: Demands,
    /// When it begins on endless processors, in nanoseconds from the begin of the request.
    pub begin: i64,
    /// When it ends there.
    pub end: i64,
}

impl One {
    /// All of a request.
    pub fn of(found: &Found<'_>, names: &Names) -> One {
        let facts = &found.facts;
        let text = |number| names.text(number).to_owned();
        let elements = found.canonical.elements.iter().map(|element| OneElement {
            act: element.act,
            role: text(element.role),
            demands: element.demands,
            begin: element.begin,
            end: element.end,
        });
        let mut one = One {
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
        match found.told {
            Told::Joined(request) => one.join(request, names),
            Told::Steps(request) => {
                one.steps = request.steps.iter().map(|step| of_step(step, names)).collect();
            }
        }
        one
    }

    fn join(&mut self, request: &JoinedRequest, names: &Names) {
        self.events = request.events.iter().map(|event| of_event(event, names)).collect();
        self.syncs = request.syncs.iter().map(|sync| [sync.source, sync.destination]).collect();
    }
}

fn of_event(event: &JoinedEvent, names: &Names) -> OneEvent {
    OneEvent {
        time: event.time,
        event: names.text(event.kind).to_owned(),
        host: names.text(event.host).to_owned(),
        processor: event.processor,
        process: event.process,
        thread: event.thread,
        demands: event.demands,
        waits: event.waits,
    }
}

fn of_step(step: &Step, names: &Names) -> OneStep {
    OneStep {
        parent: step.parent,
        operation: names.text(step.operation).to_owned(),
        begin: step.begin,
        end: step.end,
        processor_ns: step.processor_ns,
        waits: step.waits,
        calls_ns: step.children_ns(),
    }
}
