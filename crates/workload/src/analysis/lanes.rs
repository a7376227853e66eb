//! Lanes: the states of each thread or step during a request (Magpie, Figure 6).

use out_of_core::NameInterner;
use request_flow::Request;
use rustc_hash::FxHashMap;

use crate::demands::{Demands, WaitTimes};
use crate::joined_request::JoinedRequest;

/// State of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneState {
    /// The thread ran.
    Running,
    /// The thread was ready to run without a processor.
    Runnable,
    /// The thread waited for a file or a disk.
    Disk,
    /// The thread waited for a lock or another thread.
    Lock,
    /// The thread waited for another program.
    Peer,
    /// The thread slept.
    Asleep,
    /// The state is unknown.
    Unknown,
    /// The thread waited for the steps that it called.
    Calls,
}

impl LaneState {
    /// All states, in the order in which they are shown.
    pub const ALL: [LaneState; 8] = [
        LaneState::Running,
        LaneState::Runnable,
        LaneState::Disk,
        LaneState::Lock,
        LaneState::Peer,
        LaneState::Asleep,
        LaneState::Unknown,
        LaneState::Calls,
    ];

    /// Name of the state on screen.
    pub fn screen_words(self) -> &'static str {
        match self {
            LaneState::Running => "running",
            LaneState::Runnable => "ready, without a processor",
            LaneState::Disk => "waiting for a file",
            LaneState::Lock => "waiting for a lock",
            LaneState::Peer => "waiting for a peer",
            LaneState::Asleep => "asleep",
            LaneState::Unknown => "unknown",
            LaneState::Calls => "waiting for its calls",
        }
    }
}

/// A time span in one state, in nanoseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneSlice {
    /// Begin of the time slice, in nanoseconds since the Unix epoch.
    pub begin: i64,
    /// End of the time slice, in nanoseconds since the Unix epoch.
    pub end: i64,
    /// State of the thread in the time slice.
    pub state: LaneState,
}

/// The states of one thread or step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestLane {
    /// The thread or step.
    pub name: String,
    /// Time slices of the lane, in the order of time.
    pub slices: Vec<LaneSlice>,
}

impl RequestLane {
    /// Time in a state, in nanoseconds.
    pub fn time_in_state(&self, state: LaneState) -> i64 {
        let of = self.slices.iter().filter(|slice| slice.state == state);
        of.map(|slice| slice.end - slice.begin).sum()
    }
}

/// A lane for each thread of a joined request, in the order of their first events. The order of
/// states between two events of a thread is not known: waits are drawn first.
pub fn lanes_of_joined(request: &JoinedRequest, names: &NameInterner) -> Vec<RequestLane> {
    let mut lanes: Vec<RequestLane> = Vec::new();
    let mut places: FxHashMap<_, (usize, i64)> = FxHashMap::default();
    for event in &request.events {
        let place = places.entry((event.host, event.thread)).or_insert_with(|| {
            let host = names.name_of(event.host);
            let blank = if host.is_empty() { "" } else { " " };
            lanes.push(RequestLane {
                name: format!("{host}{blank}{}", event.thread),
                slices: Vec::new(),
            });
            (lanes.len() - 1, event.time)
        });
        let (at, last) = *place;
        place.1 = event.time;
        if let Some(lane) = lanes.get_mut(at) {
            split_into_slices(&event.demands, &event.waits, last, event.time, &mut lane.slices);
        }
    }
    lanes
}

