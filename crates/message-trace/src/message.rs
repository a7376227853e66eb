//! One message: the data of one send or receive call, or of several adjacent ones of a flow and
//! direction taken as one (a fat message, WAP5 section 2.3), with its times at both ends.

use std::fmt;
use std::str::FromStr;

use crate::endpoint::EndpointId;
use crate::node::NodeId;

/// [`Message::direction`]: sent by the side that connected.
pub const FROM_CONNECTING: i8 = 0;
/// [`Message::direction`]: sent by the side that accepted.
pub const FROM_ACCEPTING: i8 = 1;

/// A row of the message trace. All times are nanoseconds since the Unix epoch; `None` is WAP5's nil
/// timestamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// When the first part's send was called, on the sender's own clock; `None`: the sender was not
    /// traced.
    pub send_first: Option<i64>,
    /// When the last part's send was called, on the sender's own clock.
    pub send_last: Option<i64>,
    /// When the first part's receive returned, on the receiver's own clock; `None`: the receiver
    /// was not traced, or the message was lost.
    pub recv_first: Option<i64>,
    /// When the last part's receive returned, on the receiver's own clock.
    pub recv_last: Option<i64>,
    /// `send_first` on the common clock.
    pub send_ts: Option<i64>,
    /// `recv_last` on the common clock.
    pub recv_ts: Option<i64>,
    /// The node that sent it.
    pub src: NodeId,
    /// The node that received it.
    pub dst: NodeId,
    /// The sender's endpoint.
    pub src_endpoint: EndpointId,
    /// The receiver's endpoint.
    pub dst_endpoint: EndpointId,
    /// The thread that made the first send.
    pub src_tid: Option<i32>,
    /// The thread that made the last receive.
    pub dst_tid: Option<i32>,
    /// Number of the flow: the same for both directions of one connection.
    pub flow: i64,
    /// [`FROM_CONNECTING`] or [`FROM_ACCEPTING`].
    pub direction: i8,
    /// Transport protocol.
    pub protocol: Protocol,
    /// The payload's size.
    pub bytes: i64,
    /// Number of messages that were merged into this one; 0 where it is the making of a connection.
    pub parts: i32,
    /// Making of the connection, where this is the first message on it; `None` where it is not, and
    /// where the making is not known.
    pub connect: Option<Connect>,
}

/// The making of a connection by the side that spoke first on it, in nanoseconds on the sender's
/// own clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connect {
    /// When `connect` was called.
    pub begin: i64,
    /// When the connection was there, or the latest that is known of that: not after the message
    /// was sent.
    pub end: i64,
}

impl Message {
    /// Message between `ends`: one part without payload, at times that are not known. All messages
    /// are made from this one.
    #[inline]
    pub fn between(ends: Ends, flow: i64, direction: i8) -> Message {
        let Ends { src, dst, protocol } = ends;
        Message {
            send_first: None,
            send_last: None,
            recv_first: None,
            recv_last: None,
            send_ts: None,
            recv_ts: None,
            src: src.node,
            dst: dst.node,
            src_endpoint: src.endpoint,
            dst_endpoint: dst.endpoint,
            src_tid: src.tid,
            dst_tid: dst.tid,
            flow,
            direction,
            protocol,
            bytes: 0,
            parts: 1,
            connect: None,
        }
    }

    /// This message with the times of its sending: of the first and the last part on the sender's
    /// own clock, and of the first part on the common clock.
    #[inline]
    #[must_use]
    pub fn sent(self, [first, last, common]: [Option<i64>; 3]) -> Message {
        Message { send_first: first, send_last: last, send_ts: common, ..self }
    }

    /// This message with the times of its receipt: of the first and the last part on the receiver's
    /// own clock, and of the last part on the common clock.
    #[inline]
    #[must_use]
    pub fn received(self, [first, last, common]: [Option<i64>; 3]) -> Message {
        Message { recv_first: first, recv_last: last, recv_ts: common, ..self }
    }

    /// This message with one time at each end, where all clocks are one.
    #[inline]
    #[must_use]
    pub fn at(self, sent: Option<i64>, received: Option<i64>) -> Message {
        self.sent([sent; 3]).received([received; 3])
    }

