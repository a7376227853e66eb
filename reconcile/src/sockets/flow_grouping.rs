//! Grouping of the flows of all logs into sockets.

use message_trace::{PathError, TransportProtocol};
use out_of_core::SpillableVec;
use rustc_hash::FxHashMap;
use socket_log::encode::FlowRole;

use crate::indices::{
    HostIndex, KernelIndex, LogFlowIndex, MachineIndex, OptionalIndex, ProcessIndex, SocketIndex,
};
use crate::logs::capture::Capture;
use crate::logs::flow::{FlowKind, FlowNaming, LogFlow};
use crate::reconciliation::{Reconciliation, add_count};
use crate::socket_names::SocketNameId;
use crate::sockets::connect_return::{ConnectReturn, PackedConnectReturn};
use crate::sockets::socket::{KernelSocket, KernelSockets};
use crate::tuning::OPENED_TO_CONNECT_NS;

/// Builds sockets from the flows of `capture`, which are dropped. Flows that carry no messages are
/// counted in `outcome`.
pub(crate) fn build_sockets(
    capture: &mut Capture,
    outcome: &mut Reconciliation,
) -> Result<KernelSockets, PathError> {
    let pool = capture.pool.clone();
    let flows = std::mem::take(&mut capture.flows);
    let namings = std::mem::take(&mut capture.namings);
    let groups = FlowGroups::group_flows(capture, &flows, outcome)?;
    // Sockets are numbered in the order of their first flows.
    let mut of_flow: SpillableVec<(u32, OptionalIndex<SocketIndex>)> = SpillableVec::new(&pool);
    let mut next = SocketIndex::indices();
    for (place, (flow, first)) in LogFlowIndex::indices().zip(flows.iter().zip(groups.first.iter()))
    {
        let socket = match first.get() {
            None => OptionalIndex::NONE,
            Some(first) if first == place => next.next().into(),
            Some(first) => of_flow[first.index()].1,
        };
        of_flow.push((flow.number, socket))?;
    }
    let mut sockets =
        KernelSockets { all: SpillableVec::new(&pool), of_flow, peers: FxHashMap::default() };
    let mut names: Vec<(FlowNaming, ProcessIndex, u32)> = Vec::new();
    let mut members: Vec<LogFlowIndex> = Vec::new();
    // The names of a flow mostly follow the names of the previous flow.
    let mut next = 0;
    for place in LogFlowIndex::indices().take(flows.len()) {
        if groups.first[place.index()].get() != Some(place) {
            continue;
        }
        members.clear();
        members.extend(std::iter::successors(Some(place), |at| groups.next[at.index()].get()));
        names.clear();
        for member in &members {
            let flow = &flows[member.index()];
            let is_before = |at: usize| namings.get(at).is_some_and(|naming| naming.flow < *member);
            if is_before(next) || next > 0 && !is_before(next - 1) {
                next = namings.partition_point(0..namings.len(), |naming| naming.flow < *member);
            }
            while let Some(naming) = namings.get(next).filter(|naming| naming.flow == *member) {
                names.push((*naming, flow.process, flow.number));
                next += 1;
            }
        }
        names.sort_by_key(|(naming, ..)| naming.time);
        let socket = build_socket(capture, &flows, &members, &names, &sockets.of_flow);
        if socket.datagrams > 0 {
            let peers = names.iter();
            let peers = peers.filter_map(|(naming, ..)| Some((naming.time, naming.peer.get()?)));
            let peers: Vec<(i64, SocketNameId)> = peers.collect();
            if peers.len() > 1 {
                sockets.peers.insert(SocketIndex::from_index(sockets.all.len()), peers);
            }
        }
        sockets.all.push(socket)?;
    }
    pair_up(&mut sockets, &groups.other_ends);
    Ok(sockets)
}

/// Pairs the two ends of unix sockets that were found in use, given their flows.
fn pair_up(sockets: &mut KernelSockets, other_ends: &[(LogFlowIndex, LogFlowIndex)]) {
    let KernelSockets { all, of_flow, .. } = sockets;
    for (one, other) in other_ends {
        let end = |flow: LogFlowIndex| of_flow.get(flow.index()).and_then(|of| of.1.get());
        let Some(ends) = end(*one).zip(end(*other)).filter(|(one, other)| one != other) else {
            continue;
        };
        let alone = |end: SocketIndex| all.get(end.index()).filter(|end| end.pair.get().is_none());
        let (Some(first), Some(second)) = (alone(ends.0), alone(ends.1)) else { continue };
        let aligned =
            first.protocol == TransportProtocol::UnixStream && (first.found || second.found);
        for (end, other) in [(ends.0, ends.1), (ends.1, ends.0)] {
            let end = &mut all[end.index()];
            (end.pair, end.aligned) = (OptionalIndex::some(other), aligned);
        }
    }
}

