//! Server greetings on connections on which the accepting side speaks first: a greeting answers
//! nothing that was sent. Its cause is the setup of the connection, which is therefore a message of
//! its own, without any bytes.

use socket_log::encode::FlowRole;

use crate::calls::{CallSpan, FlowMessage, StreamTransfer};
use crate::sockets::socket::KernelSocket;
use crate::streams::call_streams::CallStreams;

/// The first calls that moved the accepting side's greeting, before anything else was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ServerGreeting {
    /// The send, at the accepting end; `None` if not seen.
    sent: Option<StreamTransfer>,
    /// The receive, at the connecting end; `None` if not seen.
    received: Option<StreamTransfer>,
}

impl ServerGreeting {
    /// Finds the greeting of a connection; `None` if the connecting side spoke first, or the first
    /// speaker is unknown. Each end is examined in its own order of events, and one end that saw a
    /// greeting is enough: a side that greets need not wait for the other.
    pub(crate) fn find_greeting(streams: &impl CallStreams) -> Option<ServerGreeting> {
        let firsts = [0, 1, 2, 3].map(|stream| streams.calls(stream).next());
        if firsts.iter().flatten().any(StreamTransfer::is_forgotten) {
            return None;
        }
        let [requested, delivered, sent, received] = firsts;
        let is_before = |one: Option<StreamTransfer>, other: Option<StreamTransfer>| {
            one.is_some_and(|one| other.is_none_or(|other| one.time < other.time))
        };
        (is_before(sent, delivered) || is_before(received, requested))
            .then_some(ServerGreeting { sent, received })
    }

    /// The setup of the connection between these ends, from the call to `connect` to the return of
    /// `accept`; `None` if neither was seen. Its ends are the connecting process and the greeting
    /// one: a master may have accepted for another process.
    pub(crate) fn setup_message(
        &self,
        connecting: Option<&KernelSocket>,
        accepting: Option<&KernelSocket>,
    ) -> Option<FlowMessage> {
        let connecting = connecting.filter(|socket| socket.role == FlowRole::Connect);
        let accepting = accepting.filter(|socket| socket.role == FlowRole::Accept);
        let received = accepting.map(|socket| match self.sent {
            Some(sent) if sent.process() != socket.maker => {
                CallSpan::from_call(socket.made.min(sent.time), sent.process(), sent.tid)
            }
            sent => {
                let time = sent.map_or(socket.made, |sent| socket.made.min(sent.time));
                CallSpan::from_call(time, socket.maker, socket.maker_tid)
            }
        });
        let sent = connecting.map(|socket| {
            // If a log does not have the time of the call to `connect`, only its latest possible
            // value may be known.
            let one_clock = accepting.filter(|other| socket.clock_apart(other).is_some());
            let latest = [
                one_clock.and(received).map(|seen| seen.first),
                self.received.map(|call| call.time),
            ];
            let time = latest.into_iter().flatten().fold(socket.made, i64::min);
            CallSpan::from_call(time, socket.maker, socket.maker_tid)
        });
        let making = FlowMessage {
            sent,
            received,
            bytes: 0,
            parts: 0,
            elsewhere: false,
            acted: false,
            begins: [false; 2],
        };
        (sent.is_some() || received.is_some()).then_some(making)
    }
}
