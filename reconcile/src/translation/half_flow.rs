//! Half flows: TCP sockets that could not be paired with their other ends by name.

use std::net::SocketAddr;

/// A TCP socket that could not be paired with its other end by name.
#[derive(Clone, Debug, PartialEq)]
pub struct HalfFlow {
    /// Which end of the connection the socket is.
    pub side: HalfFlowSide,
    /// The socket's own name.
    pub local: SocketAddr,
    /// The peer's name in the view of the socket.
    pub peer: SocketAddr,
    /// The host on whose clock the times are.
    pub host: u32,
    /// The machine with its loopback addresses.
    pub machine: u32,
    /// The process that used the socket.
    pub process: u32,
    /// Time of the request for the connection (at the latest) or of its accept, in nanoseconds on
    /// its host's clock, as all times are.
    pub made: i64,
    /// Bytes that it sent.
    pub sent: FlowDirectionSummary,
    /// Bytes that it received.
    pub received: FlowDirectionSummary,
    /// The first turns, in order, in the view of this end.
    pub turns: Vec<FlowTurn>,
    /// Whether `turns` are all of its turns.
    pub all_turns: bool,
    /// Whether the flow was seen to its end. A log that stops while the flow is open leaves out the
    /// rest of it.
    pub whole: bool,
}

/// Which end of a connection a socket is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HalfFlowSide {
    /// The socket connected.
    Connecting,
    /// The socket was accepted.
    Accepting,
    /// The socket was found in use.
    Unknown,
}

/// One direction of a flow in the view of one end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowDirectionSummary {
    /// Bytes moved.
    pub bytes: u64,
    /// Time of the first call that moved some: of the call for a send, of the return for a receive.
    pub first: i64,
    /// Time of the last call that moved some.
    pub last: i64,
    /// The checksum of its first bytes, if captured.
    pub fingerprint: Option<PrefixChecksum>,
}

/// The checksum of the first bytes of a direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PrefixChecksum {
    /// Number of bytes covered.
    pub bytes: u32,
    /// Their CRC-32.
    pub crc: u32,
}

/// Bytes in one direction until the other has its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowTurn {
    /// Whether this end sent the bytes.
    pub sent: bool,
    /// Number of bytes.
    pub bytes: u64,
    /// Time of the first call that moved some.
    pub first: i64,
}

/// Number of a flow's first turns that are compared.
pub const TURNS: usize = 16;
