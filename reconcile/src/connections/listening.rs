//! Where traced processes listen.

use std::net::SocketAddr;

use out_of_core::SpillableVec;
use rustc_hash::FxHashSet;
use socket_log::encode::Role;

use crate::logs::capture::Capture;
use crate::names::NameId;
use crate::sockets::addresses::Addresses;
use crate::sockets::socket::Socket;

/// Where traced processes listen.
#[derive(Debug)]
pub(crate) struct Listening {
    /// The machine and the name of each listening socket with an address of its own.
    names: FxHashSet<(u32, NameId)>,
    /// Ports on all of a machine's addresses.
    ports: FxHashSet<(u32, u16)>,
    pub(crate) addresses: Addresses,
}

impl Listening {
    pub(crate) fn of(capture: &Capture, sockets: &SpillableVec<Socket>) -> Listening {
        let (mut names, mut ports) = (FxHashSet::default(), FxHashSet::default());
        for socket in sockets.iter() {
            if socket.role != Role::Listen {
                continue;
            }
            match capture.names.inet(socket.local) {
                Some(address) if address.ip().is_unspecified() => {
                    ports.insert((socket.machine, address.port()));
                }
                _ => {
                    names.insert((socket.machine, socket.local));
                }
            }
        }
        Listening { names, ports, addresses: Addresses::of(&capture.names, sockets) }
    }

    /// Whether `name`, as `socket` sees it, is one on which a traced process listens.
    pub(crate) fn on(&self, capture: &Capture, socket: &Socket, name: NameId) -> bool {
        if self.names.contains(&(socket.machine, name)) {
            return true;
        }
        let port_on =
            |address: SocketAddr, machine| self.ports.contains(&(machine, address.port()));
        match capture.names.inet(name) {
            None => false,
            Some(address) if name == socket.local || address.ip().is_loopback() => {
                port_on(address, socket.machine)
            }
            Some(address) => self.addresses.machines(address.ip()).iter().any(|machine| {
                port_on(address, *machine) || self.names.contains(&(*machine, name))
            }),
        }
    }
}