    /// This message with the size of its payload in bytes, and the number of messages that were
    /// merged into it.
    #[inline]
    #[must_use]
    pub fn carrying(self, bytes: i64, parts: i32) -> Message {
        Message { bytes, parts, ..self }
    }

    /// Time of sending or, where that is unknown, of receipt: the time by which a trace is sorted,
    /// on the common clock.
    pub fn time(&self) -> i64 {
        self.send_ts.or(self.recv_ts).unwrap_or(i64::MIN)
    }

    /// Time when the first byte was received, on the common clock: from then on it can cause what
    /// its receiver does. The receiver may read the last byte much later, or never.
    pub fn arrival(&self) -> Option<i64> {
        arrival(self.recv_ts, self.recv_first, self.recv_last)
    }

    /// Whether this is the making of a connection, from the call to connect to the return from
    /// accept, and carries no data. There is one where the accepting side speaks first: what it
    /// says is caused by the connection.
    pub fn is_connect(&self) -> bool {
        self.parts == 0
    }

    /// Time when its connection was made: [`Message::connect`] on the common clock.
    pub fn connecting(&self) -> Option<Connect> {
        self.connect.zip(self.send_ts.zip(self.send_first)).map(|(connect, (common, own))| {
            let shift = common.saturating_sub(own);
            Connect {
                begin: connect.begin.saturating_add(shift),
                end: connect.end.saturating_add(shift),
            }
        })
    }

    /// Network latency; it includes the clock error that is left (WAP5 section 5.2).
    pub fn network_latency(&self) -> Option<i64> {
        Some(self.recv_ts?.saturating_sub(self.send_ts?))
    }
}

/// Both ends of a message, and its protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// Sender.
    pub src: End,
    /// Receiver.
    pub dst: End,
    /// Transport protocol.
    pub protocol: Protocol,
}

/// One end of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// The node.
    pub node: NodeId,
    /// Its endpoint.
    pub endpoint: EndpointId,
    /// The thread that sent or received.
    pub tid: Option<i32>,
}

impl End {
    /// End whose thread is not known.
    #[inline]
    pub fn of(node: NodeId, endpoint: EndpointId) -> End {
        End { node, endpoint, tid: None }
    }
}

/// [`Message::arrival`] by [`Message::recv_ts`], [`Message::recv_first`] and
/// [`Message::recv_last`].
#[inline]
pub fn arrival(
    recv_ts: Option<i64>,
    recv_first: Option<i64>,
    recv_last: Option<i64>,
) -> Option<i64> {
    let of_reading = recv_last.zip(recv_first);
    recv_ts.map(|ts| {
        of_reading.map_or(ts, |(end, begin)| ts.saturating_sub(end.saturating_sub(begin)))
    })
}

/// Transport protocol of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Protocol {
    /// A TCP connection.
    Tcp,
    /// UDP datagrams.
    Udp,
    /// A unix stream socket.
    UnixStream,
    /// Unix datagrams.
    UnixDatagram,
    /// Unix messages in sequence (`SOCK_SEQPACKET`).
    UnixSequence,
    /// An SCTP connection (one-to-one).
    Sctp,
    /// A stream between a virtual machine and its host.
    Vsock,
    /// Anything else.
    Other,
}

impl Protocol {
    /// All protocols.
    pub const ALL: [Protocol; 8] = [
        Protocol::Tcp,
        Protocol::Udp,
        Protocol::UnixStream,
        Protocol::UnixDatagram,
        Protocol::UnixSequence,
        Protocol::Sctp,
        Protocol::Vsock,
        Protocol::Other,
    ];

    /// Whether messages go over connections: one side connected, the other accepted.
    pub fn has_connections(self) -> bool {
        !matches!(self, Protocol::Udp | Protocol::UnixDatagram | Protocol::Other)
    }

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Protocol::Tcp => "tcp",
            Protocol::Udp => "udp",
            Protocol::UnixStream => "unix-stream",
            Protocol::UnixDatagram => "unix-dgram",
            Protocol::UnixSequence => "unix-seqpacket",
            Protocol::Sctp => "sctp",
            Protocol::Vsock => "vsock",
            Protocol::Other => "other",
        }
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Protocol {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Protocol, Self::Err> {
        Ok(Protocol::ALL
            .into_iter()
            .find(|protocol| protocol.name() == text)
            .unwrap_or(Protocol::Other))
    }
}
