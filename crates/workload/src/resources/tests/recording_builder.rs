//! Events and requests built by hand. All threads belong to process 7 of the host `h`.

use events::{AttributeValue, Event, EventBatch};
use out_of_core::{MemoryPool, NameId, NameInterner};
use request_flow::{Request, Step, StepThreads};

use crate::resources::moment_sums::MomentSums;
use crate::resources::step_resources::{StepSums, for_each_message};
use crate::resources::timeline_builder::TimelineBuilder;

/// Time, thread, kind and attributes.
type TestEventRow = (i64, i32, String, Vec<(String, i64)>);

#[derive(Default)]
pub(super) struct RecordingBuilder {
    events: Vec<TestEventRow>,
    others: Vec<Request>,
}

/// A root step that one thread served.
pub(super) fn root_step(begin: i64, end: i64, thread: i32) -> Step {
    let threads = StepThreads {
        process: Some(7),
        begin: Some(thread),
        end: Some(thread),
        ..StepThreads::default()
    };
    Step {
        begin: Some(begin),
        end: Some(end),
        threads,
        host: NameId::from_index(1),
        ..Step::new(NameId::from_index(1), NameId::from_index(1))
    }
}

/// A call of the root by one of its threads, to a node that was not seen.
pub(super) fn call_step(thread: i32, begin: i64, end: i64) -> Step {
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
        ..Step::new(NameId::from_index(2), NameId::from_index(2))
    }
}

fn request_of_steps(steps: &[Step]) -> Request {
    let mut request = Request::default();
    steps.iter().for_each(|step| request.push_step(*step, []));
    request
}

impl RecordingBuilder {
    pub(super) fn add_event(&mut self, thread: i32, kind: &str, time: i64, of: &[(&str, i64)]) {
        let of = of.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        self.events.push((time, thread, kind.to_owned(), of));
    }

    /// Adds the times at which a thread gets a processor, and gives it up.
    pub(super) fn add_scheduling(&mut self, thread: i32, on: &[i64], off: &[i64]) {
        on.iter().for_each(|time| self.add_event(thread, "sched/In", *time, &[]));
        off.iter().for_each(|time| self.add_event(thread, "sched/Out", *time, &[("preempted", 0)]));
    }

    /// Adds another request.
    pub(super) fn add_request(&mut self, steps: &[Step]) {
        self.others.push(request_of_steps(steps));
    }

    /// The classified times of each step of a request.
    pub(super) fn sums_of_steps(mut self, steps: &[Step]) -> Vec<Option<MomentSums>> {
        let mut names = NameInterner::default();
        let mut piece = EventBatch::default();
        self.events.sort_by_key(|(time, ..)| *time);
        for (time, thread, kind, of) in &self.events {
            let event = Event {
                time: *time,
                kind: names.intern(kind),
                host: names.intern("h"),
                process: 7,
                thread: *thread,
                ..Event::default()
            };
            let of: Vec<(NameId, AttributeValue<'_>)> = of
                .iter()
                .map(|(name, value)| (names.intern(name), AttributeValue::Int(*value)))
                .collect();
            piece.push_event(event, of);
        }
        let mut gathering = TimelineBuilder::new(&MemoryPool::default());
        gathering.add_events(&piece, &names).unwrap();
        let host = |number: NameId| if number == NameId::from_index(1) { "h" } else { "" };
        let request = request_of_steps(steps);
        for request in self.others.iter().chain([&request]) {
            for_each_message(request, host, |thread, time, step, last| {
                gathering.add_message(thread, time, step, last)
            })
            .unwrap();
        }
        let timelines = gathering.finish().unwrap();
        let mut of_steps = StepSums::default();
        let children = request.children_of_steps();
        let of = children.iter().enumerate();
        of.map(|(place, children)| {
            of_steps.sums_of_step(&timelines, &request, place, children, host)
        })
        .collect()
    }
}
