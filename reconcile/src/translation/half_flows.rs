//! Half flows, of the TCP sockets that could not be paired by name: their turns, their times and
//! their fingerprints. The logs are read once more for them, and only if sockets of both sides are
//! left.
//!
//! There may be as many half flows as there are connections, so the facts from each log are in
//! tables that spill to files: one of summaries of the directions, and one of first calls. Sorted
//! by socket, they are read once.

use std::net::SocketAddr;

use message_trace::{PathError, Progress, TransportProtocol};
use out_of_core::{MemoryPool, SpillableVec, workers};
use rustc_hash::FxHashMap;
use socket_log::encode::FlowRole;

use crate::connections::connection::SocketPartners;
use crate::event_pass::chosen_sockets::{ChosenMembers, ChosenSockets};
use crate::event_pass::log_pass::{EventPass, SocketCall};
use crate::indices::{HostIndex, KernelIndex, OptionalIndex, ProcessIndex, SocketIndex};
use crate::logs::capture::Capture;
use crate::socket_names::SocketNameId;
use crate::sockets::socket::{KernelSocket, KernelSockets};
use crate::translation::half_flow::{FlowTurn, HalfFlowSide, PrefixChecksum, TURNS};
use crate::translation::half_flow_table::{HalfFlowRow, HalfFlowTable};
use crate::translation::socket_starts::{NumberedCall, SocketStart};

/// The half flows, and the socket of each, in order.
#[derive(Debug)]
pub(crate) struct HalfFlows {
    pub(crate) halves: HalfFlowTable,
    pub(crate) sockets: SpillableVec<SocketIndex>,
}

impl HalfFlows {
    /// Reads the half flows of the sockets without a partner; `None` if one side has no half flows.
    pub(crate) fn read_half_flows(
        capture: &Capture,
        sockets: &KernelSockets,
        partner: &SocketPartners,
        threads: usize,
        progress: &dyn Progress,
    ) -> Result<Option<HalfFlows>, PathError> {
        let pool = &capture.pool;
        let wanted = |place: SocketIndex, socket: &KernelSocket| {
            partner.get(place.index()).is_some_and(|other| other.get().is_none())
                && translatable_names(capture, socket).is_some()
        };
        let mut roles = SocketIndex::indices()
            .zip(sockets.all.iter())
            .filter(|(place, socket)| wanted(*place, socket));
        let first = roles.next().map(|(_, socket)| socket.role);
        if roles.all(|(_, socket)| Some(socket.role) == first) {
            return Ok(None);
        }
        let chosen = ChosenSockets::choose_sockets(capture, sockets, wanted)?;
        progress.begin_step("comparing connections", capture.logs.len() as u64);
        let mut found = FirstCallsOfLog::new(pool);
        let work = |log| {
            let reading = EventPass::from_process(capture, sockets, ProcessIndex::from_index(log));
            FirstCallsOfLog::read_log(
                &reading,
                &chosen.members_of_log(capture, sockets, log)?,
                pool,
            )
        };
        workers::run_in_order(threads, capture.logs.len(), work, |_, of_log: FirstCallsOfLog| {
            progress.advance_step(1);
            found.beginnings.extend(of_log.beginnings.iter().copied())?;
            found.calls.extend(of_log.calls.iter().copied())
        })?;
        // Rows of one socket stay in the order of logs.
        found.beginnings.sort_by_key(|row| row.0)?;
        found.calls.sort_by_key(|call| (call.number, call.time))?;
        let mut this = HalfFlows {
            halves: HalfFlowTable::new(pool, capture.names.len()),
            sockets: SpillableVec::new(pool),
        };
        let mut clocks: FxHashMap<(HostIndex, KernelIndex), u32> = FxHashMap::default();
        let mut beginnings = found.beginnings.iter().peekable();
        let mut calls = found.calls.iter().peekable();
        for (number, place) in (0..).zip(chosen.sockets.iter()) {
            let socket = &sockets.all[place.index()];
            let next = clocks.len() as u32;
            let clock = *clocks.entry((socket.host, socket.kernel)).or_insert(next);
            let mut all = SocketStart::default();
            while let Some((_, more)) = beginnings.next_if(|row| row.0 == number) {
                all.join_process(more);
            }
            let mut of_socket = std::iter::from_fn(|| calls.next_if(|call| call.number == number));
            let (turns, all_turns) = first_turns(&mut of_socket, all.cut);
            of_socket.for_each(drop);
            if all.forgotten {
                continue;
            }
            if let Some(names) = translatable_names(capture, socket) {
                this.halves.push(build_half(&all, socket, names, clock, all_turns), turns)?;
                this.sockets.push(*place)?;
            }
        }
        Ok(Some(this))
    }
}

