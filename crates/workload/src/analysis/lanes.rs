//! Lanes: what each thread or step did over the time of a request (Magpie, Figure 6).

use out_of_core::Names;
use request_flow::Request;
use rustc_hash::FxHashMap;

use crate::demands::{Demands, Waits};
use crate::joined::JoinedRequest;

/// What a thread did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It ran.
    Running,
    /// It could have run, but had no processor.
    Runnable,
    /// It waited for a file or a disk.
    Disk,
    /// It waited for a lock or another thread.
    Lock,
    /// It waited for another program.
    Peer,
    /// It slept.
    Asleep,
    /// Nobody can tell.
    Unknown,
    /// It waited for the steps that it called.
    Calls,
}

impl State {
    /// All of them, in the order in which they are shown.
    pub const ALL: [State; 8] = [
        State::Running,
        State::Runnable,
        State::Disk,
        State::Lock,
        State::Peer,
        State::Asleep,
        State::Unknown,
        State::Calls,
    ];

    /// What it is called on screen.
    pub fn words(self) -> &'static str {
        match self {
            State::Running => "running",
            State::Runnable => "ready, without a processor",
            State::Disk => "waiting for a file",
            State::Lock => "waiting for a lock",
            State::Peer => "waiting for a peer",
            State::Asleep => "asleep",
            State::Unknown => "unknown",
            State::Calls => "waiting for its calls",
        }
    }
}

/// A stretch of time in one state, in nanoseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// When it begins.
    pub begin: i64,
    /// When it ends.
    pub end: i64,
    /// The state.
    pub state: State,
}

/// What one thread or step did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lane {
    /// The thread or step.
    pub name: String,
    /// Its slices, in the order of time.
    pub slices: Vec<Slice>,
}

impl Lane {
    /// Time in a state, in nanoseconds.
    pub fn sum(&self, state: State) -> i64 {
        let of = self.slices.iter().filter(|slice| slice.state == state);
        of.map(|slice| slice.end - slice.begin).sum()
    }
}

/// A lane for each thread of a joined request, in the order of their first events. Within the time
/// between two events of a thread the order of states is not known: waits come first.
pub fn of_joined(request: &JoinedRequest, names: &Names) -> Vec<Lane> {
    let mut lanes: Vec<Lane> = Vec::new();
    let mut places: FxHashMap<_, (usize, i64)> = FxHashMap::default();
    for event in &request.events {
        let place = places.entry((event.host, event.thread)).or_insert_with(|| {
            let host = names.text(event.host);
            let blank = if host.is_empty() { "" } else { " " };
            lanes.push(Lane { name: format!("{host}{blank}{}", event.thread), slices: Vec::new() });
            (lanes.len() - 1, event.time)
        });
        let (at, last) = *place;
        place.1 = event.time;
        if let Some(lane) = lanes.get_mut(at) {
            split(&event.demands, &event.waits, last, event.time, &mut lane.slices);
        }
    }
    lanes
}

/// A lane for each step, in depth-first order; deeper ones are indented. When within the step it
/// did what is not known: what it did itself comes first, then its calls.
pub fn of_steps(request: &Request, names: &Names) -> Vec<Lane> {
    let depths = request.depths();
    request
        .steps
        .iter()
        .zip(depths)
        .map(|(step, depth)| {
            let indent = "  ".repeat(depth as usize);
            let mut lane = Lane {
                name: format!("{indent}{}", names.text(step.operation)),
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
                    split(&demands, &waits, begin, end, &mut lane.slices);
                    let last = lane.slices.last().map_or(begin, |slice| slice.end);
                    if last < end {
                        lane.slices.push(Slice { begin: last, end, state: State::Calls });
                    }
                }
                _ => lane.slices.push(Slice { begin, end, state: State::Unknown }),
            }
            lane
        })
        .collect()
}

/// Puts the states of a time into `slices`, waits first, cut at its end.
fn split(demands: &Demands, waits: &Waits, begin: i64, end: i64, slices: &mut Vec<Slice>) {
    let parts = [
        (State::Runnable, waits.runnable_ns),
        (State::Disk, waits.disk_ns),
        (State::Lock, waits.lock_ns),
        (State::Peer, waits.peer_ns),
        (State::Asleep, waits.asleep_ns),
        (State::Unknown, waits.unknown_ns),
        (State::Running, demands.processor_ns),
    ];
    let mut at = begin;
    for (state, took) in parts {
        let until = at.saturating_add(took.max(0)).min(end);
        if until > at {
            slices.push(Slice { begin: at, end: until, state });
            at = until;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::joined::JoinedEvent;
    use request_flow::Step;

    #[test]
    fn a_thread_waits_and_then_runs() {
        let mut names = Names::default();
        let host = names.number("web1");
        let event = |time, thread, processor_ns, lock_ns| JoinedEvent {
            time,
            host,
            thread,
            demands: Demands { processor_ns, ..Demands::default() },
            waits: Waits { lock_ns, ..Waits::default() },
            ..JoinedEvent::default()
        };
        let events = vec![event(0, 1, 0, 0), event(5, 2, 0, 0), event(10, 1, 4, 6)];
        let lanes = of_joined(&JoinedRequest { events, ..JoinedRequest::default() }, &names);
        assert_eq!(lanes.len(), 2);
        assert_eq!(lanes[0].name, "web1 1");
        let slice = |begin, end, state| Slice { begin, end, state };
        assert_eq!(lanes[0].slices, [slice(0, 6, State::Lock), slice(6, 10, State::Running)]);
        assert!(lanes[1].slices.is_empty());
        assert_eq!(lanes[0].sum(State::Lock), 6);
    }

    #[test]
    fn what_a_step_did_not_do_itself_is_its_calls() {
        let mut names = Names::default();
        let shop = names.number("shop:80");
        let step = Step { begin: Some(0), end: Some(100), ..Step::of(shop, shop) };
        let known = Step {
            processor_ns: Some(30),
            waits: Some(Waits { disk_ns: 20, ..Waits::default() }),
            ..step
        };
        let mut request = Request::default();
        request.push(known, []);
        request.push(Step { parent: Some(0), ..step }, []);
        let lanes = of_steps(&request, &names);
        assert_eq!((lanes[0].sum(State::Running), lanes[0].sum(State::Calls)), (30, 50));
        assert_eq!((lanes[1].name.as_str(), lanes[1].sum(State::Unknown)), ("  shop:80", 100));
    }
}
