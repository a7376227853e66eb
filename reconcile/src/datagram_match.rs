//! All datagrams of all sockets, matched: which receive got which send.
//!
//! Both sides are sorted by a key that they share (ports or path, size, checksum), and each group of equals is
//! matched in order. Addresses are not part of the key, as a socket bound to all of a host's addresses does not
//! know which one its peer used; they must only not contradict each other.

use message_trace::Protocol;

use crate::addresses::Addresses;
use crate::calls::Datagram;
use crate::capture::Capture;
use crate::datagrams::match_in_order;
use crate::names::is_for_many;
use crate::socket::Socket;

/// A datagram in its socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct At {
    pub(crate) socket: u32,
    pub(crate) index: u32,
}

/// What became of every datagram.
#[derive(Debug, Default)]
pub(crate) struct Matches {
    /// Those seen by both ends.
    pub(crate) pairs: Vec<(At, At)>,
    /// Sends that another socket received as well: to many receivers at once.
    pub(crate) copies: Vec<(At, At)>,
    /// Receives of what the same socket had received already.
    pub(crate) duplicates: Vec<At>,
    /// Sends that nobody was seen to receive.
    pub(crate) sends: Vec<At>,
    /// Receives that nobody was seen to send.
    pub(crate) receives: Vec<At>,
}

/// How exactly the two sides must agree. Each pass works on what the one before left.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pass {
    /// Both ports or the path, the size and the checksum.
    Exact,
    /// As `Exact`, but one side does not know the sender's port.
    UnknownSender,
    /// Only a part was received, so neither size nor checksum are the sender's.
    Truncated,
}

#[derive(Clone, Copy)]
struct Side {
    key: (u64, u32, u32),
    time: i64,
    at: At,
    done: bool,
}

/// Matches the datagrams of all `sockets`. `partner` gives the other end of connected unix sockets.
pub(crate) fn match_all(
    capture: &Capture,
    sockets: &[Socket],
    addresses: &Addresses,
    partner: &[Option<u32>],
) -> Matches {
    let matcher = Matcher { capture, sockets, addresses, partner };
    let mut matches = Matches::default();
    let (mut sends, mut receives) = matcher.sides();
    for pass in [Pass::Exact, Pass::UnknownSender, Pass::Truncated] {
        matcher.pass(pass, &mut sends, &mut receives, &mut matches);
        sends.retain(|side| !side.done);
        receives.retain(|side| !side.done);
    }
    matches.sends = sends.iter().map(|side| side.at).collect();
    matches.receives = receives.iter().map(|side| side.at).collect();
    matches
}

struct Matcher<'a> {
    capture: &'a Capture,
    sockets: &'a [Socket],
    addresses: &'a Addresses,
    partner: &'a [Option<u32>],
}

