//! Uncaptured activity of processes, in words: sockets of other kinds, `io_uring`, and system calls
//! past libc.

use std::path::Path;

use serde::Serialize;
use socket_log::LogRecord;
use socket_log::encode::{SocketKind, UncapturedEvent};
use socket_log::layout::runtime::IS_LEFT_OUT;
use socket_log::layout::uncaptured::IS_GO;

/// Kind of uncaptured activity: each kind has one remedy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum UncapturedKind {
    /// Sockets with packets that are not messages between sockets of two programs: raw, ICMP,
    /// packet.
    Socket,
    /// Sockets by which a program talks to its own kernel, as with netlink. Nearly every network
    /// tool has some, and nothing of a trace is missing.
    KernelSocket,
    /// `io_uring`, which moves bytes without calls.
    Ring,
    /// System calls past libc.
    PastLibc,
    /// Tasks of a runtime, which are not followed.
    Tasks,
    /// Tasks of a runtime that the user had left out.
    LeftOutTasks,
}

/// An uncaptured thing: its kind, and its names in the singular and the plural.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UncapturedThing {
    /// The kind of the thing.
    pub kind: UncapturedKind,
    /// The singular name of the thing.
    pub one: String,
    /// The plural name of the thing. Objects have no plural name, and are not counted.
    pub many: Option<String>,
}

impl UncapturedThing {
    /// The thing in a record; `None` for records of other kinds.
    pub fn from_record(record: &LogRecord) -> Option<UncapturedThing> {
        let LogRecord::Uncaptured { what, value, socket, object } = record else { return None };
        let (kind, one, many) = match what {
            UncapturedEvent::Socket => {
                let name = socket_name(*socket);
                (kind_of(*socket), format!("{name} socket"), Some(format!("{name} sockets")))
            }
            UncapturedEvent::Ring => (
                UncapturedKind::Ring,
                "ring of io_uring".to_owned(),
                Some("rings of io_uring".to_owned()),
            ),
            UncapturedEvent::OutOfSight => {
                let (name, rest) = (socket_name(*socket), "made past libc");
                let many = format!("{name} sockets {rest}");
                (UncapturedKind::PastLibc, format!("{name} socket {rest}"), Some(many))
            }
            UncapturedEvent::Object => {
                let file = Path::new(object).file_name().unwrap_or_default().to_string_lossy();
                let language = if value & IS_GO == 0 { "" } else { " (Go)" };
                (UncapturedKind::PastLibc, format!("system calls of {file}{language}"), None)
            }
            UncapturedEvent::Runtime => {
                let is_left_out = value & IS_LEFT_OUT != 0;
                let kind =
                    if is_left_out { UncapturedKind::LeftOutTasks } else { UncapturedKind::Tasks };
                (kind, format!("tasks of {}", runtime_name(object, *value)), None)
            }
        };
        Some(UncapturedThing { kind, one, many })
    }

    /// Describes `count` things of this name, with their number.
    pub fn describe_count(&self, count: u64) -> String {
        match &self.many {
            None => self.one.clone(),
            Some(_) if count == 1 => format!("1 {}", self.one),
            Some(many) => format!("{count} {many}"),
        }
    }
}

/// The name of a runtime whose tasks are not followed, from its record, with the flag that had it
/// left out.
pub(crate) fn runtime_name(name: &str, flags: u32) -> String {
    let reason = if flags & IS_LEFT_OUT == 0 { "" } else { " (left out by --no-runtimes)" };
    format!("{name}{reason}")
}

// Address families of sockets (socket(2)).
const INET: u8 = 2;
const KEY: u8 = 15;
const NETLINK: u8 = 16;
const CRYPTOGRAPHY: u8 = 38;
const INET6: u8 = 10;

/// The kind of a socket: whether it leads out of the kernel.
fn kind_of(socket: SocketKind) -> UncapturedKind {
    match socket.domain {
        KEY | NETLINK | CRYPTOGRAPHY => UncapturedKind::KernelSocket,
        _ => UncapturedKind::Socket,
    }
}

