//! Joined requests by hand: the actions of each thread, and one order of them.

use std::collections::BTreeMap;

use out_of_core::NameId;
use workload::demands::Demands;
use workload::joined_request::{JoinedEvent, JoinedRequest, SyncEdge};

/// Kind of the seed event.
pub(crate) const SEED: u32 = 1;
/// Kind of an event at which only processor time is accounted for.
pub(crate) const SWITCH: u32 = 2;
/// Kind of an event at which a thread wakes others.
pub(crate) const SIGNAL: u32 = 3;

/// An action of a thread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum ThreadAction {
    /// The seed event.
    Begins,
    /// Uses that many nanoseconds.
    Works(i64),
    /// Gives the signal of that number.
    Signals(u32),
    /// Continues after the signal with this number, with an event of this kind.
    GoesOn(u32, u32),
    /// Continues when both signals were given, with an event of that kind.
    GoesOnAfterBoth([u32; 2], u32),
}

/// A request from steps in order: each with the thread that performs it, and its processor.
pub(crate) fn joined_request(steps: &[(i32, i32, ThreadAction)]) -> JoinedRequest {
    let seed = NameId::from_index(SEED as usize);
    let mut request = JoinedRequest { seed, whole: true, seeds: 1, ..Default::default() };
    let mut signals: BTreeMap<u32, u32> = BTreeMap::new();
    for (time, (thread, processor, does)) in (0..).zip(steps) {
        let place = request.events.len() as u32;
        let mut by = |number: &u32| {
            request.syncs.push(SyncEdge { source: signals[number], destination: place });
        };
        let (kind, used) = match does {
            ThreadAction::Begins => (SEED, 0),
            ThreadAction::Works(used) => (SWITCH, *used),
            ThreadAction::Signals(number) => {
                signals.insert(*number, place);
                (SIGNAL, 0)
            }
            ThreadAction::GoesOn(number, kind) => {
                by(number);
                (*kind, 0)
            }
            ThreadAction::GoesOnAfterBoth(numbers, kind) => {
                numbers.iter().for_each(by);
                (*kind, 0)
            }
        };
        let demands = Demands { processor_ns: used, ..Demands::default() };
        request.demands += demands;
        request.events.push(JoinedEvent {
            time: time * 10,
            kind: NameId::from_index(kind as usize),
            host: NameId::from_index(7),
            processor: *processor,
            process: 1,
            thread: *thread,
            demands,
            ..JoinedEvent::default()
        });
    }
    request.syncs.sort_by_key(|sync| sync.source);
    request
}
