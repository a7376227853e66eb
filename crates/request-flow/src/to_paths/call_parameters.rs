//! Parameters of a step that describe the messages of its call.

use message_trace::{Endpoint, TransportProtocol};

use crate::parameter;
use crate::request::StepParameters;
use out_of_core::{NameId, NameInterner};

/// Key of a parameter that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ParameterKey {
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

/// The names of all keys.
const KEYS: [(ParameterKey, &str); 14] = [
    (ParameterKey::ServerAddress, parameter::SERVER_ADDRESS),
    (ParameterKey::ServerPort, parameter::SERVER_PORT),
    (ParameterKey::ClientAddress, parameter::CLIENT_ADDRESS),
    (ParameterKey::ClientPort, parameter::CLIENT_PORT),
    (ParameterKey::Pid, parameter::PROCESS_PID),
    (ParameterKey::Tid, parameter::THREAD_ID),
    (ParameterKey::Command, parameter::EXECUTABLE_NAME),
    (ParameterKey::Executable, parameter::EXECUTABLE_PATH),
    (ParameterKey::Call, parameter::CALL),
    (ParameterKey::NotSeen, parameter::NOT_SEEN),
    (ParameterKey::Protocol, parameter::PROTOCOL),
    (ParameterKey::PeerHost, parameter::PEER_HOST),
    (ParameterKey::PeerCommand, parameter::PEER_COMMAND),
    (ParameterKey::PeerPid, parameter::PEER_PID),
];

/// The keys of a table of names.
#[derive(Debug)]
pub(super) struct ParameterKeys {
    of_name: Vec<Option<ParameterKey>>,
}

/// The known parameters of one step.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CallParameters<'r> {
    values: [Option<&'r str>; KEYS.len()],
}

/// The other node of a call, as recorded in a span of sockcap's own export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CallPeer<'r> {
    pub(super) host: &'r str,
    pub(super) command: &'r str,
    pub(super) pid: Option<i32>,
}

impl ParameterKeys {
    /// Finds the keys among `names`.
    pub(super) fn from_names(names: &NameInterner) -> ParameterKeys {
        let mut of_name = vec![None; names.len()];
        for (key, name) in KEYS {
            if let Some(slot) = names.find_id(name).and_then(|name| of_name.get_mut(name.index())) {
                *slot = Some(key);
            }
        }
        ParameterKeys { of_name }
    }

    fn key_of_name(&self, name: NameId) -> Option<ParameterKey> {
        self.of_name.get(name.index()).copied().flatten()
    }
}

impl<'r> CallParameters<'r> {
    /// Reads the parameters of a step. Of several values with one name the first counts.
    pub(super) fn from_parameters(
        parameters: &'r StepParameters,
        step: usize,
        keys: &ParameterKeys,
    ) -> CallParameters<'r> {
        let mut known = CallParameters::default();
        for (name, value) in parameters.of_step(step) {
            if let Some(key) = keys.key_of_name(name) {
                known.values[key as usize].get_or_insert(value);
            }
        }
        known
    }

    fn get(&self, key: ParameterKey) -> Option<&'r str> {
        self.values[key as usize].filter(|value| !value.is_empty())
    }

    fn parse_value<T: std::str::FromStr>(&self, key: ParameterKey) -> Option<T> {
        self.get(key).and_then(|value| value.parse().ok())
    }

    /// Returns whether the step is from spans of sockcap's own export.
    pub(super) fn is_exported(&self) -> bool {
        self.get(ParameterKey::Call).is_some()
    }

    /// Returns the callee's process.
    pub(super) fn pid(&self) -> Option<i32> {
        self.parse_value(ParameterKey::Pid)
    }

    /// Returns the thread that received the call.
    pub(super) fn tid(&self) -> Option<i32> {
        self.parse_value(ParameterKey::Tid)
    }

    /// Returns the callee's program: its short name and its path.
    pub(super) fn program(&self) -> Option<(&'r str, &'r str)> {
        Some((
            self.get(ParameterKey::Command)?,
            self.get(ParameterKey::Executable).unwrap_or_default(),
        ))
    }

    /// Returns the other node of the call.
    pub(super) fn peer(&self) -> Option<CallPeer<'r>> {
        Some(CallPeer {
            command: self.get(ParameterKey::PeerCommand)?,
            host: self.get(ParameterKey::PeerHost).unwrap_or_default(),
            pid: self.parse_value(ParameterKey::PeerPid),
        })
    }

    /// Returns whether the message with this name, one of the two, was not seen.
    pub(super) fn is_unseen(&self, message: &str) -> bool {
        self.get(ParameterKey::NotSeen) == Some(message)
    }

    /// Returns the protocol of an exported call.
    pub(super) fn protocol(&self) -> TransportProtocol {
        self.parse_value(ParameterKey::Protocol).unwrap_or(TransportProtocol::Other)
    }

    /// Returns the callee's endpoint of an exported call.
    pub(super) fn server_endpoint(&self) -> Option<Endpoint> {
        self.parse_endpoint(ParameterKey::ServerAddress, ParameterKey::ServerPort)
    }

    /// Returns the caller's endpoint of an exported call.
    pub(super) fn client_endpoint(&self) -> Option<Endpoint> {
        self.parse_endpoint(ParameterKey::ClientAddress, ParameterKey::ClientPort)
    }

    fn parse_endpoint(&self, address: ParameterKey, port: ParameterKey) -> Option<Endpoint> {
        let address = self.get(address)?;
        let at = address.parse().ok().zip(self.parse_value(port));
        Some(match (at, self.protocol()) {
            (Some((ip, port)), _) => Endpoint::Inet(std::net::SocketAddr::new(ip, port)),
            (
                None,
                TransportProtocol::UnixStream
                | TransportProtocol::UnixDatagram
                | TransportProtocol::UnixSequence,
            ) => Endpoint::Unix(address.to_owned()),
            (None, _) => Endpoint::Other(address.to_owned()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Request;
    use crate::step::Step;

    /// Passes these parameters to `look` and returns its result.
    fn with_parameters<T>(
        parameters: &[(&str, &str)],
        look: impl FnOnce(&CallParameters<'_>) -> T,
    ) -> T {
        let mut names = NameInterner::default();
        let mut request = Request::default();
        let numbers: Vec<_> =
            parameters.iter().map(|(name, value)| (names.intern(name), *value)).collect();
        request.push_step(Step::new(NameId::from_index(1), NameId::from_index(1)), []);
        request.push_step(Step::new(NameId::from_index(1), NameId::from_index(1)), numbers);
        look(&CallParameters::from_parameters(
            &request.parameters,
            1,
            &ParameterKeys::from_names(&names),
        ))
    }

    #[test]
    fn keys_are_in_the_order_of_their_numbers() {
        for (place, (key, _)) in KEYS.iter().enumerate() {
            assert_eq!(*key as usize, place);
        }
    }

    #[test]
    fn endpoints_are_assembled_from_the_exported_parameters() {
        let of = |parameters: &[(&str, &str)]| {
            with_parameters(parameters, |known| known.server_endpoint().map(|end| end.to_string()))
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
        with_parameters(&parameters, |known| {
            assert_eq!((known.pid(), known.tid(), known.is_exported()), (Some(7), None, false));
            assert_eq!((known.program(), known.peer()), (None, None));
        });
    }
}