/// Groups of flows with the same socket.
struct FlowGroups {
    /// The first flow of each flow's socket; none for flows that carry no messages.
    first: SpillableVec<OptionalIndex<LogFlowIndex>>,
    /// The next flow of the same socket.
    next: SpillableVec<OptionalIndex<LogFlowIndex>>,
    /// Pairs of flows with sockets that are the two ends of one connection, as reported by the
    /// kernel.
    other_ends: Vec<(LogFlowIndex, LogFlowIndex)>,
}

impl FlowGroups {
    /// Groups flows by the kernel's number of their sockets.
    fn group_flows(
        capture: &Capture,
        flows: &SpillableVec<LogFlow>,
        outcome: &mut Reconciliation,
    ) -> Result<FlowGroups, PathError> {
        let pool = &capture.pool;
        let mut first = SpillableVec::new(pool);
        // A cookie, the kernel's number of a socket, is unique within that kernel only, and another
        // source may number sockets in another way.
        let mut places_of_ids: FxHashMap<(KernelIndex, HostIndex, u32), u32> = FxHashMap::default();
        let mut by_cookie: SpillableVec<FlowGroupRow> = SpillableVec::new(pool);
        for (place, flow) in LogFlowIndex::indices().zip(flows.iter()) {
            let protocol = flow.kind.map(FlowKind::protocol);
            first.push(protocol.flatten().map(|_| place).into())?;
            match flow.kind {
                None => add_count(
                    &mut outcome.ignored,
                    "flow not described in its log",
                    flow.call_count(),
                ),
                Some(kind) if protocol == Some(None) => {
                    add_count(
                        &mut outcome.ignored,
                        &format!("address family {}", kind.domain),
                        flow.call_count(),
                    );
                }
                Some(_) if flow.cookie != 0 => {
                    let process = &capture.processes[flow.process.index()];
                    let number = places_of_ids.len() as u32;
                    let place_of_id = (process.kernel, process.host, process.source);
                    let number = *places_of_ids.entry(place_of_id).or_insert(number);
                    by_cookie.push((flow.cookie, number, OptionalIndex::NONE, place))?;
                }
                Some(_) => {}
            }
        }
        by_cookie.sort_by_key(|row| *row)?;
        let next = SpillableVec::filled(pool, flows.len(), OptionalIndex::NONE)?;
        let mut groups = FlowGroups { first, next, other_ends: Vec::new() };
        let apart = counted_apart(flows, &by_cookie, places_of_ids.len());
        if apart.contains(&true) {
            let counted = |row: &mut FlowGroupRow| {
                if apart[row.1 as usize] {
                    row.2 = flows[row.3.index()].machine;
                }
            };
            by_cookie.for_each_mut(0..by_cookie.len(), counted);
            by_cookie.sort_by_key(|row| *row)?;
        }
        let mut before: Option<FlowGroupRow> = None;
        for next in by_cookie.iter().copied() {
            if let Some(one) =
                before.filter(|one| (one.0, one.1, one.2) == (next.0, next.1, next.2))
            {
                groups.first[next.3.index()] = groups.first[one.3.index()];
                groups.next[one.3.index()] = OptionalIndex::some(next.3);
            }
            before = Some(next);
        }
        for (cookie, number, machine, place) in by_cookie.iter().copied() {
            let other = flows[place.index()].other_end;
            if other == 0 || other == cookie {
                continue;
            }
            let key = |row: &FlowGroupRow| (row.0, row.1, row.2);
            let found = by_cookie
                .partition_point(0..by_cookie.len(), |row| key(row) < (other, number, machine));
            let is_it = |row: &&FlowGroupRow| key(row) == (other, number, machine);
            groups.other_ends.extend(by_cookie.get(found).filter(is_it).map(|row| (place, row.3)));
        }
        Ok(groups)
    }
}

/// A flow with the key of its socket: the kernel's number, its scope by index, and the machine if
/// it matters; and the flow's index.
type FlowGroupRow = (u64, u32, OptionalIndex<MachineIndex>, LogFlowIndex);

/// Whether the kernel of each scope numbers its sockets per network namespace, as older kernels do:
/// it gave one number on several machines. With other kernels, a socket that seems to be on several
/// machines was passed from one to the other, as a process without the number of its socket's
/// namespace is assumed to have the socket from its own namespace.
fn counted_apart(
    flows: &SpillableVec<LogFlow>,
    by_cookie: &SpillableVec<FlowGroupRow>,
    places: usize,
) -> Vec<bool> {
    let mut apart = vec![false; places];
    let mut before: Option<(u64, u32, OptionalIndex<MachineIndex>)> = None;
    for (cookie, number, _, place) in by_cookie.iter().copied() {
        let flow = &flows[place.index()];
        if flow.is_found() {
            continue;
        }
        if before
            .is_some_and(|other| (other.0, other.1) == (cookie, number) && other.2 != flow.machine)
        {
            apart[number as usize] = true;
        }
        before = Some((cookie, number, flow.machine));
    }
    apart
}

