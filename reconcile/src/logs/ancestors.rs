//! Ancestors: processes that used no socket, and so left no log, but started others that did; the
//! logs of these name them. They belong in the tree of processes, in which the request is found for
//! which a program was started.

use message_trace::Node;
use rustc_hash::{FxHashMap, FxHashSet};
use socket_log::Ancestor;

use crate::indices::{HostIndex, KernelIndex, ProcessIndex};
use crate::logs::process::TracedProcess;

/// Adds ancestors to the processes that have logs. `known` has the index of each process with a log
/// that names ancestors, and these, the nearest last.
pub(crate) fn add_ancestors(
    processes: &mut Vec<TracedProcess>,
    known: &[(ProcessIndex, Vec<Ancestor>)],
) {
    // A process that was replaced by another program shares its id with that program.
    let of = |process: &TracedProcess| (process.kernel, process.host, process.pid);
    let mut there: FxHashSet<((KernelIndex, HostIndex, u32), i64)> =
        processes.iter().filter_map(|process| Some((of(process), process.node.start?))).collect();
    for (place, ancestors) in known {
        let Some(below) = processes.get(place.index()).cloned() else { continue };
        let mut parents: FxHashMap<u32, Option<u32>> = FxHashMap::default();
        let mut above = None;
        for Ancestor { pid, start, name } in ancestors {
            // The process's earlier program has the same parent.
            let parent = *parents.entry(*pid).or_insert(above);
            above = Some(*pid);
            let node = Node {
                host: below.node.host.clone(),
                pid: Some(*pid as i32),
                parent_pid: parent.map(|parent| parent as i32),
                start: Some(*start),
                command: name.clone(),
                executable: String::new(),
                traced: true,
                unit: below.node.unit.clone(),
                service: false,
                unfollowed: String::new(),
            };
            let process = TracedProcess { pid: *pid, ended: None, node, ..below.clone() };
            if there.insert((of(&process), *start)) {
                processes.push(process);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logs::process::tests::process;

    #[test]
    fn processes_without_logs_are_between_others() {
        let ancestor = |pid, start, name: &str| Ancestor { pid, start, name: name.into() };
        // A server, a child of it without a log that became a shell without a log, and two programs
        // of the shell.
        let between = [ancestor(5, 10, "server"), ancestor(6, 20, "server"), ancestor(6, 21, "sh")];
        let mut processes = vec![process(5, 1, 10), process(7, 6, 30), process(8, 6, 40)];
        let known = [1, 2].map(|place| (ProcessIndex::from_index(place), between.to_vec()));
        add_ancestors(&mut processes, &known);
        let added: Vec<_> = processes[3..]
            .iter()
            .map(|process| {
                let node = &process.node;
                (node.pid, node.parent_pid, node.start, node.command.as_str())
            })
            .collect();
        let expected = [(Some(6), Some(5), Some(20), "server"), (Some(6), Some(5), Some(21), "sh")];
        assert_eq!(added, expected);
    }
}
