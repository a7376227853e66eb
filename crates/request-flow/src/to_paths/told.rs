//! What the parameters of a step tell of the messages of its call.

use message_trace::{Endpoint, Protocol};

use crate::parameter;
use crate::request::Parameters;
use out_of_core::{NameId, Names};

/// A parameter that is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Key {
    ServerAddress,
    ServerPort,
    ClientAddress,
    ClientPort,
    Pid,
    Tid,
    Command,
    Executable,
    Call,
    NotSeen,
    Protocol,
    PeerHost,
    PeerCommand,
    PeerPid,
}

/// The names of all of them.
const KEYS: [(Key, &str); 14] = [
    (Key::ServerAddress, parameter::SERVER_ADDRESS),
    (Key::ServerPort, parameter::SERVER_PORT),
    (Key::ClientAddress, parameter::CLIENT_ADDRESS),
    (Key::ClientPort, parameter::CLIENT_PORT),
    (Key::Pid, parameter::PROCESS_PID),
    (Key::Tid, parameter::THREAD_ID),
    (Key::Command, parameter::EXECUTABLE_NAME),
    (Key::Executable, parameter::EXECUTABLE_PATH),
    (Key::Call, parameter::CALL),
    (Key::NotSeen, parameter::NOT_SEEN),
    (Key::Protocol, parameter::PROTOCOL),
    (Key::PeerHost, parameter::PEER_HOST),
    (Key::PeerCommand, parameter::PEER_COMMAND),
    (Key::PeerPid, parameter::PEER_PID),
];

/// The keys of a table of names.
#[derive(Debug)]
pub(super) struct Keys {
    of_name: Vec<Option<Key>>,
}

/// What the parameters of one step tell.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Told<'r> {
    values: [Option<&'r str>; KEYS.len()],
}

/// The other node of a call, as a span of sockcap's own export knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Peer<'r> {
    pub(super) host: &'r str,
    pub(super) command: &'r str,
    pub(super) pid: Option<i32>,
}

impl Keys {
    /// The keys among `names`.
    pub(super) fn of(names: &Names) -> Keys {
        let mut of_name = vec![None; names.len()];
        for (key, name) in KEYS {
            if let Some(slot) = names.find(name).and_then(|name| of_name.get_mut(name as usize)) {
                *slot = Some(key);
            }
        }
        Keys { of_name }
    }

    fn key(&self, name: NameId) -> Option<Key> {
        self.of_name.get(name as usize).copied().flatten()
    }
}

impl<'r> Told<'r> {
    /// What the parameters of that step tell. Of several values of one name the first counts.
    pub(super) fn of(parameters: &'r Parameters, step: usize, keys: &Keys) -> Told<'r> {
        let mut told = Told::default();
        for (name, value) in parameters.of(step) {
            if let Some(key) = keys.key(name) {
                told.values[key as usize].get_or_insert(value);
            }
        }
        told
    }

    fn get(&self, key: Key) -> Option<&'r str> {
        self.values[key as usize].filter(|value| !value.is_empty())
    }

    fn number<T: std::str::FromStr>(&self, key: Key) -> Option<T> {
        self.get(key).and_then(|value| value.parse().ok())
    }

    /// Whether the step is of spans of sockcap's own export.
    pub(super) fn is_exported(&self) -> bool {
        self.get(Key::Call).is_some()
    }

    /// The callee's process.
    pub(super) fn pid(&self) -> Option<i32> {
        self.number(Key::Pid)
    }

    /// The thread that took the call.
    pub(super) fn tid(&self) -> Option<i32> {
        self.number(Key::Tid)
    }

    /// The callee's program: its short name and its path.
    pub(super) fn program(&self) -> Option<(&'r str, &'r str)> {
        Some((self.get(Key::Command)?, self.get(Key::Executable).unwrap_or_default()))
    }

    /// The other node of the call.
    pub(super) fn peer(&self) -> Option<Peer<'r>> {
        Some(Peer {
            command: self.get(Key::PeerCommand)?,
            host: self.get(Key::PeerHost).unwrap_or_default(),
            pid: self.number(Key::PeerPid),
        })
    }

    /// Whether one of the two messages was not seen, by its name.
    pub(super) fn is_not_seen(&self, message: &str) -> bool {
        self.get(Key::NotSeen) == Some(message)
    }

    /// The protocol of an exported call.
    pub(super) fn protocol(&self) -> Protocol {
        self.number(Key::Protocol).unwrap_or(Protocol::Other)
    }

    /// The callee's endpoint of an exported call.
    pub(super) fn server(&self) -> Option<Endpoint> {
        self.endpoint(Key::ServerAddress, Key::ServerPort)
    }

    /// The caller's endpoint of an exported call.
    pub(super) fn client(&self) -> Option<Endpoint> {
        self.endpoint(Key::ClientAddress, Key::ClientPort)
    }

    fn endpoint(&self, address: Key, port: Key) -> Option<Endpoint> {
        let address = self.get(address)?;
        let at = address.parse().ok().zip(self.number(port));
        Some(match (at, self.protocol()) {
            (Some((ip, port)), _) => Endpoint::Inet(std::net::SocketAddr::new(ip, port)),
            (None, Protocol::UnixStream | Protocol::UnixDatagram | Protocol::UnixSequence) => {
                Endpoint::Unix(address.to_owned())
            }
            (None, _) => Endpoint::Other(address.to_owned()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Request;
    use crate::step::Step;

    /// What these parameters tell, as `look` looks at it.
    fn told<T>(parameters: &[(&str, &str)], look: impl FnOnce(&Told<'_>) -> T) -> T {
        let mut names = Names::default();
        let mut request = Request::default();
        let numbers: Vec<_> =
            parameters.iter().map(|(name, value)| (names.number(name), *value)).collect();
        request.push(Step::of(1, 1), []);
        request.push(Step::of(1, 1), numbers);
        look(&Told::of(&request.parameters, 1, &Keys::of(&names)))
    }

    #[test]
    fn keys_are_in_the_order_of_their_numbers() {
        for (place, (key, _)) in KEYS.iter().enumerate() {
            assert_eq!(*key as usize, place);
        }
    }

    #[test]
    fn endpoints_are_what_the_exporter_took_apart() {
        let of = |parameters: &[(&str, &str)]| {
            told(parameters, |told| told.server().map(|end| end.to_string()))
        };
        let [address, port, protocol] =
            [parameter::SERVER_ADDRESS, parameter::SERVER_PORT, parameter::PROTOCOL];
        assert_eq!(of(&[(address, "::1"), (port, "80")]).unwrap(), "[::1]:80");
        assert_eq!(of(&[(address, "/run/x"), (protocol, "unix-stream")]).unwrap(), "unix:/run/x");
        assert_eq!(of(&[(address, "GetCart")]).unwrap(), "GetCart");
        assert_eq!(of(&[(port, "80")]), None);
    }

    #[test]
    fn the_first_value_of_a_name_counts_and_an_empty_one_is_none() {
        let parameters =
            [("process.pid", "7"), ("process.pid", "8"), ("thread.id", ""), ("http.route", "/")];
        told(&parameters, |told| {
            assert_eq!((told.pid(), told.tid(), told.is_exported()), (Some(7), None, false));
            assert_eq!((told.program(), told.peer()), (None, None));
        });
    }
}
