//! The hand-offs between the threads of each service, from the hand-offs of the trace's processes.

use message_trace::{MessageTrace, NodeId};
use rustc_hash::FxHashMap;

use super::service::UNKNOWN_THREAD;
use crate::infer::input::InferenceInput;

/// A hand-off between two threads of a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ServiceHandoff {
    /// Time at which the first thread signalled, in nanoseconds by the clock of the service.
    pub(super) signalled: i64,
    /// Time at which the other thread woke, by the clock of the service.
    pub(super) woken: i64,
    /// The thread that signalled, by its number in the service.
    pub(super) from: u32,
    /// The thread that woke; [`UNKNOWN_THREAD`] if no thread waited.
    pub(super) to: u32,
    /// The signalled object.
    pub(super) object: i64,
}

/// The hand-offs of each node of `input`, with threads numbered by `number` and times on the clock
/// of the node: its own clock, unless `is_by_peers` states that all times of the node are on the
/// common clock.
pub(super) fn handoffs_by_node(
    input: &InferenceInput<'_>,
    is_by_peers: impl Fn(u32) -> bool,
    mut number: impl FnMut(NodeId, Option<i32>) -> u32,
) -> FxHashMap<u32, Vec<ServiceHandoff>> {
    let InferenceInput { trace, naming, handoffs, .. } = *input;
    let mut of: FxHashMap<u32, Vec<ServiceHandoff>> = FxHashMap::default();
    if handoffs.is_empty() {
        return of;
    }
    // Nodes that are only a part of a process have no hand-offs between them.
    let mut nodes: FxHashMap<NodeId, Option<u32>> = FxHashMap::default();
    for row in trace.ids() {
        let message = trace.message(row);
        for (process, node) in [(message.src, naming.src(row)), (message.dst, naming.dst(row))] {
            let known = nodes.entry(process).or_insert(Some(node));
            *known = known.filter(|known| *known == node);
        }
    }
    let node_of = |process: NodeId| nodes.get(&process).copied().flatten();
    let processes = handoffs.iter().map(|handoff| handoff.node);
    let with_own_clock =
        |process: &NodeId| node_of(*process).is_some_and(|node| !is_by_peers(node));
    let clocks = clocks(trace, processes.filter(with_own_clock));
    for handoff in handoffs {
        let Some(node) = node_of(handoff.node) else { continue };
        let clock = clocks.get(&handoff.node);
        let own = |common: i64| clock.map_or(common, |clock| clock.local_time(common));
        of.entry(node).or_default().push(ServiceHandoff {
            signalled: own(handoff.signalled),
            woken: own(handoff.woken),
            from: number(handoff.node, Some(handoff.from)),
            to: handoff.to.map_or(UNKNOWN_THREAD, |to| number(handoff.node, Some(to))),
            object: handoff.object,
        });
    }
    of
}

/// The clock of a process: pairs of a common time and the nanoseconds by which the clock is ahead
/// of the common clock from then on.
#[derive(Debug, Default)]
struct ProcessClock(Vec<(i64, i64)>);

/// The clocks of these processes, from their messages.
fn clocks(
    trace: &MessageTrace,
    processes: impl Iterator<Item = NodeId>,
) -> FxHashMap<NodeId, ProcessClock> {
    let mut clocks: FxHashMap<NodeId, ProcessClock> =
        processes.map(|process| (process, ProcessClock::default())).collect();
    if clocks.is_empty() {
        return clocks;
    }
    for row in trace.ids() {
        let message = trace.message(row);
        let sent = (message.src, message.send_ts, message.send_first);
        let received = (message.dst, message.recv_ts, message.recv_last);
        for (process, common, own) in [sent, received] {
            let Some(clock) = clocks.get_mut(&process) else { continue };
            let ahead = common.zip(own).map(|(common, own)| (common, own.saturating_sub(common)));
            clock.0.extend(ahead);
        }
    }
    for ProcessClock(ahead) in clocks.values_mut() {
        ahead.sort_unstable();
        ahead.dedup_by_key(|(_, ahead)| *ahead);
    }
    clocks
}

impl ProcessClock {
    /// The time of this clock at a common time.
    fn local_time(&self, common: i64) -> i64 {
        let after = self.0.partition_point(|(since, _)| *since <= common);
        let known = self.0.get(after.saturating_sub(1));
        common.saturating_add(known.map_or(0, |(_, ahead)| *ahead))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    #[test]
    fn a_clock_offset_is_taken_from_the_message_before() {
        let clock = ProcessClock(vec![(100, 7), (200, 9)]);
        assert_eq!(
            [50, 100, 199, 200, 999].map(|at| clock.local_time(at)),
            [57, 107, 206, 209, 1008]
        );
        assert_eq!(ProcessClock::default().local_time(5), 5);
    }

    #[test]
    fn clocks_of_processes_come_from_both_ends_of_messages() {
        let mut fixture = Fixture::new();
        for (begin, ahead) in [(100, 7), (200, 7), (300, 9)] {
            fixture.send("a", "b", begin, begin + 10).ahead(ahead);
        }
        let (a, b) = (fixture.node("a"), fixture.node("b"));
        let found = clocks(&fixture.trace(), [b].into_iter());
        assert!(!found.contains_key(&a));
        assert_eq!(found[&b].0, [(110, 7), (310, 9)]);
    }
}
