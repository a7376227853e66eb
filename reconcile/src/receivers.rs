//! Which traced socket a datagram was meant for, when nobody received it.

use message_trace::Protocol;
use rustc_hash::FxHashMap;
use socket_log::encode::Role;

use crate::addresses::Addresses;
use crate::calls::Datagram;
use crate::capture::Capture;
use crate::datagram_match::reaches_address;
use crate::names::NameId;
use crate::socket::Socket;

/// All sockets that datagrams can be sent to.
pub(crate) struct Receivers<'a> {
    capture: &'a Capture,
    sockets: &'a [Socket],
    addresses: &'a Addresses,
    partner: &'a [Option<u32>],
    by_port: FxHashMap<u16, Vec<u32>>,
    by_path: FxHashMap<(u32, NameId), Vec<u32>>,
}

impl<'a> Receivers<'a> {
    pub(crate) fn of(
        capture: &'a Capture,
        sockets: &'a [Socket],
        addresses: &'a Addresses,
        partner: &'a [Option<u32>],
    ) -> Receivers<'a> {
        let (mut by_port, mut by_path) = (FxHashMap::default(), FxHashMap::default());
        for (place, socket) in sockets.iter().enumerate() {
            let place = place as u32;
            match (socket.protocol, capture.names.inet(socket.local)) {
                (Protocol::Udp, Some(own)) if own.port() != 0 => {
                    by_port.entry(own.port()).or_insert_with(Vec::new).push(place);
                }
                (Protocol::UnixDatagram, _) if capture.names.unix(socket.local).is_some() => {
                    by_path.entry((socket.machine, socket.local)).or_insert_with(Vec::new).push(place);
                }
                _ => {}
            }
        }
        Receivers { capture, sockets, addresses, partner, by_port, by_path }
    }

    /// The socket that `sent`, by the socket number `sender`, was meant for, and whether it was open at the time.
    pub(crate) fn find(&self, sender: u32, sent: &Datagram) -> Option<(u32, bool)> {
        let from = &self.sockets[sender as usize];
        let open = |place: u32| {
            let to = &self.sockets[place as usize];
            to.machine != from.machine || (to.opened <= sent.time && sent.time <= to.closed)
        };
        if let Some(other) = self.partner[sender as usize] {
            return Some((other, open(other)));
        }
        let candidates = match self.capture.names.inet(sent.peer) {
            Some(to) => self.by_port.get(&to.port()),
            None => self.by_path.get(&(from.machine, sent.peer)),
        };
        let meant = candidates?.iter().copied().filter(|place| {
            let to = &self.sockets[*place as usize];
            *place != sender
                && reaches_address(self.capture, self.addresses, from, sent.peer, to)
                && self.listens_to(to, from)
        });
        meant.map(|place| (place, open(place))).max_by_key(|(place, open)| (*open, std::cmp::Reverse(*place)))
    }

    /// A connected socket only gets what its peer sends.
    fn listens_to(&self, to: &Socket, from: &Socket) -> bool {
        let port = |name| self.capture.names.inet(name).map(|address| address.port());
        match (to.role, port(to.peer), port(from.local)) {
            (Role::Connect, Some(peer), Some(own)) => peer == own,
            _ => true,
        }
    }
}
