//! What translation wants to know of the TCP sockets whose other end was not found by name: their turns, their times and
//! their fingerprints. The logs are read once more for it, and only where there are such sockets on both sides.

use std::net::SocketAddr;

use message_trace::parallel;
use message_trace::{Error, Progress, Protocol};
use rustc_hash::FxHashMap;
use socket_log::encode::Role;

use crate::capture::{Capture, NONE};
use crate::column::Column;
use crate::second_reading::{Call, SecondReading};
use crate::socket::{Socket, Sockets};
use crate::translation::{Fingerprint, HalfFlow, Side, TURNS, Turn, Way};

/// As many calls of a socket in one log are kept as they are; of later ones, those that follow each other in one direction
/// become one.
const KEPT: usize = 48;
/// As many are kept in all: more than make up the turns that are looked at, mostly.
const MOST: usize = 96;

/// The half flows, and the socket of each.
#[derive(Debug, Default)]
pub(crate) struct HalfFlows {
    pub(crate) halves: Vec<HalfFlow>,
    pub(crate) sockets: Vec<u32>,
}

/// A call: when, how many bytes, and whether it sent them.
type Moved = (i64, u64, bool);

/// What one log has of a socket.
#[derive(Clone, Debug, Default)]
struct Beginning {
    calls: Vec<Moved>,
    /// When the first call was that is not among them.
    cut: Option<i64>,
    sent: Way,
    received: Way,
    /// Whether the log has forgotten calls of it: then nothing that is left is its beginning.
    forgotten: bool,
}

impl HalfFlows {
    /// Those of the sockets without a partner.
    pub(crate) fn read(
        capture: &Capture,
        sockets: &Sockets,
        partner: &Column<u32>,
        threads: usize,
        progress: &dyn Progress,
    ) -> Result<HalfFlows, Error> {
        let chosen: Vec<(u32, [SocketAddr; 2])> = (0..)
            .zip(sockets.all.iter())
            .zip(partner.iter())
            .filter(|(_, partner)| **partner == NONE)
            .filter_map(|((place, socket), _)| Some((place, names(capture, socket)?)))
            .collect();
        let has = |role: Role| chosen.iter().any(|(place, _)| sockets.all[*place as usize].role == role);
        if !has(Role::Connect) || !has(Role::Accept) {
            return Ok(HalfFlows::default());
        }
        let mut of: FxHashMap<u32, Beginning> =
            chosen.iter().map(|(place, _)| (*place, Beginning::default())).collect();
        progress.step("comparing connections", capture.logs.len() as u64);
        let mut of_logs: Vec<FxHashMap<u32, Beginning>> = Vec::new();
        let work = |log| Ok::<_, Error>(beginnings(&SecondReading::of(capture, sockets, log), &of));
        parallel::in_order(threads, capture.logs.len(), work, |_, found| {
            progress.advance(1);
            of_logs.push(found);
            Ok(())
        })?;
        for (socket, beginning) in of_logs.into_iter().flatten() {
            if let Some(all) = of.get_mut(&socket) {
                all.join(beginning);
            }
        }
        let mut this = HalfFlows::default();
        let mut clocks: FxHashMap<(u32, u32), u32> = FxHashMap::default();
        for (place, names) in chosen {
            let socket = &sockets.all[place as usize];
            let next = clocks.len() as u32;
            let clock = *clocks.entry((socket.host, socket.kernel)).or_insert(next);
            let Some(beginning) = of.remove(&place).filter(|beginning| !beginning.forgotten) else {
                continue;
            };
            this.halves.push(beginning.half_flow(socket, names, clock));
            this.sockets.push(place);
        }
        Ok(this)
    }
}

/// The names of a socket that could be one end of a translated flow; `None`: it cannot. What was found in use has lost
/// its beginning.
fn names(capture: &Capture, socket: &Socket) -> Option<[SocketAddr; 2]> {
    let fits = socket.protocol == Protocol::Tcp
        && matches!(socket.role, Role::Connect | Role::Accept)
        && socket.totals != [0, 0]
        && socket.local != socket.peer;
    let (local, peer) = (capture.names.inet(socket.local)?, capture.names.inet(socket.peer)?);
    fits.then_some([local, peer])
}

fn beginnings(log: &SecondReading, wanted: &FxHashMap<u32, Beginning>) -> FxHashMap<u32, Beginning> {
    let mut found: FxHashMap<u32, Beginning> = FxHashMap::default();
    log.for_each(|call| match call {
        Call::Transfer(call) if call.bytes > 0 && wanted.contains_key(&call.socket) => {
            found.entry(call.socket).or_default().add((call.time, u64::from(call.bytes), call.sent));
        }
        Call::Forgotten { socket, .. } if wanted.contains_key(&socket) => {
            found.entry(socket).or_default().forgotten = true;
        }
        Call::Fingerprint { socket, sent, bytes, crc } if wanted.contains_key(&socket) => {
            let beginning = found.entry(socket).or_default();
            let way = if sent { &mut beginning.sent } else { &mut beginning.received };
            way.fingerprint = Some(Fingerprint { bytes, crc });
        }
        _ => {}
    });
    found
}

