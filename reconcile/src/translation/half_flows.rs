//! What translation wants to know of the TCP sockets whose other end was not found by name: their
//! turns, their times and their fingerprints. The logs are read once more for it, and only where
//! there are such sockets on both sides.
//!
//! There may be as many such sockets as there are connections, so what each log has of them is in
//! tables (`column`): one of what its ways are like, and one of its first calls. Sorted by socket,
//! they are gone through once.

use std::net::SocketAddr;

use message_trace::{PathError, Progress, Protocol};
use out_of_core::{MemoryPool, SpillableVec, workers};
use rustc_hash::FxHashMap;
use socket_log::encode::Role;

use crate::absent::NONE;
use crate::logs::capture::Capture;
use crate::second_reading::chosen::{Chosen, Members};
use crate::second_reading::reading::{Call, SecondReading};
use crate::sockets::socket::{Socket, Sockets};
use crate::translation::beginnings::{Beginning, First};
use crate::translation::half_flow::{Fingerprint, Side, TURNS, Turn};
use crate::translation::halves::{Half, Halves};

/// The half flows, and the socket of each, in order.
#[derive(Debug)]
pub(crate) struct HalfFlows {
    pub(crate) halves: Halves,
    pub(crate) sockets: SpillableVec<u32>,
}

impl HalfFlows {
    /// Reads the half flows of the sockets without a partner; `None` where one side has none.
    pub(crate) fn read(
        capture: &Capture,
        sockets: &Sockets,
        partner: &SpillableVec<u32>,
        threads: usize,
        progress: &dyn Progress,
    ) -> Result<Option<HalfFlows>, PathError> {
        let pool = &capture.pool;
        let wanted = |place: u32, socket: &Socket| {
            partner.get(place as usize) == Some(&NONE) && names(capture, socket).is_some()
        };
        let mut roles =
            (0u32..).zip(sockets.all.iter()).filter(|(place, socket)| wanted(*place, socket));
        let first = roles.next().map(|(_, socket)| socket.role);
        if roles.all(|(_, socket)| Some(socket.role) == first) {
            return Ok(None);
        }
        let chosen = Chosen::of(capture, sockets, wanted)?;
        progress.step("comparing connections", capture.logs.len() as u64);
        let mut found = FirstOfChosen::new(pool);
        let work = |log| {
            let reading = SecondReading::of(capture, sockets, log);
            FirstOfChosen::of(&reading, &chosen.of_log(capture, sockets, log)?, pool)
        };
        workers::in_order(threads, capture.logs.len(), work, |_, of_log: FirstOfChosen| {
            progress.advance(1);
            found.beginnings.extend(of_log.beginnings.iter().copied())?;
            found.calls.extend(of_log.calls.iter().copied())
        })?;
        // Of one socket they stay in the order of logs.
        found.beginnings.sort_by_key(|row| row.0)?;
        found.calls.sort_by_key(|call| (call.number, call.time))?;
        let mut this = HalfFlows {
            halves: Halves::new(pool, capture.names.len()),
            sockets: SpillableVec::new(pool),
        };
        let mut clocks: FxHashMap<(u32, u32), u32> = FxHashMap::default();
        let mut beginnings = found.beginnings.iter().peekable();
        let mut calls = found.calls.iter().peekable();
        for (number, place) in (0..).zip(chosen.sockets.iter()) {
            let socket = &sockets.all[*place as usize];
            let next = clocks.len() as u32;
            let clock = *clocks.entry((socket.host, socket.kernel)).or_insert(next);
            let mut all = Beginning::default();
            while let Some((_, more)) = beginnings.next_if(|row| row.0 == number) {
                all.join(more);
            }
            let mut of_socket = std::iter::from_fn(|| calls.next_if(|call| call.number == number));
            let (turns, all_turns) = turns(&mut of_socket, all.cut);
            of_socket.for_each(drop);
            if all.forgotten {
                continue;
            }
            if let Some(names) = names(capture, socket) {
                this.halves.push(half(&all, socket, names, clock, all_turns), turns)?;
                this.sockets.push(*place)?;
            }
        }
        Ok(Some(this))
    }
}

