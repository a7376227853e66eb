//! One message: the data of one send or receive call, or of several adjacent ones of a flow and
//! direction merged into one (a fat message in WAP5 section 2.3), with its times at both ends.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use out_of_core::id_types;

use crate::endpoint::EndpointId;
use crate::flow::FlowId;
use crate::node::NodeId;

id_types! {
    /// Row of a message in a trace in memory. Ids of different traces, and of different parts of
    /// one, are unrelated.
    pub struct MessageId;
}

impl MessageId {
    /// Returns the ids of these rows, in order.
    #[inline]
    pub fn of_rows(
        rows: Range<usize>,
    ) -> impl ExactSizeIterator<Item = MessageId> + DoubleEndedIterator + Clone {
        rows.map(MessageId::from_index)
    }

    /// Returns the id of the message `rows` rows after this one.
    #[inline]
    pub fn add_rows(self, rows: usize) -> MessageId {
        MessageId::from_index(self.index() + rows)
    }

    /// Returns the id of the message `rows` rows before this one, if there are as many.
    #[inline]
    pub fn subtract_rows(self, rows: usize) -> Option<MessageId> {
        self.index().checked_sub(rows).map(MessageId::from_index)
    }
}

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
    /// The node that sent the message.
    pub src: NodeId,
    /// The node that received the message.
    pub dst: NodeId,
    /// The sender's endpoint.
    pub src_endpoint: EndpointId,
    /// The receiver's endpoint.
    pub dst_endpoint: EndpointId,
    /// The thread that made the first send.
    pub src_tid: Option<i32>,
    /// The thread that made the last receive.
    pub dst_tid: Option<i32>,
    /// The flow: the same for both directions of one connection.
    pub flow: FlowId,
    /// Direction of the message in its flow: [`FROM_CONNECTING`] or [`FROM_ACCEPTING`].
    pub direction: i8,
    /// Transport protocol.
    pub protocol: TransportProtocol,
    /// Size of the payload, in bytes.
    pub bytes: i64,
    /// Number of messages that were merged into this one; 0 for a connection setup.
    pub parts: i32,
    /// The connection setup, if this is the first message on the connection; `None` otherwise, and
    /// if the setup is unknown.
    pub connect: Option<ConnectSpan>,
}

/// The setup of a connection by the side that sent first on it, in nanoseconds on the sender's own
/// clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectSpan {
    /// When `connect` was called.
    pub begin: i64,
    /// When the connection was established, or the latest known bound of that: not after the
    /// message was sent.
    pub end: i64,
}

impl Message {
    /// Creates a message between `ends`: one part without payload, at unknown times. All other
    /// facts are set afterwards.
    #[inline]
    pub fn between_ends(ends: EndPair, flow: FlowId, direction: i8) -> Message {
        let EndPair { src, dst, protocol } = ends;
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

    /// Sets the times of sending: of the first and the last part on the sender's own clock, and of
    /// the first part on the common clock.
    #[inline]
    #[must_use]
    pub fn with_send_times(self, [first, last, common]: [Option<i64>; 3]) -> Message {
        Message { send_first: first, send_last: last, send_ts: common, ..self }
    }

    /// Sets the times of receipt: of the first and the last part on the receiver's own clock, and
    /// of the last part on the common clock.
    #[inline]
    #[must_use]
    pub fn with_recv_times(self, [first, last, common]: [Option<i64>; 3]) -> Message {
        Message { recv_first: first, recv_last: last, recv_ts: common, ..self }
    }

    /// Sets one time at each end, if all clocks are equal.
    #[inline]
    #[must_use]
    pub fn with_times(self, sent: Option<i64>, received: Option<i64>) -> Message {
        self.with_send_times([sent; 3]).with_recv_times([received; 3])
    }

    /// Sets the size of the payload in bytes, and the number of messages that were merged into this
    /// one.
    #[inline]
    #[must_use]
    pub fn with_payload(self, bytes: i64, parts: i32) -> Message {
        Message { bytes, parts, ..self }
    }

    /// Returns the time of sending or, if that is unknown, of receipt: the time by which a trace is
    /// sorted, on the common clock.
    pub fn sort_time(&self) -> i64 {
        self.send_ts.or(self.recv_ts).unwrap_or(i64::MIN)
    }

    /// Returns when the first byte was received, on the common clock: from then on it can cause
    /// actions of its receiver. The receiver may read the last byte much later, or never.
    pub fn arrival_time(&self) -> Option<i64> {
        arrival_of_times(self.recv_ts, self.recv_first, self.recv_last)
    }

    /// Returns whether this is a connection setup, from the call of connect to the return of
    /// accept, without data. A setup exists if the accepting side speaks first: the first message
    /// of that side is caused by the connection.
    pub fn is_connect(&self) -> bool {
        self.parts == 0
    }

    /// Returns when the message's connection was made: [`Message::connect`] on the common clock.
    pub fn connect_span(&self) -> Option<ConnectSpan> {
        self.connect.zip(self.send_ts.zip(self.send_first)).map(|(connect, (common, own))| {
            let shift = common.saturating_sub(own);
            ConnectSpan {
                begin: connect.begin.saturating_add(shift),
                end: connect.end.saturating_add(shift),
            }
        })
    }

    /// Returns the network latency in nanoseconds; it includes the remaining clock error (WAP5
    /// section 5.2).
    pub fn network_latency(&self) -> Option<i64> {
        Some(self.recv_ts?.saturating_sub(self.send_ts?))
    }
}

/// Both ends of a message, and its protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndPair {
    /// The sender's end.
    pub src: NodeEnd,
    /// The receiver's end.
    pub dst: NodeEnd,
    /// Transport protocol.
    pub protocol: TransportProtocol,
}

