//! Events and requests that are made by hand. All threads are of process 7 of the host `h`.

use events::{Event, Piece, Value};
use out_of_core::{MemoryPool, NameId, Names};
use request_flow::{Request, Step, StepThreads};

use crate::resources::gather::Gathering;
use crate::resources::ledger::Sums;
use crate::resources::of_step::{OfSteps, messages};

/// Time, thread, kind and attributes.
type MadeEvent = (i64, i32, String, Vec<(String, i64)>);

#[derive(Default)]
pub(super) struct Made {
    events: Vec<MadeEvent>,
    others: Vec<Request>,
}

/// A root that one thread served.
pub(super) fn step(begin: i64, end: i64, thread: i32) -> Step {
    let threads = StepThreads {
        process: Some(7),
        begin: Some(thread),
        end: Some(thread),
        ..StepThreads::default()
    };
    Step { begin: Some(begin), end: Some(end), threads, host: 1, ..Step::of(1, 1) }
}

/// A call of the root by one of its threads, of a node that was not seen.
pub(super) fn call(thread: i32, begin: i64, end: i64) -> Step {
    let threads = StepThreads {
        caller_process: Some(7),
        caller_begin: Some(thread),
        caller_end: Some(thread),
        ..StepThreads::default()
    };
    Step {
        parent: Some(0),
        caller_begin: Some(begin),
        caller_end: Some(end),
        threads,
        ..Step::of(2, 2)
    }
}

fn request(steps: &[Step]) -> Request {
    let mut request = Request::default();
    steps.iter().for_each(|step| request.push(*step, []));
    request
}

impl Made {
    pub(super) fn event(&mut self, thread: i32, kind: &str, time: i64, of: &[(&str, i64)]) {
        let of = of.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        self.events.push((time, thread, kind.to_owned(), of));
    }

    /// A thread gets a processor at some times, and gives it up at others.
    pub(super) fn scheduled(&mut self, thread: i32, on: &[i64], off: &[i64]) {
        on.iter().for_each(|time| self.event(thread, "sched/In", *time, &[]));
        off.iter().for_each(|time| self.event(thread, "sched/Out", *time, &[("preempted", 0)]));
    }

    /// Another request.
    pub(super) fn also(&mut self, steps: &[Step]) {
        self.others.push(request(steps));
    }

    /// What the moments of each step of a request were.
    pub(super) fn of(mut self, steps: &[Step]) -> Vec<Option<Sums>> {
        let mut names = Names::default();
        let mut piece = Piece::default();
        self.events.sort_by_key(|(time, ..)| *time);
        for (time, thread, kind, of) in &self.events {
            let event = Event {
                time: *time,
                kind: names.number(kind),
                host: names.number("h"),
                process: 7,
                thread: *thread,
                ..Event::default()
            };
            let of: Vec<(NameId, Value<'_>)> =
                of.iter().map(|(name, value)| (names.number(name), Value::Int(*value))).collect();
            piece.push(event, of);
        }
        let mut gathering = Gathering::new(&MemoryPool::default());
        gathering.events(&piece, &names).unwrap();
        let host = |number: NameId| if number == 1 { "h" } else { "" };
        let request = request(steps);
        for request in self.others.iter().chain([&request]) {
            messages(request, host, |thread, time, step, last| {
                gathering.mark(thread, time, step, last)
            })
            .unwrap();
        }
        let timelines = gathering.finish().unwrap();
        let mut of_steps = OfSteps::default();
        let children = request.children();
        let of = children.iter().enumerate();
        of.map(|(place, children)| of_steps.sums(&timelines, &request, place, children, host))
            .collect()
    }
}
