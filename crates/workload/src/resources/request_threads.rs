//! Threads of one request: the threads that handled its messages, and the threads that woke these
//! or were woken by them, with their activity during the request.

use out_of_core::{NameId, NameInterner};
use request_flow::{Request, Step};

use super::recorded_threads::{RecordedThreads, ThreadName, ThreadSlice};
use crate::tuning::{MAX_HANDOFF_ROUNDS, MAX_REQUEST_THREADS};

/// The threads of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestThreads {
    /// The threads, in the order in which they first computed.
    pub lanes: Vec<ThreadLane>,
    /// Hand-offs between the lanes.
    pub wakes: Vec<LaneWake>,
    /// Whether threads were left out because of the limit.
    pub is_cut: bool,
}

/// The activity of one thread during a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadLane {
    /// The host.
    pub host: String,
    /// Id of the process.
    pub process: i32,
    /// Id of the thread.
    pub thread: i32,
    /// Time slices of the lane, in order. Unknown time has no slice.
    pub slices: Vec<ThreadSlice>,
}

/// A hand-off from one lane to another. Times are nanoseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneWake {
    /// Index of the signalling lane.
    pub by: usize,
    /// Time of the signal.
    pub signalled: i64,
    /// Index of the woken lane.
    pub to: usize,
    /// Time at which the woken thread continued.
    pub woken: i64,
}

impl RequestThreads {
    /// The threads of `request` in a recording. The hosts of the request's steps must be known.
    pub fn from_recording(
        threads: &RecordedThreads,
        request: &Request,
        names: &NameInterner,
    ) -> RequestThreads {
        let (Some(begin), Some(end)) = (request.begin(), request.end()) else {
            return RequestThreads::default();
        };
        let mut found: Vec<usize> = Vec::new();
        let take = |place: Option<usize>, found: &mut Vec<usize>| match place {
            Some(place) if !found.contains(&place) => found.push(place),
            _ => {}
        };
        for step in &request.steps {
            let caller = step.parent.and_then(|parent| request.steps.get(parent as usize));
            let caller_host = caller.map_or(request.caller_host, |caller| caller.host);
            for (host, process, thread) in message_handlers(step, caller_host) {
                let known = process.zip(thread).and_then(|(process, thread)| {
                    threads.find_thread(&ThreadName { host: names.name_of(host), process, thread })
                });
                take(known, &mut found);
            }
        }
        let all: Vec<ThreadName<'_>> = threads.thread_names().collect();
        for _ in 0..MAX_HANDOFF_ROUNDS {
            let known = found.clone();
            for woken in 0..all.len() {
                let wakes = threads.wakes_within(woken, begin, end);
                for wake in wakes.filter(|wake| wake.signalled >= begin) {
                    if known.contains(&woken) {
                        take(Some(wake.by), &mut found);
                    } else if known.contains(&wake.by) {
                        take(Some(woken), &mut found);
                    }
                }
            }
            if found.len() == known.len() {
                break;
            }
        }
        let is_cut = found.len() > MAX_REQUEST_THREADS;
        found.truncate(MAX_REQUEST_THREADS);

        let mut lanes: Vec<(usize, ThreadLane)> = found
            .into_iter()
            .filter_map(|place| {
                let ThreadName { host, process, thread } = *all.get(place)?;
                let slices = threads.slices_within(place, begin, end);
                Some((place, ThreadLane { host: host.to_owned(), process, thread, slices }))
            })
            .collect();
        lanes.sort_by_key(|(_, lane)| {
            let computed = lane.slices.iter().find(|slice| slice.processor.is_some());
            computed.or(lane.slices.first()).map_or(i64::MAX, |slice| slice.from)
        });
        let place_of = |place: usize| lanes.iter().position(|(of, _)| *of == place);
        let mut wakes = Vec::new();
        for (to, (place, _)) in lanes.iter().enumerate() {
            for wake in threads.wakes_within(*place, begin, end) {
                if let Some(by) = place_of(wake.by).filter(|_| wake.signalled >= begin) {
                    let (signalled, woken) = (wake.signalled, wake.woken);
                    wakes.push(LaneWake { by, signalled, to, woken });
                }
            }
        }
        RequestThreads { lanes: lanes.into_iter().map(|(_, lane)| lane).collect(), wakes, is_cut }
    }
}

/// Host, process and thread of the handlers of a step's messages, at its node and at its caller.
fn message_handlers(step: &Step, caller_host: NameId) -> [(NameId, Option<i32>, Option<i32>); 4] {
    let of = step.threads;
    [
        (caller_host, of.caller_process, of.caller_begin),
        (step.host, of.process, of.begin),
        (step.host, of.process, of.end),
        (caller_host, of.caller_process, of.caller_end),
    ]
}

#[cfg(test)]
mod tests {
    use events::{AttributeValue, Event, EventWriter};
    use request_flow::StepThreads;

    use super::*;

    /// A client calls thread 8, which wakes 9; 10 does something else at the same time.
    #[test]
    fn threads_are_found_by_messages_and_hand_offs() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("events.parquet");
        let mut names = NameInterner::default();
        let [host, going, coming, wake] =
            ["h", "sched/Out", "sched/In", "sockcap/Wake"].map(|name| names.intern(name));
        let [by, duration, signalled] =
            ["by", "duration", "signalled"].map(|name| names.intern(name));
        let mut writer = EventWriter::create(&path).unwrap();
        let event = |time, thread, kind| Event {
            time,
            kind,
            host,
            processor: thread % 2,
            process: 7,
            thread,
        };
        for (time, thread, kind) in
            [(5, 10, coming), (10, 8, coming), (20, 8, going), (20, 9, coming)]
        {
            writer.push_event(event(time, thread, kind), [], &names).unwrap();
        }
        let of = [(by, 8), (duration, 15), (signalled, 18)]
            .map(|(name, of)| (name, AttributeValue::Int(of)));
        writer.push_event(event(21, 9, wake), of, &names).unwrap();
        for (time, thread, kind) in [(40, 9, going), (60, 10, going)] {
            writer.push_event(event(time, thread, kind), [], &names).unwrap();
        }
        writer.finish(&names).unwrap();

        let threads = RecordedThreads::read_events(&path, u64::MAX, directory.path()).unwrap();
        let threads_of = StepThreads { process: Some(7), begin: Some(8), ..Default::default() };
        let mut request = Request::default();
        let step = Step { begin: Some(12), end: Some(50), host, ..Step::new(host, host) };
        request.push_step(Step { threads: threads_of, ..step }, []);
        let found = RequestThreads::from_recording(&threads, &request, &names);
        let lanes: Vec<i32> = found.lanes.iter().map(|lane| lane.thread).collect();
        assert_eq!((lanes, found.is_cut), (vec![8, 9], false));
        assert_eq!(found.lanes[0].slices[0].from, 12);
        // The thread waits, is runnable, and runs.
        assert_eq!((found.lanes[1].slices[0].to, found.lanes[1].slices[1].to), (18, 20));
        assert_eq!(found.lanes[1].slices[2].processor, Some(1));
        assert_eq!(found.wakes, [LaneWake { by: 0, signalled: 18, to: 1, woken: 21 }]);
        // A request without times has no threads.
        request.steps[0].end = None;
        assert_eq!(
            RequestThreads::from_recording(&threads, &request, &names),
            RequestThreads::default()
        );
    }
}