/// What logs have of the chosen sockets.
struct FirstOfChosen {
    /// By number.
    beginnings: SpillableVec<(u32, Beginning)>,
    calls: SpillableVec<First>,
}

impl FirstOfChosen {
    fn new(pool: &MemoryPool) -> FirstOfChosen {
        FirstOfChosen { beginnings: SpillableVec::new(pool), calls: SpillableVec::new(pool) }
    }

    /// What one log has.
    fn of(
        log: &SecondReading,
        members: &Members,
        pool: &MemoryPool,
    ) -> Result<FirstOfChosen, PathError> {
        let mut this = FirstOfChosen::new(pool);
        this.beginnings.extend(members.numbers().map(|number| (number, Beginning::default())))?;
        if this.beginnings.is_empty() {
            return Ok(this);
        }
        let mut failed = None;
        log.for_each(|call| {
            let (Call::Transfer(crate::second_reading::reading::Transfer { socket, .. })
            | Call::Forgotten { socket, .. }
            | Call::Counted { socket, .. }
            | Call::Fingerprint { socket, .. }) = call
            else {
                return;
            };
            let Some((place, number)) = members.place(socket) else { return };
            let Some((_, beginning)) = this.beginnings.get_mut(place) else { return };
            match call {
                Call::Transfer(call) if call.bytes > 0 => {
                    let before = beginning.add((call.time, u64::from(call.bytes), call.sent));
                    if let Some(before) = before
                        && let Err(error) = this.calls.push(First::of(number, before))
                    {
                        failed = Some(error);
                    }
                }
                Call::Forgotten { .. } => beginning.forgotten = true,
                Call::Counted { before, .. } => beginning.forgotten |= before > 0,
                Call::Fingerprint { sent, bytes, crc, .. } => {
                    let way = if sent { &mut beginning.sent } else { &mut beginning.received };
                    way.fingerprint = Some(Fingerprint { bytes, crc });
                }
                _ => {}
            }
        });
        failed.map_or(Ok(()), Err)?;
        let last = this
            .beginnings
            .iter()
            .filter_map(|(number, beginning)| Some((number, beginning.last?)));
        this.calls.extend(last.map(|(number, last)| First::of(*number, last)))?;
        Ok(this)
    }
}

/// The names of a socket that could be one end of a translated flow; `None`: it cannot. What was
/// found in use has lost its beginning.
fn names(capture: &Capture, socket: &Socket) -> Option<[SocketAddr; 2]> {
    let fits = socket.protocol == Protocol::Tcp
        && matches!(socket.role, Role::Connect | Role::Accept)
        && socket.totals != [0, 0]
        && socket.local != socket.peer;
    let (local, peer) = (capture.names.inet(socket.local)?, capture.names.inet(socket.peer)?);
    fits.then_some([local, peer])
}

/// The first turns of a socket, whose first calls come in order, up to when calls are missing; and
/// whether they are all.
fn turns(
    calls: impl Iterator<Item = impl std::ops::Deref<Target = First>>,
    cut: Option<i64>,
) -> (Vec<Turn>, bool) {
    let mut turns: Vec<Turn> = Vec::new();
    for call in calls {
        let (time, bytes, sent) = call.moved();
        if cut.is_some_and(|cut| time >= cut) {
            break;
        }
        let full = turns.len() == TURNS;
        match turns.last_mut() {
            Some(turn) if turn.sent == sent => turn.bytes = turn.bytes.saturating_add(bytes),
            _ if full => return (turns, false),
            _ => turns.push(Turn { sent, bytes, first: time }),
        }
    }
    (turns, cut.is_none())
}

fn half(
    beginning: &Beginning,
    socket: &Socket,
    [local, peer]: [SocketAddr; 2],
    host: u32,
    all_turns: bool,
) -> Half {
    let connects = socket.role == Role::Connect;
    Half {
        side: if connects { Side::Connecting } else { Side::Accepting },
        local,
        peer,
        local_name: socket.local,
        peer_name: socket.peer,
        host,
        machine: socket.machine,
        process: socket.owner,
        made: if connects { socket.opened } else { socket.named },
        sent: beginning.sent,
        received: beginning.received,
        all_turns,
        whole: socket.closed != i64::MAX,
    }
}
