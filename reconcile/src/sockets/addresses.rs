//! Addresses of machines, as far as their sockets show them.

use std::net::IpAddr;

use out_of_core::SpillableVec;
use rustc_hash::FxHashMap;

use crate::indices::MachineIndex;
use crate::socket_names::SocketNameInterner;
use crate::sockets::socket::KernelSocket;

/// The addresses of all machines, except loopback addresses, which every machine has.
#[derive(Debug, Default)]
pub(crate) struct MachineAddresses(FxHashMap<IpAddr, Vec<MachineIndex>>);

impl MachineAddresses {
    /// Collects the addresses to which sockets of each machine are bound.
    pub(crate) fn from_sockets(
        names: &SocketNameInterner,
        sockets: &SpillableVec<KernelSocket>,
    ) -> MachineAddresses {
        let mut machines: FxHashMap<IpAddr, Vec<MachineIndex>> = FxHashMap::default();
        for socket in sockets.iter() {
            let ip = names.inet_address(socket.local).map(|address| address.ip());
            if let Some(ip) = ip.filter(|ip| !ip.is_unspecified() && !ip.is_loopback()) {
                let machines = machines.entry(ip).or_default();
                if !machines.contains(&socket.machine) {
                    machines.push(socket.machine);
                }
            }
        }
        MachineAddresses(machines)
    }

    /// The machines known to have `ip`; none if no socket was seen with that address.
    pub(crate) fn machines_with(&self, ip: IpAddr) -> &[MachineIndex] {
        self.0.get(&ip).map_or(&[], Vec::as_slice)
    }

    /// Whether `machine` may have `ip`, which is not a loopback address: it is known to have the
    /// address, or no machine is known to have it.
    pub(crate) fn may_be_on(&self, ip: IpAddr, machine: MachineIndex) -> bool {
        let machines = self.machines_with(ip);
        machines.is_empty() || machines.contains(&machine)
    }

    /// The address of `machine` in the family of `like`, if only one is known.
    pub(crate) fn only_address(&self, machine: MachineIndex, like: IpAddr) -> Option<IpAddr> {
        let mut of_machine = self
            .0
            .iter()
            .filter(|(ip, machines)| ip.is_ipv4() == like.is_ipv4() && machines.contains(&machine))
            .map(|(ip, _)| *ip);
        of_machine.next().filter(|_| of_machine.next().is_none())
    }
}
