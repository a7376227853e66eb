//! The process tree, by the process ids and parent ids. There may be other processes, such as
//! shells, between a process and the one that serves; they sent nothing. A process may execute
//! another program, which has a log of its own, under the same process id.

use crate::tuning::auto::services::process_tree::{MAX_BECOMING, MAX_BETWEEN};
use message_trace::{MessageTrace, Node, NodeId};
use rustc_hash::FxHashMap;

/// The processes of a trace, and which one started which.
pub(super) struct ProcessTree<'trace> {
    trace: &'trace MessageTrace,
    /// Processes by host and process id, each with its start time.
    by_number: FxHashMap<(&'trace str, i32), Vec<(i64, NodeId)>>,
}

impl ProcessTree<'_> {
    /// The processes of `trace`.
    pub(super) fn from_trace(trace: &MessageTrace) -> ProcessTree<'_> {
        let mut by_number: FxHashMap<(&str, i32), Vec<(i64, NodeId)>> = FxHashMap::default();
        for (index, node) in trace.nodes.0.iter().enumerate() {
            let id = NodeId::from_index(index);
            if let (true, Some(pid), Some(start)) = (node.traced, node.pid, node.start) {
                by_number.entry((node.host.as_str(), pid)).or_default().push((start, id));
            }
        }
        by_number.values_mut().for_each(|all| all.sort_unstable());
        ProcessTree { trace, by_number }
    }

    /// The nearest ancestor of `process` that is a node according to `serves`, and when it started
    /// its descendant.
    pub(super) fn nearest_starter(
        &self,
        process: NodeId,
        serves: impl Fn(NodeId, i64) -> Option<u32>,
    ) -> Option<(u32, i64)> {
        let mut below = process;
        for _ in 0..MAX_BETWEEN {
            let begin = self.trace.nodes.get(below)?.start?;
            let above = self.parent_process(below)?;
            if let Some(node) = serves(above, begin) {
                return Some((node, begin));
            }
            below = above;
        }
        None
    }

    /// The process that this one was before it executed its current program, or else the process
    /// that started it.
    fn parent_process(&self, process: NodeId) -> Option<NodeId> {
        let node = self.trace.nodes.get(process)?;
        let (pid, parent, start) = (node.pid?, node.parent_pid?, node.start?);
        let last = |number: i32, is_it: &dyn Fn(&Node) -> bool| {
            let all = self.by_number.get(&(node.host.as_str(), number))?;
            let until = all.partition_point(|(began, _)| *began < start);
            let known = all[..until].iter().rev().map(|(_, id)| *id);
            known.into_iter().find(|id| self.trace.nodes.get(*id).is_some_and(is_it))
        };
        let is_near = |other: &Node| {
            other.start.is_some_and(|other| start.saturating_sub(other) < MAX_BECOMING)
        };
        let before = last(pid, &|other| other.parent_pid == Some(parent) && is_near(other));
        before.or_else(|| last(parent, &|_| true))
    }
}
