//! An example request: its steps, and its threads over time.

use message_trace::units::to_printable;
use request_flow::{NameInterner, Step, StepResource};
use serde::Serialize;
use workload::analysis::{RequestRecord, SourceRequest};
use workload::resources::{RecordedThreads, RequestThreads, ThreadLane, ThreadSlice};

use super::spent::times_by_resource;
use crate::tuning::{MAX_EXAMPLE_SLICES, MAX_EXAMPLE_STEPS, MAX_EXAMPLE_WAKES};

/// An example request. Times are nanoseconds from its begin.
#[derive(Debug, Serialize)]
pub struct ExampleRequest {
    request: u64,
    name: String,
    time: i64,
    steps: Vec<PageStep>,
    /// Number of omitted steps.
    left: usize,
    lanes: Vec<PageLane>,
    /// Hand-offs: the lane that signalled, the time, the lane that was woken, and the time.
    wakes: Vec<[i64; 4]>,
    /// Whether threads, time slices or hand-offs are omitted.
    is_cut: bool,
}

#[derive(Debug, Serialize)]
struct PageStep {
    parent: Option<u32>,
    name: String,
    /// The times, in nanoseconds, at which its node began and ended the step or, if these were not
    /// seen, its caller did; null if these were not seen either.
    time: Option<[i64; 2]>,
    /// Times by resource in nanoseconds, the time of the step's calls last; null if they were not
    /// recorded.
    spent: Option<[i64; 8]>,
}

/// A thread with its time slices: begin and end in nanoseconds, the activity as an index of
/// `Resource::ALL`, and the processor or -1.
#[derive(Debug, Serialize)]
struct PageLane {
    name: String,
    slices: Vec<[i64; 4]>,
}

impl ExampleRequest {
    /// A request of a recording, with the activity of `threads` in its time.
    pub fn from_request(
        found: &SourceRequest<'_>,
        names: &NameInterner,
        threads: Option<&RecordedThreads>,
    ) -> ExampleRequest {
        let facts = &found.facts;
        let mut example = ExampleRequest {
            request: facts.number,
            name: to_printable(names.name_of(facts.name)),
            time: facts.end - facts.begin,
            steps: Vec::new(),
            left: 0,
            lanes: Vec::new(),
            wakes: Vec::new(),
            is_cut: false,
        };
        if let RequestRecord::Steps(request) = found.record {
            let steps = request.steps.iter().take(MAX_EXAMPLE_STEPS);
            example.steps =
                steps.map(|step| PageStep::from_step(step, facts.begin, names)).collect();
            example.left = request.steps.len().saturating_sub(MAX_EXAMPLE_STEPS);
            let of = threads.map(|threads| RequestThreads::from_recording(threads, request, names));
            example.add_threads(&of.unwrap_or_default(), facts.begin);
        }
        example
    }

    /// Adds the threads, without their shortest slices if there are too many, and the hand-offs.
    fn add_threads(&mut self, of: &RequestThreads, begin: i64) {
        let host = of.lanes.first().map(|lane| lane.host.as_str());
        let one_host = of.lanes.iter().all(|lane| Some(lane.host.as_str()) == host);
        let slices: usize = of.lanes.iter().map(|lane| lane.slices.len()).sum();
        // If there are too many slices, the short ones are invisible and left out.
        let mut lengths: Vec<i64> = Vec::new();
        if slices > MAX_EXAMPLE_SLICES {
            let all = of.lanes.iter().flat_map(|lane| &lane.slices);
            lengths.extend(all.map(|slice| slice.to - slice.from));
            lengths.sort_unstable_by(|a, b| b.cmp(a));
        }
        let shortest = lengths.get(MAX_EXAMPLE_SLICES).map_or(0, |length| length + 1);
        self.lanes = of
            .lanes
            .iter()
            .map(|lane| PageLane::from_lane(lane, begin, one_host, shortest))
            .collect();
        let wakes = of.wakes.iter().take(MAX_EXAMPLE_WAKES);
        let wake = |wake: &workload::resources::LaneWake| {
            [wake.by as i64, wake.signalled - begin, wake.to as i64, wake.woken - begin]
        };
        self.wakes = wakes.map(wake).collect();
        self.is_cut = of.is_cut || shortest > 0 || of.wakes.len() > MAX_EXAMPLE_WAKES;
    }
}

impl PageStep {
    fn from_step(step: &Step, begin: i64, names: &NameInterner) -> PageStep {
        let at_node = step.begin.zip(step.end);
        let (from, to) = step.span_at_caller();
        let time = at_node.or(from.zip(to)).map(|(from, to)| [from - begin, to - begin]);
        let spent = step.processor_ns.zip(step.waits.as_ref()).zip(step.children_ns()).map(
            |((processor, waits), calls)| {
                let mut all = [calls; StepResource::ALL.len() + 1];
                all.iter_mut()
                    .zip(times_by_resource(processor, waits))
                    .for_each(|(into, of)| *into = of);
                all
            },
        );
        PageStep {
            parent: step.parent,
            name: to_printable(names.name_of(step.operation)),
            time,
            spent,
        }
    }
}

impl PageLane {
    /// A thread with the slices of at least `shortest` nanoseconds. Its name includes the host
    /// unless `one_host` is set.
    fn from_lane(lane: &ThreadLane, begin: i64, one_host: bool, shortest: i64) -> PageLane {
        let ThreadLane { host, process, thread, slices } = lane;
        let own =
            if process == thread { format!("{thread}") } else { format!("{process}/{thread}") };
        let name = if one_host { own } else { format!("{} {own}", to_printable(host)) };
        let slices = slices.iter().filter(|slice| slice.to - slice.from >= shortest);
        let slice = |slice: &ThreadSlice| {
            let what = StepResource::ALL.iter().position(|what| *what == slice.what).unwrap_or(0);
            let processor = slice.processor.map_or(-1, i64::from);
            [slice.from - begin, slice.to - begin, what as i64, processor]
        };
        PageLane { name, slices: slices.map(slice).collect() }
    }
}
