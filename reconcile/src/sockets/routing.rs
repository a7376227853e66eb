//! Routing of datagrams by their names: which of two sockets can have sent what the other received.

use std::hash::{Hash, Hasher};

use message_trace::TransportProtocol;
use out_of_core::SpillableVec;
use rustc_hash::FxHasher;

use crate::calls::DatagramCall;
use crate::indices::{OptionalIndex, SocketIndex};
use crate::logs::capture::Capture;
use crate::socket_names::{SocketNameId, is_group_address};
use crate::sockets::addresses::MachineAddresses;
use crate::sockets::socket::KernelSocket;

/// Facts about all sockets.
#[derive(Clone, Copy)]
pub(crate) struct DatagramRouting<'a> {
    pub(crate) capture: &'a Capture,
    pub(crate) sockets: &'a SpillableVec<KernelSocket>,
    pub(crate) addresses: &'a MachineAddresses,
    /// The other end of connected unix sockets.
    pub(crate) partner: &'a SpillableVec<OptionalIndex<SocketIndex>>,
}

/// Destination of a datagram, which both sides know: a port, a path or the end of a pair.
type DatagramDestination = u64;

/// In a [`DatagramDestination`]: the destination is a path.
const PATH: u64 = 1 << 62;
/// In a [`DatagramDestination`]: the destination is an end of a pair.
const PAIR: u64 = 2 << 62;

impl DatagramRouting<'_> {
    fn socket_of_datagram(&self, datagram: &DatagramCall) -> &KernelSocket {
        &self.sockets[datagram.socket.index()]
    }

    /// The other end of a connected unix socket.
    pub(crate) fn partner_of(&self, socket: SocketIndex) -> Option<SocketIndex> {
        self.partner.get(socket.index())?.get()
    }

    /// The destination of `datagram`, as both sides know it; `None` if this side does not.
    fn destination_of(&self, datagram: &DatagramCall) -> Option<DatagramDestination> {
        let (socket, names) = (self.socket_of_datagram(datagram), &self.capture.names);
        if let Some(other) = self.partner_of(datagram.socket) {
            let receiver = if datagram.is_sent() { other } else { datagram.socket };
            return Some(PAIR | receiver.index() as u64);
        }
        let name = if datagram.is_sent() { datagram.peer } else { socket.local };
        if socket.protocol == TransportProtocol::Udp {
            let port = names.inet_address(name)?.port();
            return Some(u64::from(port)).filter(|port| *port != 0);
        }
        let name = names.path_place(name, socket.kernel, socket.machine)?;
        Some(PATH | name)
    }

    /// The source port of `datagram`; 0 if the datagram has no source port, `None` if this side
    /// does not know it.
    fn source_port(&self, datagram: &DatagramCall) -> Option<u64> {
        let socket = self.socket_of_datagram(datagram);
        if self.partner_of(datagram.socket).is_some() || socket.protocol != TransportProtocol::Udp {
            return Some(0);
        }
        let name = if datagram.is_sent() { socket.local } else { datagram.peer };
        let port = self.capture.names.inet_address(name)?.port();
        Some(u64::from(port)).filter(|port| *port != 0)
    }

    /// The destination of `datagram` and, `with_source`, its source port, as both sides know them;
    /// `None` if this side does not know them.
    pub(crate) fn routing_place(&self, datagram: &DatagramCall, with_source: bool) -> Option<u64> {
        let source = if with_source { self.source_port(datagram)? } else { 0 };
        Some(self.destination_of(datagram)? | source << 16)
    }

    /// A hash that is equal for a datagram at both its sides, and mostly different for others.
    pub(crate) fn routing_hash(&self, datagram: &DatagramCall, with_content: bool) -> u64 {
        let mut hasher = FxHasher::default();
        self.destination_of(datagram).hash(&mut hasher);
        if with_content {
            (datagram.checksum, datagram.bytes).hash(&mut hasher);
        }
        hasher.finish()
    }

    /// Whether two sockets are on one machine, where all names mean the same.
    pub(crate) fn same_machine(&self, one: SocketIndex, other: SocketIndex) -> bool {
        self.sockets[one.index()].machine == self.sockets[other.index()].machine
    }

    /// See [`KernelSocket::clock_apart`].
    pub(crate) fn clock_apart(&self, one: SocketIndex, other: SocketIndex) -> Option<i64> {
        self.sockets[one.index()].clock_apart(&self.sockets[other.index()])
    }

    /// Whether the known names of the two sides are compatible, so that the receive can be of the
    /// send.
    pub(crate) fn can_reach(&self, sent: &DatagramCall, received: &DatagramCall) -> bool {
        let (sender, receiver) = (self.socket_of_datagram(sent), self.socket_of_datagram(received));
        let names = &self.capture.names;
        if sender.protocol != TransportProtocol::Udp {
            let named = (names.unix_name(sender.local), names.unix_name(received.peer));
            return !matches!(named, (Some(own), Some(seen)) if own != seen);
        }
        self.can_reach_address(sender, sent.peer, receiver)
            && self.can_come_from(sender, received.peer, receiver)
    }

    /// Whether a datagram that `sender` sends to the name `to` can arrive at `receiver`.
    pub(crate) fn can_reach_address(
        &self,
        sender: &KernelSocket,
        to: OptionalIndex<SocketNameId>,
        receiver: &KernelSocket,
    ) -> bool {
        let names = &self.capture.names;
        let same_machine = sender.machine == receiver.machine;
        let Some(to) = names.inet_address(to) else { return true };
        let own = names.inet_address(receiver.local);
        if own.is_some_and(|own| own.port() != to.port()) {
            return false;
        }
        let (to, own) = (to.ip(), own.map(|own| own.ip()).filter(|ip| !ip.is_unspecified()));
        if to.is_loopback() || to.is_unspecified() {
            return same_machine && own.is_none_or(|own| own == to || to.is_unspecified());
        }
        match own {
            _ if is_group_address(to) => true,
            Some(own) => own == to,
            None => self.addresses.may_be_on(to, receiver.machine),
        }
    }

    /// Whether a datagram that `receiver` got from the name `from` can be of `sender`.
    fn can_come_from(
        &self,
        sender: &KernelSocket,
        from: OptionalIndex<SocketNameId>,
        receiver: &KernelSocket,
    ) -> bool {
        let Some(from) = self.capture.names.inet_address(from) else { return true };
        let own = self.capture.names.inet_address(sender.local);
        if own.is_some_and(|own| own.port() != 0 && own.port() != from.port()) {
            return false;
        }
        match own.map(|own| own.ip()).filter(|ip| !ip.is_unspecified()) {
            Some(own) => own == from.ip(),
            None if from.ip().is_loopback() => sender.machine == receiver.machine,
            None => self.addresses.may_be_on(from.ip(), sender.machine),
        }
    }
}