impl Matcher<'_> {
    fn datagram(&self, at: At) -> &Datagram {
        &self.sockets[at.socket as usize].datagrams[at.index as usize]
    }

    fn sides(&self) -> (Vec<Side>, Vec<Side>) {
        let (mut sends, mut receives) = (Vec::new(), Vec::new());
        for (socket, of_socket) in self.sockets.iter().enumerate() {
            for (index, datagram) in of_socket.datagrams.iter().enumerate() {
                let at = At { socket: socket as u32, index: index as u32 };
                let side = Side { key: (0, 0, 0), time: datagram.time, at, done: false };
                if datagram.sent { &mut sends } else { &mut receives }.push(side);
            }
        }
        (sends, receives)
    }

    /// Where a datagram goes (a send) or came to (a receive), as both sides know it; `None`: this side does not.
    fn key(&self, pass: Pass, side: &Side) -> Option<(u64, u32, u32)> {
        const PATH: u64 = 1 << 62;
        const PAIR: u64 = 2 << 62;
        let (socket, datagram) = (&self.sockets[side.at.socket as usize], self.datagram(side.at));
        let names = &self.capture.names;
        let place = match self.partner[side.at.socket as usize] {
            Some(other) => PAIR | u64::from(if datagram.sent { other } else { side.at.socket }),
            None if socket.protocol == Protocol::Udp => {
                let port = |name| names.inet(name).map(|address| address.port()).filter(|port| *port != 0);
                let (own, peer) = (port(socket.local), port(datagram.peer));
                let (from, to) = if datagram.sent { (own, peer) } else { (peer, own) };
                let from = if pass == Pass::UnknownSender { 0 } else { from? };
                u64::from(from) << 16 | u64::from(to?)
            }
            None => {
                let name = if datagram.sent { datagram.peer } else { socket.local };
                names.unix(name)?;
                PATH | u64::from(socket.machine) << 32 | u64::from(name)
            }
        };
        Some(match pass {
            Pass::Exact | Pass::UnknownSender => (place, datagram.checksum, datagram.bytes),
            Pass::Truncated => (place, 0, 0),
        })
    }

    fn pass(&self, pass: Pass, sends: &mut Vec<Side>, receives: &mut Vec<Side>, matches: &mut Matches) {
        if receives.is_empty() {
            return;
        }
        let truncated = |side: &Side| self.datagram(side.at).truncated;
        let mut keyed: [Vec<Side>; 2] = [Vec::new(), Vec::new()];
        for (sides, keyed) in [&*sends, &*receives].into_iter().zip(&mut keyed) {
            for side in sides {
                if pass != Pass::Truncated || self.datagram(side.at).sent || truncated(side) {
                    keyed.extend(self.key(pass, side).map(|key| Side { key, ..*side }));
                }
            }
            keyed.sort_unstable_by_key(|side| (side.key, side.time, side.at.socket, side.at.index));
        }
        let [mut keyed_sends, mut keyed_receives] = keyed;
        let (mut s, mut r) = (0, 0);
        while s < keyed_sends.len() && r < keyed_receives.len() {
            let key = keyed_sends[s].key.max(keyed_receives[r].key);
            s += keyed_sends[s..].partition_point(|side| side.key < key);
            r += keyed_receives[r..].partition_point(|side| side.key < key);
            let s_end = s + keyed_sends[s..].partition_point(|side| side.key == key);
            let r_end = r + keyed_receives[r..].partition_point(|side| side.key == key);
            self.group(pass, &mut keyed_sends[s..s_end], &mut keyed_receives[r..r_end], matches);
            (s, r) = (s_end, r_end);
        }
        // Only what had a key took part; the rest waits for the next pass.
        for (sides, keyed) in [(sends, keyed_sends), (receives, keyed_receives)] {
            let done = |side: &Side| (side.at.socket, side.at.index);
            let mut finished: Vec<(u32, u32)> = keyed.iter().filter(|side| side.done).map(done).collect();
            finished.sort_unstable();
            sides.retain(|side| finished.binary_search(&done(side)).is_err());
        }
    }

    /// Matches the sends and receives of one key, socket by socket.
    fn group(&self, pass: Pass, sends: &mut [Side], receives: &mut [Side], matches: &mut Matches) {
        let mut receivers: Vec<u32> = receives.iter().map(|side| side.at.socket).collect();
        receivers.sort_unstable();
        receivers.dedup();
        for receiver in receivers {
            let mine: Vec<usize> =
                (0..receives.len()).filter(|at| receives[*at].at.socket == receiver).collect();
            // Senders differ where the same ports are used on several hosts.
            let mut senders: Vec<u32> = sends.iter().map(|side| side.at.socket).collect();
            senders.sort_unstable();
            senders.dedup();
            for sender in senders {
                let reach = |send: &Side, receive: &Side| {
                    send.at.socket == sender && self.reaches(pass, send.at, receive.at)
                };
                let open: Vec<usize> = mine.iter().copied().filter(|at| !receives[*at].done).collect();
                let Some(receive) = open.first().map(|at| receives[*at]) else { break };
                let to: Vec<usize> =
                    (0..sends.len()).filter(|at| !sends[*at].done && reach(&sends[*at], &receive)).collect();
                let from: Vec<usize> = match sends.iter().find(|send| send.at.socket == sender) {
                    Some(send) => open.into_iter().filter(|at| reach(send, &receives[*at])).collect(),
                    None => continue,
                };
                let same_clock = self.same_machine(sender, receiver);
                let times = |sides: &[Side], chosen: &[usize]| -> Vec<i64> {
                    chosen.iter().map(|at| sides[*at].time).collect()
                };
                let matched = match_in_order(&times(sends, &to), &times(receives, &from), same_clock);
                for (receive, send) in from.iter().zip(matched) {
                    if let Some(send) = send.and_then(|send| to.get(send as usize)) {
                        receives[*receive].done = true;
                        sends[*send].done = true;
                        matches.pairs.push((sends[*send].at, receives[*receive].at));
                    }
                }
            }
        }
        if pass != Pass::Truncated {
            self.second_copies(pass, sends, receives, matches);
        }
    }

    /// Receives for which no send is left, though there was one: second copies.
    fn second_copies(&self, pass: Pass, sends: &[Side], receives: &mut [Side], matches: &mut Matches) {
        for at in 0..receives.len() {
            if receives[at].done {
                continue;
            }
            let receive = receives[at];
            let origin = sends.iter().rev().find(|send| {
                let in_time =
                    !self.same_machine(send.at.socket, receive.at.socket) || send.time <= receive.time;
                send.done && in_time && self.reaches(pass, send.at, receive.at)
            });
            let Some(origin) = origin else { continue };
            receives[at].done = true;
            let again = receives
                .iter()
                .enumerate()
                .any(|(other, side)| other != at && side.done && side.at.socket == receive.at.socket);
            if again {
                matches.duplicates.push(receive.at);
            } else {
                matches.copies.push((origin.at, receive.at));
            }
        }
    }

    fn same_machine(&self, one: u32, other: u32) -> bool {
        self.sockets[one as usize].machine == self.sockets[other as usize].machine
    }

    /// Whether nothing that is known of the two sides' names contradicts that the one is the other's.
    fn reaches(&self, pass: Pass, send: At, receive: At) -> bool {
        let (sender, receiver) =
            (&self.sockets[send.socket as usize], &self.sockets[receive.socket as usize]);
        let (sent, received) = (self.datagram(send), self.datagram(receive));
        if pass == Pass::Truncated && sent.bytes < received.bytes {
            return false;
        }
        let names = &self.capture.names;
        if sender.protocol != Protocol::Udp {
            let named = (names.unix(sender.local), names.unix(received.peer));
            return !matches!(named, (Some(own), Some(seen)) if own != seen);
        }
        reaches_address(self.capture, self.addresses, sender, sent.peer, receiver)
            && comes_from(self.capture, self.addresses, sender, received.peer, receiver)
    }
}