/// First calls of the chosen sockets in logs.
struct FirstCallsOfLog {
    /// Beginnings of sockets, by the socket's number.
    beginnings: SpillableVec<(u32, SocketStart)>,
    calls: SpillableVec<NumberedCall>,
}

impl FirstCallsOfLog {
    fn new(pool: &MemoryPool) -> FirstCallsOfLog {
        FirstCallsOfLog { beginnings: SpillableVec::new(pool), calls: SpillableVec::new(pool) }
    }

    /// Reads the first calls of one log.
    fn read_log(
        log: &EventPass,
        members: &ChosenMembers,
        pool: &MemoryPool,
    ) -> Result<FirstCallsOfLog, PathError> {
        let mut this = FirstCallsOfLog::new(pool);
        this.beginnings
            .extend(members.iter_numbers().map(|number| (number, SocketStart::default())))?;
        if this.beginnings.is_empty() {
            return Ok(this);
        }
        let mut failed = None;
        log.for_each_call(|call| {
            let (SocketCall::Transfer(crate::event_pass::log_pass::SocketTransfer {
                socket, ..
            })
            | SocketCall::Forgotten { socket, .. }
            | SocketCall::Counted { socket, .. }
            | SocketCall::Fingerprint { socket, .. }) = call
            else {
                return;
            };
            let Some((place, number)) = members.place_of_socket(socket) else { return };
            let Some((_, beginning)) = this.beginnings.get_mut(place) else { return };
            match call {
                SocketCall::Transfer(call) if call.bytes > 0 => {
                    let before = beginning.add_call((call.time, u64::from(call.bytes), call.sent));
                    if let Some(before) = before
                        && let Err(error) = this.calls.push(NumberedCall::from_call(number, before))
                    {
                        failed = Some(error);
                    }
                }
                SocketCall::Forgotten { .. } => beginning.forgotten = true,
                SocketCall::Counted { before, .. } => beginning.forgotten |= before > 0,
                SocketCall::Fingerprint { sent, bytes, crc, .. } => {
                    let direction =
                        if sent { &mut beginning.sent } else { &mut beginning.received };
                    direction.fingerprint = Some(PrefixChecksum { bytes, crc });
                }
                _ => {}
            }
        });
        failed.map_or(Ok(()), Err)?;
        let last = this
            .beginnings
            .iter()
            .filter_map(|(number, beginning)| Some((number, beginning.last?)));
        this.calls.extend(last.map(|(number, last)| NumberedCall::from_call(*number, last)))?;
        Ok(this)
    }
}

/// The names of a socket that could be one end of a translated flow; `None` otherwise. The
/// beginning of a socket found in use is unknown.
fn translatable_names(
    capture: &Capture,
    socket: &KernelSocket,
) -> Option<[(SocketNameId, SocketAddr); 2]> {
    let fits = socket.protocol == TransportProtocol::Tcp
        && matches!(socket.role, FlowRole::Connect | FlowRole::Accept)
        && socket.totals != [0, 0]
        && socket.local != socket.peer;
    let name = |name: OptionalIndex<SocketNameId>| name.get().zip(capture.names.inet_address(name));
    let (local, peer) = (name(socket.local)?, name(socket.peer)?);
    fits.then_some([local, peer])
}

/// The first turns of a socket from its first calls in order, up to the first missing call; and
/// whether they are complete.
fn first_turns(
    calls: impl Iterator<Item = impl std::ops::Deref<Target = NumberedCall>>,
    cut: Option<i64>,
) -> (Vec<FlowTurn>, bool) {
    let mut turns: Vec<FlowTurn> = Vec::new();
    for call in calls {
        let (time, bytes, sent) = call.to_call();
        if cut.is_some_and(|cut| time >= cut) {
            break;
        }
        let full = turns.len() == TURNS;
        match turns.last_mut() {
            Some(turn) if turn.sent == sent => turn.bytes = turn.bytes.saturating_add(bytes),
            _ if full => return (turns, false),
            _ => turns.push(FlowTurn { sent, bytes, first: time }),
        }
    }
    (turns, cut.is_none())
}

/// The half flow of a socket with this beginning. `host` is the number of its clock.
fn build_half(
    beginning: &SocketStart,
    socket: &KernelSocket,
    [(local_name, local), (peer_name, peer)]: [(SocketNameId, SocketAddr); 2],
    host: u32,
    all_turns: bool,
) -> HalfFlowRow {
    let connects = socket.role == FlowRole::Connect;
    HalfFlowRow {
        side: if connects { HalfFlowSide::Connecting } else { HalfFlowSide::Accepting },
        local,
        peer,
        local_name: local_name.index() as u32,
        peer_name: peer_name.index() as u32,
        host,
        machine: socket.machine,
        process: socket.owner,
        made: if connects { socket.opened } else { socket.named },
        sent: beginning.sent,
        received: beginning.received,
        all_turns,
        whole: socket.closed.is_some(),
    }
}
