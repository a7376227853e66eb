//! Network namespaces of sockets. A socket stays in the namespace in which it was made, but the
//! processes that use it may be in others: a server may accept connections and have each served by
//! a child that it has isolated from the network.

use rustc_hash::FxHashMap;
use socket_log::encode::FlowOrigin;

use crate::indices::{KernelIndex, MachineIndex, NamespaceIndex};
use crate::logs::machines::ProcessHome;

/// All network namespaces in logs, by the kernel's ids.
#[derive(Default)]
pub(crate) struct Namespaces {
    /// Numbers of the namespaces, by kernel and id.
    numbers: FxHashMap<(KernelIndex, u64), NamespaceIndex>,
    /// Number of sockets of each namespace that were made by processes with logs that began on a
    /// machine.
    made: FxHashMap<(MachineIndex, NamespaceIndex), u64>,
}

impl Namespaces {
    /// The number of the namespace with the id `namespace`, in which a process at `home` has a
    /// socket.
    pub(crate) fn intern_namespace(
        &mut self,
        home: &ProcessHome,
        namespace: u64,
        origin: Option<FlowOrigin>,
    ) -> NamespaceIndex {
        let next = NamespaceIndex::from_index(self.numbers.len());
        let number = *self.numbers.entry((home.kernel, namespace)).or_insert(next);
        if matches!(origin, Some(FlowOrigin::Socket | FlowOrigin::Pair)) {
            *self.made.entry((home.machine, number)).or_default() += 1;
        }
        number
    }

    /// The machine of each namespace, by its number: the one on which most of its sockets were
    /// made, or else a new one after the `known` machines. No two are the same.
    pub(crate) fn assign_machines(&self, known: usize) -> Vec<MachineIndex> {
        let mut made: Vec<(u64, MachineIndex, NamespaceIndex)> = self
            .made
            .iter()
            .map(|((machine, number), count)| (*count, *machine, *number))
            .collect();
        made.sort_unstable_by_key(|(count, machine, number)| {
            (std::cmp::Reverse(*count), *machine, *number)
        });
        let mut machines: Vec<Option<MachineIndex>> = vec![None; self.numbers.len()];
        let mut taken = rustc_hash::FxHashSet::default();
        for (_, machine, number) in made {
            if let Some(place @ None) = machines.get_mut(number.index())
                && taken.insert(machine)
            {
                *place = Some(machine);
            }
        }
        let new = MachineIndex::indices().skip(known);
        machines.into_iter().zip(new).map(|(machine, new)| machine.unwrap_or(new)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logs::machines::MachineTable;
    use message_trace::DataPath;
    use socket_log::SocketLog;
    use socket_log::write::LogWriter;

    fn home(machines: &mut MachineTable, inode: u64) -> ProcessHome {
        let mut log = LogWriter::new("one", 1, "/bin/x");
        log.set_namespace(inode);
        let file = tempfile::NamedTempFile::new().unwrap();
        log.write_file(file.path()).unwrap();
        machines.locate_process(
            SocketLog::open(file.path()).unwrap().header(),
            &DataPath::from("hosts/one/log"),
        )
    }

    #[test]
    fn a_namespace_is_the_machine_on_which_most_of_its_sockets_were_made() {
        let mut machines = MachineTable::default();
        let homes = [home(&mut machines, 70), home(&mut machines, 71)];
        let mut namespaces = Namespaces::default();
        for (home, id, origin) in [
            (0, 900, FlowOrigin::Socket),
            (0, 900, FlowOrigin::Pair),
            // The process has left its machine since.
            (0, 901, FlowOrigin::Socket),
            // The process was given sockets of another machine.
            (1, 900, FlowOrigin::Found),
            (1, 900, FlowOrigin::Found),
            (1, 900, FlowOrigin::Accept),
            (1, 902, FlowOrigin::Found),
        ] {
            namespaces.intern_namespace(&homes[home], id, Some(origin));
        }
        let [third, fourth] = [3, 4].map(MachineIndex::from_index);
        assert_eq!(
            namespaces.assign_machines(machines.machine_count()),
            [homes[0].machine, third, fourth]
        );
        namespaces.intern_namespace(&homes[1], 902, Some(FlowOrigin::Socket));
        assert_eq!(
            namespaces.assign_machines(machines.machine_count()),
            [homes[0].machine, third, homes[1].machine]
        );
    }
}