impl Beginning {
    fn add(&mut self, call: Moved) {
        let (time, bytes, sent) = call;
        let way = if sent { &mut self.sent } else { &mut self.received };
        if way.bytes == 0 {
            (way.first, way.last) = (time, time);
        }
        (way.first, way.last) = (way.first.min(time), way.last.max(time));
        way.bytes = way.bytes.saturating_add(bytes);
        let len = self.calls.len();
        match self.calls.last_mut() {
            _ if self.cut.is_some() => {}
            Some(last) if len >= KEPT && last.2 == sent => last.1 = last.1.saturating_add(bytes),
            _ if len >= MOST => self.cut = Some(time),
            _ => self.calls.push(call),
        }
    }

    /// Adds what another process did on the same socket.
    fn join(&mut self, other: Beginning) {
        self.calls.extend(other.calls);
        self.forgotten |= other.forgotten;
        self.cut = self.cut.into_iter().chain(other.cut).min();
        for (way, more) in [(&mut self.sent, other.sent), (&mut self.received, other.received)] {
            way.fingerprint = match (way.bytes, more.bytes) {
                (0, _) => more.fingerprint,
                (_, 0) => way.fingerprint,
                // Each has the checksum of its own part.
                _ => None,
            };
            if more.bytes > 0 {
                way.first = if way.bytes > 0 { way.first.min(more.first) } else { more.first };
                way.last = if way.bytes > 0 { way.last.max(more.last) } else { more.last };
                way.bytes = way.bytes.saturating_add(more.bytes);
            }
        }
    }

    fn half_flow(mut self, socket: &Socket, [local, peer]: [SocketAddr; 2], host: u32) -> HalfFlow {
        // Threads and processes are each in order of their own.
        self.calls.sort_by_key(|call| call.0);
        let mut turns: Vec<Turn> = Vec::new();
        let mut all_turns = self.cut.is_none();
        for (time, bytes, sent) in self.calls {
            if self.cut.is_some_and(|cut| time >= cut) {
                break;
            }
            let full = turns.len() == TURNS;
            match turns.last_mut() {
                Some(turn) if turn.sent == sent => turn.bytes = turn.bytes.saturating_add(bytes),
                _ if full => {
                    all_turns = false;
                    break;
                }
                _ => turns.push(Turn { sent, bytes, first: time }),
            }
        }
        let connects = socket.role == Role::Connect;
        HalfFlow {
            side: if connects { Side::Connecting } else { Side::Accepting },
            local,
            peer,
            host,
            machine: socket.machine,
            process: socket.owner,
            made: if connects { socket.opened } else { socket.named },
            sent: self.sent,
            received: self.received,
            turns,
            all_turns,
            whole: socket.closed != i64::MAX,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn beginning(calls: &[Moved]) -> Beginning {
        let mut beginning = Beginning::default();
        calls.iter().for_each(|call| beginning.add(*call));
        beginning
    }

    #[test]
    fn what_several_did_is_one_order() {
        let mut reader = beginning(&[(2, 10, false), (8, 20, false)]);
        reader.received.fingerprint = Some(Fingerprint { bytes: 30, crc: 1 });
        reader.join(beginning(&[(5, 7, true), (6, 8, true)]));
        assert_eq!((reader.sent.bytes, reader.sent.first, reader.sent.last), (15, 5, 6));
        assert_eq!((reader.received.bytes, reader.received.first, reader.received.last), (30, 2, 8));
        assert!(reader.received.fingerprint.is_some());
        reader.join(beginning(&[(9, 1, false)]));
        assert!(reader.received.fingerprint.is_none());
        reader.calls.sort_unstable();
        assert_eq!(reader.calls, [(2, 10, false), (5, 7, true), (6, 8, true), (8, 20, false), (9, 1, false)]);
    }

    #[test]
    fn however_much_there_is_little_is_kept() {
        let long: Vec<Moved> = (0..1_000).map(|at| (at, 2, at % 400 < 200)).collect();
        let beginning = beginning(&long);
        assert!(beginning.calls.len() < KEPT + 8 && beginning.cut.is_none());
        assert_eq!(beginning.calls.iter().map(|call| call.1).sum::<u64>(), 2_000);
        let talk: Vec<Moved> = (0..1_000).map(|at| (at, 2, at % 2 == 0)).collect();
        let beginning = super::tests::beginning(&talk);
        assert_eq!((beginning.calls.len(), beginning.cut), (MOST, Some(MOST as i64)));
        assert_eq!(beginning.sent.bytes + beginning.received.bytes, 2_000);
    }
}
