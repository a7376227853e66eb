//! Sockets: the flows of all processes that hold one kernel socket, made one.
//!
//! A socket is handed on: a child inherits it, a worker gets it from its master. Each process logs it as a flow of
//! its own, and the kernel's cookie says which are the same. What they did on it is one order of calls, by the
//! machine's clock.

use message_trace::Protocol;
use rustc_hash::FxHashMap;
use socket_log::encode::Role;

use crate::calls::{Datagram, Transfer};
use crate::capture::{Capture, Flow, Naming};
use crate::names::{NO_NAME, NameId};
use crate::reconciliation::{Reconciliation, add};

/// A kernel socket.
#[derive(Debug)]
pub(crate) struct Socket {
    pub(crate) host: u32,
    pub(crate) machine: u32,
    pub(crate) protocol: Protocol,
    pub(crate) role: Role,
    pub(crate) local: NameId,
    pub(crate) peer: NameId,
    /// The process at the other end of a unix socket, as the kernel told; 0 if unknown.
    pub(crate) peer_pid: u32,
    /// The process that connected or accepted it.
    pub(crate) pid: u32,
    /// The flow's number in that process, for sockets without a name.
    pub(crate) number: u32,
    /// When the first process had it.
    pub(crate) opened: i64,
    /// When it was connected or accepted.
    pub(crate) named: i64,
    /// When the last process had closed it; `i64::MAX`: not seen.
    pub(crate) closed: i64,
    /// The process that it belongs to, where no call says more: the last to use it, or else to have it.
    pub(crate) owner: u32,
    /// The socket at the other end of a `socketpair`.
    pub(crate) pair: Option<u32>,
    pub(crate) sends: Vec<Transfer>,
    pub(crate) receives: Vec<Transfer>,
    pub(crate) datagrams: Vec<Datagram>,
}

impl Socket {
    /// Bytes sent and received.
    pub(crate) fn totals(&self) -> [u64; 2] {
        [&self.sends, &self.receives].map(|calls| calls.iter().map(|call| call.bytes).sum())
    }
}

/// Makes sockets of the flows of `capture`, taking their calls. Flows that are no message's are counted in `outcome`.
pub(crate) fn sockets(capture: &mut Capture, outcome: &mut Reconciliation) -> Vec<Socket> {
    let mut flows = std::mem::take(&mut capture.flows);
    let mut by_cookie: FxHashMap<(u32, u32, u64), u32> = FxHashMap::default();
    let mut groups: Vec<Vec<u32>> = Vec::new();
    // The socket of each flow.
    let mut socket_of: Vec<Option<u32>> = Vec::with_capacity(flows.len());
    for (place, flow) in flows.iter().enumerate() {
        let Some(description) = flow.described else {
            add(&mut outcome.ignored, "flow not described in its log", flow.calls());
            socket_of.push(None);
            continue;
        };
        if description.protocol().is_none() {
            add(&mut outcome.ignored, &format!("address family {}", description.domain), flow.calls());
            socket_of.push(None);
            continue;
        }
        let next = groups.len() as u32;
        let process = &capture.processes[flow.process as usize];
        let group = match description.cookie {
            // Older kernels count cookies in each network namespace, so the host belongs to the key.
            0 => next,
            cookie => *by_cookie.entry((process.machine, process.host, cookie)).or_insert(next),
        };
        match groups.get_mut(group as usize) {
            Some(group) => group.push(place as u32),
            None => groups.push(vec![place as u32]),
        }
        socket_of.push(Some(group));
    }
    groups.iter().map(|group| socket(capture, &mut flows, group, &socket_of)).collect()
}