/// Builds the socket of a group of flows from these `members` and their `names`.
fn build_socket(
    capture: &Capture,
    flows: &SpillableVec<LogFlow>,
    members: &[LogFlowIndex],
    names: &[(FlowNaming, ProcessIndex, u32)],
    of_flow: &SpillableVec<(u32, OptionalIndex<SocketIndex>)>,
) -> KernelSocket {
    let of_group = || members.iter().map(|place| &flows[place.index()]);
    let protocol =
        of_group().find_map(|flow| flow.kind?.protocol()).unwrap_or(TransportProtocol::Other);
    let pair = of_group().find_map(|flow| of_flow.get(flow.pair.get()?.index())?.1.get());
    let opened = of_group().map(|flow| flow.opened).min().unwrap_or(0);
    let closing =
        |flow: &LogFlow| flow.closed_at().or(capture.processes[flow.process.index()].ended);
    let closed = of_group().map(closing).reduce(|one, other| Some(one?.max(other?))).flatten();
    let had = |flow: &LogFlow| (flow.opened, flow.process, flow.number);
    let (mut maker, mut number) =
        of_group().map(had).min().map(|(_, process, number)| (process, number)).unwrap_or_default();
    let holder = of_group().map(had).max().map(|(_, process, _)| process).unwrap_or_default();
    let users = of_group().filter(|flow| flow.last_call.is_some());
    let user = users.map(|flow| (flow.last_call, flow.process)).max();
    let of_maker = &capture.processes[maker.index()];
    // A process that has it from another one may be on another machine.
    let machine = of_group()
        .find(|flow| !flow.is_found())
        .or(of_group().next())
        .and_then(|flow| flow.machine.get());
    let mut this = KernelSocket {
        host: of_maker.host,
        kernel: of_maker.kernel,
        machine: machine.unwrap_or(of_maker.machine),
        source: of_maker.source,
        protocol,
        role: FlowRole::Unknown,
        local: OptionalIndex::NONE,
        peer: OptionalIndex::NONE,
        peer_pid: 0,
        pid: 0,
        number: 0,
        opened,
        named: opened,
        made: opened,
        connected: PackedConnectReturn::UNKNOWN,
        maker,
        maker_tid: 0,
        closed: closed.into(),
        owner: user.map_or(holder, |(_, process)| process),
        pair: pair.into(),
        first_sent: of_group().filter_map(|flow| flow.first_sent.get()).min().into(),
        totals: [0, 1]
            .map(|way| of_group().fold(0, |sum: u64, flow| sum.saturating_add(flow.totals[way]))),
        transfers: of_group().fold(0, |sum: u32, flow| sum.saturating_add(flow.transfers)),
        datagrams: of_group().fold(0, |sum: u32, flow| sum.saturating_add(flow.datagrams)),
        counted: of_group().all(LogFlow::is_found) && of_group().any(|flow| flow.counted),
        found: of_group().all(LogFlow::is_found),
        aligned: false,
    };
    for (naming, process, flow) in names {
        if naming.local.get().is_some() {
            this.local = naming.local;
        }
        if naming.peer.get().is_some() {
            this.peer = naming.peer;
        }
        if naming.peer_pid != 0 && this.peer_pid == 0 {
            this.peer_pid = naming.peer_pid;
        }
        match (naming.role, this.role) {
            (FlowRole::Unknown, _)
            | (FlowRole::Bind, FlowRole::Connect | FlowRole::Accept | FlowRole::Listen) => {}
            (role @ (FlowRole::Connect | FlowRole::Accept), former) => {
                if former != role {
                    this.named = naming.time;
                    this.made = connect_call_time(naming, opened);
                    this.connected = connect_return(naming);
                    this.maker_tid = naming.tid;
                    (maker, number) = (*process, *flow);
                } else if this.connected.unpack() == ConnectReturn::UnderWay {
                    // A later call that found the connection established.
                    this.connected = Some(connect_return(naming))
                        .filter(|later| later.unpack() != ConnectReturn::Unknown)
                        .unwrap_or(this.connected);
                }
                this.role = role;
            }
            (role, _) => this.role = role,
        }
    }
    (this.pid, this.number, this.maker) = (capture.processes[maker.index()].pid, number, maker);
    this
}

/// Return of the call to `connect` in `naming`, if it is one.
fn connect_return(naming: &FlowNaming) -> PackedConnectReturn {
    PackedConnectReturn::from(match naming.role {
        FlowRole::Connect if !naming.called.is_some() => ConnectReturn::Unknown,
        FlowRole::Connect if naming.under_way => ConnectReturn::UnderWay,
        FlowRole::Connect => ConnectReturn::At(naming.time),
        _ => ConnectReturn::Unknown,
    })
}

/// Time of the call in `naming`, if it is one to `connect`, for a socket `opened` then. A log
/// without that time recorded the names after the call; a socket is mostly opened right before it.
fn connect_call_time(naming: &FlowNaming, opened: i64) -> i64 {
    match (naming.role, naming.called.get()) {
        (FlowRole::Connect, Some(called)) => called,
        (FlowRole::Connect, None) if naming.time.saturating_sub(opened) <= OPENED_TO_CONNECT_NS => {
            opened.min(naming.time)
        }
        _ => naming.time,
    }
}