/// A lane for each step, in depth-first order; deeper ones are indented. The order within a step is
/// not known: its own work is drawn first, then its calls.
pub fn lanes_of_steps(request: &Request, names: &NameInterner) -> Vec<RequestLane> {
    let depths = request.step_depths();
    request
        .steps
        .iter()
        .zip(depths)
        .map(|(step, depth)| {
            let indent = "  ".repeat(depth as usize);
            let mut lane = RequestLane {
                name: format!("{indent}{}", names.name_of(step.operation)),
                slices: Vec::new(),
            };
            let (begin, end) = match (step.begin, step.end) {
                (Some(begin), Some(end)) => (begin, end),
                _ => match step.span_at_caller() {
                    (Some(begin), Some(end)) => (begin, end),
                    _ => return lane,
                },
            };
            match (step.processor_ns, step.waits) {
                (Some(processor_ns), Some(waits)) => {
                    let demands = Demands { processor_ns, ..Demands::default() };
                    split_into_slices(&demands, &waits, begin, end, &mut lane.slices);
                    let last = lane.slices.last().map_or(begin, |slice| slice.end);
                    if last < end {
                        lane.slices.push(LaneSlice { begin: last, end, state: LaneState::Calls });
                    }
                }
                _ => lane.slices.push(LaneSlice { begin, end, state: LaneState::Unknown }),
            }
            lane
        })
        .collect()
}

/// Appends the states of a time span to `slices`, waits first, cut at the end of the span.
fn split_into_slices(
    demands: &Demands,
    waits: &WaitTimes,
    begin: i64,
    end: i64,
    slices: &mut Vec<LaneSlice>,
) {
    let parts = [
        (LaneState::Runnable, waits.runnable_ns),
        (LaneState::Disk, waits.disk_ns),
        (LaneState::Lock, waits.lock_ns),
        (LaneState::Peer, waits.peer_ns),
        (LaneState::Asleep, waits.asleep_ns),
        (LaneState::Unknown, waits.unknown_ns),
        (LaneState::Running, demands.processor_ns),
    ];
    let mut at = begin;
    for (state, took) in parts {
        let until = at.saturating_add(took.max(0)).min(end);
        if until > at {
            slices.push(LaneSlice { begin: at, end: until, state });
            at = until;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::joined_request::JoinedEvent;
    use request_flow::Step;

    #[test]
    fn a_thread_waits_and_then_runs() {
        let mut names = NameInterner::default();
        let host = names.intern("web1");
        let event = |time, thread, processor_ns, lock_ns| JoinedEvent {
            time,
            host,
            thread,
            demands: Demands { processor_ns, ..Demands::default() },
            waits: WaitTimes { lock_ns, ..WaitTimes::default() },
            ..JoinedEvent::default()
        };
        let events = vec![event(0, 1, 0, 0), event(5, 2, 0, 0), event(10, 1, 4, 6)];
        let lanes = lanes_of_joined(&JoinedRequest { events, ..JoinedRequest::default() }, &names);
        assert_eq!(lanes.len(), 2);
        assert_eq!(lanes[0].name, "web1 1");
        let slice = |begin, end, state| LaneSlice { begin, end, state };
        assert_eq!(
            lanes[0].slices,
            [slice(0, 6, LaneState::Lock), slice(6, 10, LaneState::Running)]
        );
        assert!(lanes[1].slices.is_empty());
        assert_eq!(lanes[0].time_in_state(LaneState::Lock), 6);
    }

    #[test]
    fn the_remaining_time_of_a_step_is_call_time() {
        let mut names = NameInterner::default();
        let shop = names.intern("shop:80");
        let step = Step { begin: Some(0), end: Some(100), ..Step::new(shop, shop) };
        let known = Step {
            processor_ns: Some(30),
            waits: Some(WaitTimes { disk_ns: 20, ..WaitTimes::default() }),
            ..step
        };
        let mut request = Request::default();
        request.push_step(known, []);
        request.push_step(Step { parent: Some(0), ..step }, []);
        let lanes = lanes_of_steps(&request, &names);
        assert_eq!(
            (lanes[0].time_in_state(LaneState::Running), lanes[0].time_in_state(LaneState::Calls)),
            (30, 50)
        );
        assert_eq!(
            (lanes[1].name.as_str(), lanes[1].time_in_state(LaneState::Unknown)),
            ("  shop:80", 100)
        );
    }
}
