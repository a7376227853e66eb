//! Names on which traced processes listen.

use std::net::SocketAddr;

use out_of_core::SpillableVec;
use rustc_hash::FxHashSet;
use socket_log::encode::FlowRole;

use crate::indices::{MachineIndex, OptionalIndex};
use crate::logs::capture::Capture;
use crate::socket_names::SocketNameId;
use crate::sockets::addresses::MachineAddresses;
use crate::sockets::socket::KernelSocket;

/// Names on which traced processes listen.
#[derive(Debug)]
pub(crate) struct ListeningNames {
    /// The machine and the name of each listening socket with an address of its own.
    names: FxHashSet<(MachineIndex, OptionalIndex<SocketNameId>)>,
    /// Ports on all of a machine's addresses.
    ports: FxHashSet<(MachineIndex, u16)>,
    /// The addresses of each machine.
    pub(crate) addresses: MachineAddresses,
}

impl ListeningNames {
    /// Collects the names of all listening sockets.
    pub(crate) fn from_sockets(
        capture: &Capture,
        sockets: &SpillableVec<KernelSocket>,
    ) -> ListeningNames {
        let (mut names, mut ports) = (FxHashSet::default(), FxHashSet::default());
        for socket in sockets.iter() {
            if socket.role != FlowRole::Listen {
                continue;
            }
            match capture.names.inet_address(socket.local) {
                Some(address) if address.ip().is_unspecified() => {
                    ports.insert((socket.machine, address.port()));
                }
                _ => {
                    names.insert((socket.machine, socket.local));
                }
            }
        }
        ListeningNames {
            names,
            ports,
            addresses: MachineAddresses::from_sockets(&capture.names, sockets),
        }
    }

    /// Whether `name`, from the view of `socket`, is one on which a traced process listens.
    pub(crate) fn is_listening(
        &self,
        capture: &Capture,
        socket: &KernelSocket,
        name: OptionalIndex<SocketNameId>,
    ) -> bool {
        if self.names.contains(&(socket.machine, name)) {
            return true;
        }
        let port_on =
            |address: SocketAddr, machine| self.ports.contains(&(machine, address.port()));
        match capture.names.inet_address(name) {
            None => false,
            Some(address) if name == socket.local || address.ip().is_loopback() => {
                port_on(address, socket.machine)
            }
            Some(address) => self.addresses.machines_with(address.ip()).iter().any(|machine| {
                port_on(address, *machine) || self.names.contains(&(*machine, name))
            }),
        }
    }
}
