//! Emission: turns a closed set into a request.

use out_of_core::NameInterner;

use crate::accounting::UsageSums;
use crate::demands::Demands;
use crate::join::arena::NONE;
use crate::join::program::JoinProgram;
use crate::join::set_store::{EventNode, EventSet, SetStore, SyncTouch};
use crate::joined_request::{JoinedEvent, JoinedRequest};
use crate::synchronization::{TouchedAt, find_syncs};

/// The request of a set with a seed; the set is removed. `whole` says whether the set was closed by
/// its events, and not by a limit.
pub(crate) fn emit_request(
    set: u32,
    whole: bool,
    program: &JoinProgram,
    store: &mut SetStore,
    shares: &mut UsageSums,
) -> JoinedRequest {
    let of = store.sets.get(set);
    let mut nodes = Vec::with_capacity(of.events as usize);
    let mut next = of.first;
    while next != NONE {
        let node = store.nodes.get(next);
        nodes.push(node);
        next = node.next;
    }
    nodes.sort_unstable_by_key(|node| node.order);
    let mut request = JoinedRequest {
        number: 0,
        seed: of.seed.1,
        name: if of.name.1 == NameInterner::UNKNOWN { of.seed.1 } else { of.name.1 },
        seeds: of.seeds,
        whole,
        events: nodes.iter().map(|node| joined_event(node, store)).collect(),
        ..JoinedRequest::default()
    };
    for (node, event) in nodes.iter().zip(&request.events) {
        request.demands += event.demands;
        shares.charge_event(event, node.is_interrupt);
    }
    if !program.syncs.is_empty() {
        let touched = touched_events(&of, store, &nodes);
        request.syncs = find_syncs(&program.syncs, &request.events, &touched);
    }
    store.remove_set(set);
    request
}

fn joined_event(node: &EventNode, store: &SetStore) -> JoinedEvent {
    let extras =
        if node.extras == NONE { Default::default() } else { store.extras.get(node.extras) };
    JoinedEvent {
        time: node.event.time,
        kind: node.event.kind,
        host: node.event.host,
        processor: node.event.processor,
        process: node.event.process,
        thread: node.event.thread,
        demands: Demands { processor_ns: node.processor_ns, ..extras.demands },
        waits: extras.waits,
        is_wait: node.is_wait,
    }
}

fn touched_events(set: &EventSet, store: &SetStore, nodes: &[EventNode]) -> Vec<TouchedAt> {
    let mut touched = Vec::new();
    let mut next = set.touches;
    while next != NONE {
        let SyncTouch { attribute, key, order, next: after } = store.touches.get(next);
        if let Ok(place) = nodes.binary_search_by_key(&order, |node| node.order) {
            touched.push(TouchedAt { attribute, key, place: place as u32 });
        }
        next = after;
    }
    touched.sort_unstable();
    touched
}
