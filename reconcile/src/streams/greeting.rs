//! Connections on which the accepting side speaks first: its greeting answers nothing that was
//! sent. What it comes from is the making of the connection, which is therefore a message of its
//! own, without any bytes.

use socket_log::encode::FlowRole;

use crate::calls::{CallSpan, FlowMessage, StreamTransfer};
use crate::sockets::socket::KernelSocket;
use crate::streams::call_streams::CallStreams;

/// The first calls that moved what the accepting side says, where nobody spoke before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ServerGreeting {
    /// The send, at the end that accepted; `None`: not seen.
    sent: Option<StreamTransfer>,
    /// The receive, at the end that connected; `None`: not seen.
    received: Option<StreamTransfer>,
}

impl ServerGreeting {
    /// The greeting of a connection; `None`: the connecting side spoke first, or it is not known
    /// who did. Each end is asked in its own order of events, and one that saw a greeting is
    /// enough: a side that greets need not wait for the other.
    pub(crate) fn find_greeting(ways: &impl CallStreams) -> Option<ServerGreeting> {
        let firsts = [0, 1, 2, 3].map(|way| ways.calls(way).next());
        if firsts.iter().flatten().any(StreamTransfer::is_forgotten) {
            return None;
        }
        let [asked, heard, sent, received] = firsts;
        let is_before = |one: Option<StreamTransfer>, other: Option<StreamTransfer>| {
            one.is_some_and(|one| other.is_none_or(|other| one.time < other.time))
        };
        (is_before(sent, heard) || is_before(received, asked))
            .then_some(ServerGreeting { sent, received })
    }

    /// The making of the connection between these ends, from the call to `connect` to the return of
    /// `accept`; `None` where neither was seen. Its ends are who connected and who greets: a master
    /// may have accepted for another process.
    pub(crate) fn setup_message(
        &self,
        connecting: Option<&KernelSocket>,
        accepting: Option<&KernelSocket>,
    ) -> Option<FlowMessage> {
        let connecting = connecting.filter(|socket| socket.role == FlowRole::Connect);
        let accepting = accepting.filter(|socket| socket.role == FlowRole::Accept);
        let received = accepting.map(|socket| match self.sent {
            Some(sent) if sent.process != socket.maker => {
                CallSpan::from_call(socket.made.min(sent.time), sent.process, sent.tid)
            }
            sent => {
                let time = sent.map_or(socket.made, |sent| socket.made.min(sent.time));
                CallSpan::from_call(time, socket.maker, socket.maker_tid)
            }
        });
        let sent = connecting.map(|socket| {
            // Of a log that does not say when `connect` was called, only the latest possible time
            // may be known.
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