/// Whether what `sender` sends to `to` can arrive at `receiver`.
pub(crate) fn reaches_address(
    capture: &Capture,
    addresses: &Addresses,
    sender: &Socket,
    to: u32,
    receiver: &Socket,
) -> bool {
    let same_machine = sender.machine == receiver.machine;
    let Some(to) = capture.names.inet(to) else { return true };
    let own = capture.names.inet(receiver.local);
    if own.is_some_and(|own| own.port() != to.port()) {
        return false;
    }
    let (to, own) = (to.ip(), own.map(|own| own.ip()).filter(|ip| !ip.is_unspecified()));
    if to.is_loopback() || to.is_unspecified() {
        return same_machine && own.is_none_or(|own| own == to || to.is_unspecified());
    }
    match own {
        _ if is_for_many(to) => true,
        Some(own) => own == to,
        None => addresses.may_be_on(to, receiver.machine),
    }
}

/// Whether what `receiver` got from `from` can be of `sender`.
fn comes_from(
    capture: &Capture,
    addresses: &Addresses,
    sender: &Socket,
    from: u32,
    receiver: &Socket,
) -> bool {
    let Some(from) = capture.names.inet(from) else { return true };
    let own = capture.names.inet(sender.local);
    if own.is_some_and(|own| own.port() != 0 && own.port() != from.port()) {
        return false;
    }
    match own.map(|own| own.ip()).filter(|ip| !ip.is_unspecified()) {
        Some(own) => own == from.ip(),
        None if from.ip().is_loopback() => sender.machine == receiver.machine,
        None => addresses.may_be_on(from.ip(), sender.machine),
    }
}
