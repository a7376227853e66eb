//! Processes from the headers of logs: their hosts and machines, and their start times.

use message_trace::Node;
use rustc_hash::FxHashMap;
use socket_log::LogHeader;
use socket_log::layout::source;

use crate::indices::{HostIndex, KernelIndex, MachineIndex, ProcessIndex};
use crate::logs::control_group;
use crate::tuning::{CHILD_LOG_AFTER_NS, CHILD_LOG_BEFORE_NS};

/// A traced process. Its index among the processes is also its node.
#[derive(Clone, Debug)]
pub(crate) struct TracedProcess {
    pub(crate) host: HostIndex,
    /// Index of the kernel (one boot of one). It owns the paths of unix sockets.
    pub(crate) kernel: KernelIndex,
    /// The machine. It owns loopback addresses and abstract unix names; its processes need not have
    /// one clock, as they may be of several hosts.
    pub(crate) machine: MachineIndex,
    /// The kernel's id of its boot; 0 if unknown.
    pub(crate) boot: u128,
    /// Source of its calls, one of `socket_log::layout::source`.
    pub(crate) source: u32,
    pub(crate) pid: u32,
    /// Time when the process ended, in nanoseconds, as far as its log knows.
    pub(crate) ended: Option<i64>,
    pub(crate) node: Node,
}

/// The node of the process with a log that begins with `header`. The node has a name only if the
/// log specifies it; other nodes get theirs when all processes are known (`program_names`).
pub(crate) fn build_node(header: &LogHeader, host: &str) -> Node {
    // Packets do not identify processes: their log specifies the node's name, and belongs to no
    // process.
    let of_packets = header.source == source::PACKETS;
    Node {
        host: host.to_owned(),
        pid: Some(header.pid as i32).filter(|_| !of_packets),
        parent_pid: Some(header.parent_pid as i32).filter(|parent| !of_packets && *parent > 0),
        start: Some(header.start.realtime),
        command: match header.arguments.first().filter(|_| of_packets) {
            Some(name) => name.clone(),
            None => String::new(),
        },
        executable: header.executable.clone(),
        traced: true,
        unit: control_group::unit_of_cgroup(&header.cgroup),
        service: false,
        unfollowed: String::new(),
    }
}

/// Sets the start of processes to the time when their parents started them, if recorded in
/// `children`: by the parent's index, the child's id, and the time. A process has its log only once
/// it runs.
pub(crate) fn infer_starts(processes: &mut [TracedProcess], children: &[(ProcessIndex, u32, i64)]) {
    let mut by_number: FxHashMap<(KernelIndex, HostIndex, u32), Vec<ProcessIndex>> =
        FxHashMap::default();
    for (place, process) in ProcessIndex::indices().zip(&*processes) {
        by_number.entry((process.kernel, process.host, process.pid)).or_default().push(place);
    }
    for (parent, pid, time) in children {
        let Some(by) = processes.get(parent.index()) else { continue };
        let parent_pid = Some(by.pid as i32);
        let known = by_number.get(&(by.kernel, by.host, *pid)).into_iter().flatten();
        let start = |place: ProcessIndex| {
            let node = &processes.get(place.index())?.node;
            let is_near = |start: &i64| {
                (-CHILD_LOG_BEFORE_NS..=CHILD_LOG_AFTER_NS).contains(&start.saturating_sub(*time))
            };
            node.start.filter(is_near).filter(|_| node.parent_pid == parent_pid)
        };
        // A process that became another program has several logs.
        let first = known.filter_map(|place| Some((start(*place)?, *place))).min();
        if let Some((start, place)) = first
            && let Some(child) = processes.get_mut(place.index())
        {
            child.node.start = Some(start.min(*time));
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The first of the processes.
    const PARENT: ProcessIndex = ProcessIndex::from_index(0);

    /// A process of the first host.
    pub(crate) fn process(pid: u32, parent: i32, start: i64) -> TracedProcess {
        let node = Node { start: Some(start), parent_pid: Some(parent), ..Node::default() };
        TracedProcess {
            host: HostIndex::default(),
            kernel: KernelIndex::default(),
            machine: MachineIndex::default(),
            boot: 0,
            source: 0,
            pid,
            ended: None,
            node,
        }
    }

    #[test]
    fn a_child_begins_when_its_parent_started_it() {
        const MS: i64 = 1_000_000;
        // The second is the child, and the third its later program. The id was reused much later,
        // with another parent.
        let mut processes = [
            process(10, 1, 0),
            process(20, 10, 105 * MS),
            process(20, 10, 110 * MS),
            process(20, 11, 103 * MS),
            process(20, 10, 5_000 * MS),
        ];
        let children = [(20, 100 * MS), (30, 100 * MS), (20, 7_000 * MS)];
        infer_starts(&mut processes, &children.map(|(pid, time)| (PARENT, pid, time)));
        let starts = processes.map(|process| process.node.start.map(|start| start / MS));
        assert_eq!(starts, [Some(0), Some(100), Some(110), Some(103), Some(5_000)]);
    }

    #[test]
    fn a_child_that_ran_before_its_parent_recorded_it_keeps_its_start() {
        const MS: i64 = 1_000_000;
        let mut processes =
            [process(10, 1, 0), process(20, 10, 99 * MS), process(20, 10, 104 * MS)];
        infer_starts(&mut processes, &[(PARENT, 20, 100 * MS)]);
        let starts = processes.map(|process| process.node.start.map(|start| start / MS));
        assert_eq!(starts, [Some(0), Some(99), Some(104)]);
    }
}
