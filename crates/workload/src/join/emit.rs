//! Emission: a closed set to a request.

use crate::accounting::Shares;
use crate::demands::Demands;
use crate::join::arena::NONE;
use crate::join::program::Program;
use crate::join::store::{Node, Set, Store, Touch};
use crate::joined::{JoinedEvent, JoinedRequest};
use crate::synchronization::{TouchedAt, syncs};

/// The request of a set that has a seed, and is taken away.
pub(crate) fn emit(
    set: u32,
    whole: bool,
    program: &Program,
    store: &mut Store,
    shares: &mut Shares,
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
        name: if of.name.1 == 0 { of.seed.1 } else { of.name.1 },
        seeds: of.seeds,
        whole,
        events: nodes.iter().map(|node| event(node, store)).collect(),
        ..JoinedRequest::default()
    };
    for (node, event) in nodes.iter().zip(&request.events) {
        request.demands += event.demands;
        shares.charge(event, node.is_interrupt);
    }
    if !program.syncs.is_empty() {
        let touched = touched(&of, store, &nodes);
        request.syncs = syncs(&program.syncs, &request.events, &touched);
    }
    store.remove(set);
    request
}

fn event(node: &Node, store: &Store) -> JoinedEvent {
    let more = if node.more == NONE { Default::default() } else { store.more.get(node.more) };
    JoinedEvent {
        time: node.event.time,
        kind: node.event.kind,
        host: node.event.host,
        processor: node.event.processor,
        process: node.event.process,
        thread: node.event.thread,
        demands: Demands { processor_ns: node.processor_ns, ..more.demands },
        waits: more.waits,
        is_wait: node.is_wait,
    }
}

fn touched(set: &Set, store: &Store, nodes: &[Node]) -> Vec<TouchedAt> {
    let mut touched = Vec::new();
    let mut next = set.touches;
    while next != NONE {
        let Touch { attribute, key, order, next: after } = store.touches.get(next);
        if let Ok(place) = nodes.binary_search_by_key(&order, |node| node.order) {
            touched.push(TouchedAt { attribute, key, place: place as u32 });
        }
        next = after;
    }
    touched.sort_unstable();
    touched
}
