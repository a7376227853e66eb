//! Everything the logs say, in memory: processes, their flows with the calls on them, and the names.

use message_trace::Protocol;
use socket_log::Clock;
use socket_log::encode::Role;

use crate::calls::{Datagram, Transfer};
use crate::names::{NameId, Names};
use crate::process::Process;

/// What was captured.
#[derive(Debug, Default)]
pub(crate) struct Capture {
    pub(crate) hosts: Vec<String>,
    pub(crate) processes: Vec<Process>,
    pub(crate) flows: Vec<Flow>,
    pub(crate) names: Names,
}

/// A flow as one log has it: one process's view of one kernel socket. Times are the log's ticks while it is being
/// read, and wall-clock time from [`Flow::finish`] on.
#[derive(Debug)]
pub(crate) struct Flow {
    pub(crate) process: u32,
    pub(crate) number: u32,
    /// What the process knows of the socket; `None`: the record is missing.
    pub(crate) described: Option<Description>,
    pub(crate) opened: i64,
    pub(crate) last_closed: i64,
    /// Descriptors opened less descriptors closed.
    pub(crate) descriptors: i32,
    pub(crate) names: Vec<Naming>,
    /// The flow (by its place) at the other end of a `socketpair`.
    pub(crate) pair: Option<u32>,
    pub(crate) sends: Vec<Transfer>,
    pub(crate) receives: Vec<Transfer>,
    pub(crate) datagrams: Vec<Datagram>,
}

/// What a process knows of a socket when it first has it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Description {
    pub(crate) domain: u8,
    pub(crate) kind: u8,
    pub(crate) protocol: u16,
    pub(crate) cookie: u64,
}

impl Description {
    /// What messages on the socket go over; `None` for sockets that carry no messages between nodes.
    pub(crate) fn protocol(&self) -> Option<Protocol> {
        const UNIX: u8 = 1;
        const INET: u8 = 2;
        const INET6: u8 = 10;
        const STREAM: u8 = 1;
        const DATAGRAM: u8 = 2;
        const SEQUENCE: u8 = 5;
        const MPTCP: u16 = 262;
        match (self.domain, self.kind, self.protocol) {
            (UNIX, STREAM, _) => Some(Protocol::UnixStream),
            (UNIX, DATAGRAM, _) => Some(Protocol::UnixDatagram),
            (UNIX, SEQUENCE, _) => Some(Protocol::UnixSequence),
            (INET | INET6, STREAM, 0 | 6 | MPTCP) => Some(Protocol::Tcp),
            (INET | INET6, DATAGRAM, 0 | 17 | 136) => Some(Protocol::Udp),
            _ => None,
        }
    }
}

/// The names of a flow's ends became known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Naming {
    pub(crate) time: i64,
    pub(crate) role: Role,
    pub(crate) local: NameId,
    pub(crate) peer: NameId,
    pub(crate) peer_pid: u32,
}

impl Flow {
    pub(crate) fn new(process: u32, number: u32, ticks: i64) -> Flow {
        Flow {
            process,
            number,
            described: None,
            opened: ticks,
            last_closed: i64::MIN,
            descriptors: 1,
            names: Vec::new(),
            pair: None,
            sends: Vec::new(),
            receives: Vec::new(),
            datagrams: Vec::new(),
        }
    }

    /// How many calls moved data.
    pub(crate) fn calls(&self) -> u64 {
        (self.sends.len() + self.receives.len() + self.datagrams.len()) as u64
    }

    /// When the process had closed its last descriptor; `None`: it did not.
    pub(crate) fn closed(&self) -> Option<i64> {
        Some(self.last_closed).filter(|_| self.descriptors <= 0)
    }

    /// Turns all ticks into wall-clock time by the log's `clock`, and puts the names into the order of time. The
    /// calls of one thread are in order already; those of several are put in order when sockets are made.
    pub(crate) fn finish(&mut self, clock: &Clock) {
        let convert = |ticks: &mut i64| *ticks = clock.realtime(*ticks as u64);
        convert(&mut self.opened);
        if self.last_closed != i64::MIN {
            convert(&mut self.last_closed);
        }
        self.names.iter_mut().for_each(|naming| convert(&mut naming.time));
        self.names.sort_by_key(|naming| naming.time);
        self.sends.iter_mut().for_each(|call| convert(&mut call.time));
        self.receives.iter_mut().for_each(|call| convert(&mut call.time));
        self.datagrams.iter_mut().for_each(|call| convert(&mut call.time));
    }
}