/// One end of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeEnd {
    /// Node of the end.
    pub node: NodeId,
    /// Endpoint of the end.
    pub endpoint: EndpointId,
    /// The thread that sent or received.
    pub tid: Option<i32>,
}

impl NodeEnd {
    /// Creates an end with an unknown thread.
    #[inline]
    pub fn new(node: NodeId, endpoint: EndpointId) -> NodeEnd {
        NodeEnd { node, endpoint, tid: None }
    }
}

/// Computes [`Message::arrival_time`] from [`Message::recv_ts`], [`Message::recv_first`] and
/// [`Message::recv_last`].
#[inline]
pub fn arrival_of_times(
    recv_ts: Option<i64>,
    recv_first: Option<i64>,
    recv_last: Option<i64>,
) -> Option<i64> {
    let own_times = recv_last.zip(recv_first);
    recv_ts.map(|ts| {
        own_times.map_or(ts, |(last, first)| ts.saturating_sub(last.saturating_sub(first)))
    })
}

/// Transport protocol of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TransportProtocol {
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

impl TransportProtocol {
    /// All protocols.
    pub const ALL: [TransportProtocol; 8] = [
        TransportProtocol::Tcp,
        TransportProtocol::Udp,
        TransportProtocol::UnixStream,
        TransportProtocol::UnixDatagram,
        TransportProtocol::UnixSequence,
        TransportProtocol::Sctp,
        TransportProtocol::Vsock,
        TransportProtocol::Other,
    ];

    /// Returns whether messages go over connections: one side connected, the other accepted.
    pub fn has_connections(self) -> bool {
        !matches!(
            self,
            TransportProtocol::Udp | TransportProtocol::UnixDatagram | TransportProtocol::Other
        )
    }

    /// Returns the protocol's name in tables.
    pub fn name(self) -> &'static str {
        match self {
            TransportProtocol::Tcp => "tcp",
            TransportProtocol::Udp => "udp",
            TransportProtocol::UnixStream => "unix-stream",
            TransportProtocol::UnixDatagram => "unix-dgram",
            TransportProtocol::UnixSequence => "unix-seqpacket",
            TransportProtocol::Sctp => "sctp",
            TransportProtocol::Vsock => "vsock",
            TransportProtocol::Other => "other",
        }
    }
}

impl fmt::Display for TransportProtocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for TransportProtocol {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<TransportProtocol, Self::Err> {
        Ok(TransportProtocol::ALL
            .into_iter()
            .find(|protocol| protocol.name() == text)
            .unwrap_or(TransportProtocol::Other))
    }
}
