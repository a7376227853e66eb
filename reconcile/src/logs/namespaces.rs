//! The network namespaces of sockets. A socket stays in the one in which it was made, but the
//! processes that use it may be in others: a server accepts connections and has each served by a
//! child that it has shut off from the network.

use rustc_hash::FxHashMap;
use socket_log::encode::Origin;

use crate::logs::machines::Home;

/// All network namespaces that logs tell of by the kernel's ids of them.
#[derive(Default)]
pub(crate) struct Namespaces {
    /// By kernel and id.
    numbers: FxHashMap<(u32, u64), u32>,
    /// How many sockets of each namespace were made by processes whose logs began on a machine.
    made: FxHashMap<(u32, u32), u64>,
}

impl Namespaces {
    /// The number of the namespace with the id `namespace`, in which a process at `home` has a
    /// socket.
    pub(crate) fn number(&mut self, home: &Home, namespace: u64, origin: Option<Origin>) -> u32 {
        let next = self.numbers.len() as u32;
        let number = *self.numbers.entry((home.kernel, namespace)).or_insert(next);
        if matches!(origin, Some(Origin::Socket | Origin::Pair)) {
            *self.made.entry((home.machine, number)).or_default() += 1;
        }
        number
    }

    /// The machine that each is, by its number: the one on which most of its sockets were made, or
    /// else a new one, from `free` on. No two are the same.
    pub(crate) fn machines(&self, free: u32) -> Vec<u32> {
        let mut made: Vec<(u64, u32, u32)> = self
            .made
            .iter()
            .map(|((machine, number), count)| (*count, *machine, *number))
            .collect();
        made.sort_unstable_by_key(|(count, machine, number)| {
            (std::cmp::Reverse(*count), *machine, *number)
        });
        let mut machines: Vec<Option<u32>> = vec![None; self.numbers.len()];
        let mut taken = rustc_hash::FxHashSet::default();
        for (_, machine, number) in made {
            if let Some(place @ None) = machines.get_mut(number as usize)
                && taken.insert(machine)
            {
                *place = Some(machine);
            }
        }
        machines.into_iter().zip(free..).map(|(machine, new)| machine.unwrap_or(new)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logs::machines::Machines;
    use message_trace::DataPath;
    use socket_log::Log;
    use socket_log::write::LogWriter;

    fn home(machines: &mut Machines, inode: u64) -> Home {
        let mut log = LogWriter::new("one", 1, "/bin/x");
        log.set_namespace(inode);
        let file = tempfile::NamedTempFile::new().unwrap();
        log.write(file.path()).unwrap();
        machines.home(Log::open(file.path()).unwrap().header(), &DataPath::from("hosts/one/log"))
    }

    #[test]
    fn a_namespace_is_the_machine_on_which_most_of_its_sockets_were_made() {
        let mut machines = Machines::default();
        let homes = [home(&mut machines, 70), home(&mut machines, 71)];
        let mut namespaces = Namespaces::default();
        for (home, id, origin) in [
            (0, 900, Origin::Socket),
            (0, 900, Origin::Pair),
            // It has left its machine since.
            (0, 901, Origin::Socket),
            // It was given sockets of another one.
            (1, 900, Origin::Found),
            (1, 900, Origin::Found),
            (1, 900, Origin::Accept),
            (1, 902, Origin::Found),
        ] {
            namespaces.number(&homes[home], id, Some(origin));
        }
        assert_eq!(namespaces.machines(machines.count()), [homes[0].machine, 3, 4]);
        namespaces.number(&homes[1], 902, Some(Origin::Socket));
        assert_eq!(namespaces.machines(machines.count()), [homes[0].machine, 3, homes[1].machine]);
    }
}