fn socket(capture: &Capture, flows: &mut [Flow], group: &[u32], socket_of: &[Option<u32>]) -> Socket {
    let of_group = || group.iter().map(|place| &flows[*place as usize]);
    let protocol = of_group().find_map(|flow| flow.described?.protocol()).unwrap_or(Protocol::Other);
    let pair = of_group().find_map(|flow| socket_of.get(flow.pair? as usize).copied()?);
    let opened = of_group().map(|flow| flow.opened).min().unwrap_or(0);
    let closing = |flow: &Flow| flow.closed().or(capture.processes[flow.process as usize].ended);
    let closed = of_group().map(|flow| closing(flow).unwrap_or(i64::MAX)).max().unwrap_or(i64::MAX);
    let mut names: Vec<(Naming, u32, u32)> = of_group()
        .flat_map(|flow| flow.names.iter().map(|naming| (*naming, flow.process, flow.number)))
        .collect();
    names.sort_by_key(|(naming, ..)| naming.time);
    let mut holders: Vec<(i64, u32, u32)> =
        of_group().map(|flow| (flow.opened, flow.process, flow.number)).collect();
    holders.sort_unstable();
    let (mut maker, mut number) = holders.first().map_or((0, 0), |(_, process, number)| (*process, *number));
    let holder = holders.last().map_or(0, |(_, process, _)| *process);

    let mut this = Socket {
        host: capture.processes[maker as usize].host,
        machine: capture.processes[maker as usize].machine,
        protocol,
        role: Role::Unknown,
        local: NO_NAME,
        peer: NO_NAME,
        peer_pid: 0,
        pid: 0,
        number: 0,
        opened,
        named: opened,
        closed,
        owner: holder,
        pair,
        sends: Vec::new(),
        receives: Vec::new(),
        datagrams: Vec::new(),
    };
    for (naming, process, flow) in &names {
        if naming.local != NO_NAME {
            this.local = naming.local;
        }
        if naming.peer != NO_NAME {
            this.peer = naming.peer;
        }
        if naming.peer_pid != 0 && this.peer_pid == 0 {
            this.peer_pid = naming.peer_pid;
        }
        match (naming.role, this.role) {
            (Role::Unknown, _) | (Role::Bind, Role::Connect | Role::Accept | Role::Listen) => {}
            (role @ (Role::Connect | Role::Accept), former) => {
                if former != role {
                    this.named = naming.time;
                    (maker, number) = (*process, *flow);
                }
                this.role = role;
            }
            (role, _) => this.role = role,
        }
    }
    (this.pid, this.number) = (capture.processes[maker as usize].pid, number);
    for place in group {
        let flow = &mut flows[*place as usize];
        take(&mut this.sends, &mut flow.sends);
        take(&mut this.receives, &mut flow.receives);
        take(&mut this.datagrams, &mut flow.datagrams);
    }
    order(&mut this.sends, |call| call.time);
    order(&mut this.receives, |call| call.time);
    order(&mut this.datagrams, |call| call.time);
    name_peers(&mut this.datagrams, &names);
    let calls = [this.sends.last(), this.receives.last()].into_iter().flatten();
    let last_call = calls.map(|call| (call.time, call.process)).max();
    let last_datagram = this.datagrams.last().map(|call| (call.time, call.process));
    if let Some((_, process)) = last_call.max(last_datagram) {
        this.owner = process;
    }
    this
}

/// Gives the datagrams of connected sockets the peer that the socket was connected to at the time.
fn name_peers(datagrams: &mut [Datagram], names: &[(Naming, u32, u32)]) {
    let peers: Vec<(i64, NameId)> = names
        .iter()
        .filter(|(naming, ..)| naming.peer != NO_NAME)
        .map(|(naming, ..)| (naming.time, naming.peer))
        .collect();
    for datagram in datagrams.iter_mut().filter(|datagram| datagram.peer == NO_NAME) {
        let after = peers.partition_point(|(time, _)| *time <= datagram.time);
        if let Some((_, peer)) = peers.get(after.saturating_sub(1)) {
            datagram.peer = *peer;
        }
    }
}

fn take<T>(all: &mut Vec<T>, more: &mut Vec<T>) {
    if all.is_empty() {
        std::mem::swap(all, more);
    } else {
        all.append(more);
    }
}

/// Puts calls into the order of time; equal times stay as they are.
fn order<T>(calls: &mut [T], time: impl Fn(&T) -> i64) {
    if !calls.is_sorted_by_key(&time) {
        calls.sort_by_key(time);
    }
}