/// The name of a socket, to be followed by the word "socket".
fn socket_name(socket: SocketKind) -> String {
    const STREAM: u8 = 1;
    const DATAGRAM: u8 = 2;
    const RAW: u8 = 3;
    let protocol = match socket.protocol {
        0 => "any protocol".to_owned(),
        1 | 58 => "ICMP".to_owned(),
        6 => "TCP".to_owned(),
        17 => "UDP".to_owned(),
        132 => "SCTP".to_owned(),
        136 => "UDP-Lite".to_owned(),
        255 => "IP".to_owned(),
        262 => "MPTCP".to_owned(),
        other => format!("protocol {other}"),
    };
    match (socket.domain, socket.kind, socket.protocol) {
        (INET | INET6, STREAM, 0) => "TCP".to_owned(),
        (INET | INET6, DATAGRAM, 0) => "UDP".to_owned(),
        (INET | INET6, RAW, _) => format!("raw ({protocol})"),
        (INET | INET6, ..) => protocol,
        (1, ..) => "unix".to_owned(),
        (KEY, ..) => "key".to_owned(),
        (NETLINK, ..) => "netlink".to_owned(),
        (17, ..) => "packet".to_owned(),
        (21, ..) => "RDS".to_owned(),
        (29, ..) => "CAN".to_owned(),
        (30, ..) => "TIPC".to_owned(),
        (31, ..) => "Bluetooth".to_owned(),
        (CRYPTOGRAPHY, ..) => "AF_ALG".to_owned(),
        (40, ..) => "vsock".to_owned(),
        (43, ..) => "SMC".to_owned(),
        (44, ..) => "XDP".to_owned(),
        (family, ..) => format!("family {family}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thing(
        what: UncapturedEvent,
        socket: (u8, u8, u16),
        object: &str,
        value: u32,
    ) -> UncapturedThing {
        let (domain, kind, protocol) = socket;
        let socket = SocketKind { domain, kind, protocol };
        let object = object.to_owned();
        UncapturedThing::from_record(&LogRecord::Uncaptured { what, value, socket, object })
            .unwrap()
    }

    #[test]
    fn each_thing_has_its_name_and_kind() {
        for (what, socket, object, value, kind, one, two) in [
            (
                UncapturedEvent::Socket,
                (2, 3, 1),
                "",
                3,
                UncapturedKind::Socket,
                "1 raw (ICMP) socket",
                "2 raw (ICMP) sockets",
            ),
            (
                UncapturedEvent::Socket,
                (10, 2, 58),
                "",
                3,
                UncapturedKind::Socket,
                "1 ICMP socket",
                "2 ICMP sockets",
            ),
            (
                UncapturedEvent::Socket,
                (16, 3, 0),
                "",
                3,
                UncapturedKind::KernelSocket,
                "1 netlink socket",
                "2 netlink sockets",
            ),
            (
                UncapturedEvent::Socket,
                (17, 3, 768),
                "",
                3,
                UncapturedKind::Socket,
                "1 packet socket",
                "2 packet sockets",
            ),
            (
                UncapturedEvent::Socket,
                (99, 3, 0),
                "",
                3,
                UncapturedKind::Socket,
                "1 family 99 socket",
                "2 family 99 sockets",
            ),
            (
                UncapturedEvent::Ring,
                (0, 0, 0),
                "",
                3,
                UncapturedKind::Ring,
                "1 ring of io_uring",
                "2 rings of io_uring",
            ),
            (
                UncapturedEvent::OutOfSight,
                (2, 1, 6),
                "",
                3,
                UncapturedKind::PastLibc,
                "1 TCP socket made past libc",
                "2 TCP sockets made past libc",
            ),
            (
                UncapturedEvent::Object,
                (0, 0, 0),
                "/a/libx.so",
                IS_GO,
                UncapturedKind::PastLibc,
                "system calls of libx.so (Go)",
                "system calls of libx.so (Go)",
            ),
            (
                UncapturedEvent::Runtime,
                (0, 0, 0),
                "Python 3.99",
                0,
                UncapturedKind::Tasks,
                "tasks of Python 3.99",
                "tasks of Python 3.99",
            ),
            (
                UncapturedEvent::Runtime,
                (0, 0, 0),
                "Node.js",
                IS_LEFT_OUT,
                UncapturedKind::LeftOutTasks,
                "tasks of Node.js (left out by --no-runtimes)",
                "tasks of Node.js (left out by --no-runtimes)",
            ),
            (
                UncapturedEvent::Object,
                (0, 0, 0),
                "/a/x",
                1,
                UncapturedKind::PastLibc,
                "system calls of x",
                "system calls of x",
            ),
        ] {
            let thing = thing(what, socket, object, value);
            assert_eq!(thing.kind, kind, "{one}");
            assert_eq!([thing.describe_count(1), thing.describe_count(2)], [one, two]);
        }
        assert_eq!(UncapturedThing::from_record(&LogRecord::EndOfFile { flow: 1 }), None);
    }
}
