//! Setup of a connection on which the connecting side speaks first: how long it took. The first
//! message of the connection carries the setup, which is not a message itself (`greeting` has
//! setups that are messages).
//!
//! The time of the call to `connect` is known. If the call waited for the connection, it was
//! established when the call returned. If it did not, no log records the time: the latest known
//! bound is the first send, or the accept of the other end if that was earlier.

use message_trace::ConnectSpan;
use socket_log::encode::FlowRole;

use crate::calls::FlowMessage;
use crate::optional_time::OptionalTime;
use crate::sockets::connect_return::{ConnectReturn, PackedConnectReturn};
use crate::sockets::socket::KernelSocket;

/// Known times of the setup of a connection, in nanoseconds, by each end's own clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ConnectionSetup {
    /// Time when `connect` was called.
    called: OptionalTime,
    /// Return of `connect`.
    returned: PackedConnectReturn,
    /// Time when the other end was accepted; none if that was not seen.
    accepted: OptionalTime,
}

const _: () = assert!(size_of::<ConnectionSetup>() == 3 * size_of::<i64>());

impl ConnectionSetup {
    /// No known times.
    pub(crate) const UNKNOWN: ConnectionSetup = ConnectionSetup {
        called: OptionalTime::NONE,
        returned: PackedConnectReturn::UNKNOWN,
        accepted: OptionalTime::NONE,
    };

    /// Setup of a connection between these ends.
    pub(crate) fn from_ends(
        connecting: Option<&KernelSocket>,
        accepting: Option<&KernelSocket>,
    ) -> ConnectionSetup {
        let Some(socket) = connecting.filter(|socket| is_known(socket)) else {
            return ConnectionSetup::UNKNOWN;
        };
        let accepting = accepting.filter(|socket| socket.role == FlowRole::Accept);
        ConnectionSetup {
            called: OptionalTime::some(socket.made),
            returned: socket.connected,
            accepted: accepting.map(|socket| socket.made).into(),
        }
    }

    /// Whether the first message of a connection can carry its setup: its sender is the process
    /// that connected.
    pub(crate) fn is_carried_by(first: &FlowMessage, connecting: Option<&KernelSocket>) -> bool {
        let socket = connecting.filter(|socket| is_known(socket));
        let both = socket.zip(first.sent);
        both.is_some_and(|(socket, sent)| socket.maker == sent.process && socket.made <= sent.first)
    }

    /// The setup as carried by a message that was sent at the time `sent`; `None` if the times of
    /// `connect` are unknown. `to_sender` converts the accepting end's time to the sender's clock.
    pub(crate) fn setup_of_message(
        &self,
        sent: i64,
        to_sender: impl FnOnce(i64) -> i64,
    ) -> Option<ConnectSpan> {
        let called = self.called.get()?;
        let latest = match self.returned.unpack() {
            ConnectReturn::Unknown => return None,
            ConnectReturn::UnderWay => self.accepted.get().map_or(sent, to_sender).min(sent),
            ConnectReturn::At(returned) => returned.min(sent),
        };
        Some(ConnectSpan { begin: called, end: latest.max(called) })
    }
}

/// Whether the time of the call to `connect` is known.
fn is_known(socket: &KernelSocket) -> bool {
    socket.role == FlowRole::Connect && socket.connected.unpack() != ConnectReturn::Unknown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_setup_ends_at_the_latest_known_event() {
        use ConnectReturn::{At, UnderWay, Unknown};
        let setup = |returned: ConnectReturn, accepted: Option<i64>, sent| {
            let of = ConnectionSetup {
                called: OptionalTime::some(100),
                returned: returned.into(),
                accepted: accepted.into(),
            };
            // The accepting end's clock is 1000 ahead.
            of.setup_of_message(sent, |time| time - 1000)
                .map(|connect| (connect.begin, connect.end))
        };
        assert_eq!(setup(At(140), Some(1120), 300), Some((100, 140)), "the call waited");
        assert_eq!(setup(UnderWay, Some(1150), 300), Some((100, 150)));
        assert_eq!(setup(UnderWay, None, 300), Some((100, 300)));
        assert_eq!(setup(UnderWay, Some(1450), 300), Some((100, 300)), "accepted late");
        assert_eq!(setup(UnderWay, Some(1050), 300), Some((100, 100)), "clocks are off");
        assert_eq!(setup(Unknown, Some(1120), 300), None);
        assert_eq!(ConnectionSetup::UNKNOWN.setup_of_message(300, |time| time), None);
    }
}
