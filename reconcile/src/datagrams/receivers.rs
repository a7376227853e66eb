//! Intended receivers: the traced socket to which a datagram was sent that was not received.

use message_trace::TransportProtocol;
use rustc_hash::FxHashMap;
use socket_log::encode::FlowRole;

use crate::calls::DatagramCall;
use crate::indices::SocketIndex;
use crate::sockets::routing::DatagramRouting;
use crate::sockets::socket::KernelSocket;

/// All sockets that can receive datagrams.
pub(crate) struct DatagramReceivers<'a> {
    routing: DatagramRouting<'a>,
    by_port: FxHashMap<u16, Vec<SocketIndex>>,
    by_path: FxHashMap<u64, Vec<SocketIndex>>,
}

impl<'a> DatagramReceivers<'a> {
    pub(crate) fn from_routing(routing: DatagramRouting<'a>) -> DatagramReceivers<'a> {
        let names = &routing.capture.names;
        let (mut by_port, mut by_path) = (FxHashMap::default(), FxHashMap::default());
        for (place, socket) in SocketIndex::indices().zip(routing.sockets.iter()) {
            match socket.protocol {
                TransportProtocol::Udp => {
                    if let Some(own) =
                        names.inet_address(socket.local).filter(|own| own.port() != 0)
                    {
                        by_port.entry(own.port()).or_insert_with(Vec::new).push(place);
                    }
                }
                TransportProtocol::UnixDatagram => {
                    if let Some(path) =
                        names.path_place(socket.local, socket.kernel, socket.machine)
                    {
                        by_path.entry(path).or_insert_with(Vec::new).push(place);
                    }
                }
                _ => {}
            }
        }
        DatagramReceivers { routing, by_port, by_path }
    }

    /// The socket to which `sent` was addressed, and whether it was open at the time; `None` if it
    /// was not traced.
    pub(crate) fn find_receiver(&self, sent: &DatagramCall) -> Option<(SocketIndex, bool)> {
        let (sender, names) = (sent.socket, &self.routing.capture.names);
        let from = &self.routing.sockets[sender.index()];
        let open = |place: SocketIndex| {
            let to = &self.routing.sockets[place.index()];
            to.clock_apart(from).is_none_or(|apart| {
                to.opened <= sent.time.saturating_add(apart) && to.is_open_at(sent.time, apart)
            })
        };
        if let Some(other) = self.routing.partner_of(sender) {
            return Some((other, open(other)));
        }
        let candidates = match names.inet_address(sent.peer) {
            Some(to) => self.by_port.get(&to.port()),
            None => self.by_path.get(&names.path_place(sent.peer, from.kernel, from.machine)?),
        };
        let meant = candidates?.iter().copied().filter(|place| {
            let to = &self.routing.sockets[place.index()];
            *place != sender
                && self.routing.can_reach_address(from, sent.peer, to)
                && self.listens_to(to, from)
        });
        meant
            .map(|place| (place, open(place)))
            .max_by_key(|(place, open)| (*open, std::cmp::Reverse(*place)))
    }

    /// Whether `to` receives datagrams from `from`: a connected socket receives only from its peer.
    fn listens_to(&self, to: &KernelSocket, from: &KernelSocket) -> bool {
        let port =
            |name| self.routing.capture.names.inet_address(name).map(|address| address.port());
        match (to.role, port(to.peer), port(from.local)) {
            (FlowRole::Connect, Some(peer), Some(own)) => peer == own,
            _ => true,
        }
    }
}
