//! Connections on which the accepting side speaks first: its greeting answers nothing that was
//! sent. What it comes from is the making of the connection, which is therefore a message of its
//! own, without any bytes.

use socket_log::encode::Role;

use crate::calls::{CallSpan, FlowMessage, Transfer};
use crate::sockets::socket::Socket;
use crate::streams::ways::Ways;

/// The first calls that moved what the accepting side says, where nobody spoke before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Greeting {
    /// The send, at the end that accepted; `None`: not seen.
    sent: Option<Transfer>,
    /// The receive, at the end that connected; `None`: not seen.
    received: Option<Transfer>,
}

impl Greeting {
    /// The greeting of a connection; `None`: the connecting side spoke first, or it is not known
    /// who did. Each end is asked in its own order of events, and one that saw a greeting is
    /// enough: a side that greets need not wait for the other.
    pub(crate) fn of(ways: &impl Ways) -> Option<Greeting> {
        let firsts = [0, 1, 2, 3].map(|way| ways.calls(way).next());
        if firsts.iter().flatten().any(Transfer::is_forgotten) {
            return None;
        }
        let [asked, heard, sent, received] = firsts;
        let is_before = |one: Option<Transfer>, other: Option<Transfer>| {
            one.is_some_and(|one| other.is_none_or(|other| one.time < other.time))
        };
        (is_before(sent, heard) || is_before(received, asked))
            .then_some(Greeting { sent, received })
    }

    /// The making of the connection between these ends, from the call to `connect` to the return of
    /// `accept`; `None` where neither was seen. Its ends are who connected and who greets: a master
    /// may have accepted for another process.
    pub(crate) fn making(
        &self,
        connecting: Option<&Socket>,
        accepting: Option<&Socket>,
    ) -> Option<FlowMessage> {
        let connecting = connecting.filter(|socket| socket.role == Role::Connect);
        let accepting = accepting.filter(|socket| socket.role == Role::Accept);
        let received = accepting.map(|socket| match self.sent {
            Some(sent) if sent.process != socket.maker => {
                CallSpan::once(socket.made.min(sent.time), sent.process, sent.tid)
            }
            sent => {
                let time = sent.map_or(socket.made, |sent| socket.made.min(sent.time));
                CallSpan::once(time, socket.maker, socket.maker_tid)
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
            CallSpan::once(time, socket.maker, socket.maker_tid)
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
