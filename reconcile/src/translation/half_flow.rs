//! Half flows: TCP sockets whose other end was not found by its names.

use std::net::SocketAddr;

/// A TCP socket whose other end was not found by its names.
#[derive(Clone, Debug, PartialEq)]
pub struct HalfFlow {
    /// Which end of the connection it is.
    pub side: HalfFlowSide,
    /// Its own name.
    pub local: SocketAddr,
    /// Its peer's name, as it sees it.
    pub peer: SocketAddr,
    /// The host whose clock its times are of.
    pub host: u32,
    /// The machine whose loopback addresses it has.
    pub machine: u32,
    /// The process that used it.
    pub process: u32,
    /// When it asked for the connection (at the latest) or had accepted it, in nanoseconds on its
    /// host's clock, as all times are.
    pub made: i64,
    /// What it sent.
    pub sent: FlowDirectionSummary,
    /// What it received.
    pub received: FlowDirectionSummary,
    /// The first turns, in order, as seen at this end.
    pub turns: Vec<FlowTurn>,
    /// Whether `turns` are all there were.
    pub all_turns: bool,
    /// Whether the flow was seen to its end. A log that stops while the flow is open leaves out the
    /// rest of it.
    pub whole: bool,
}

/// Which end of a connection a socket is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HalfFlowSide {
    /// It connected.
    Connecting,
    /// It was accepted.
    Accepting,
    /// It was found in use.
    Unknown,
}

/// One direction of a flow as seen at one end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowDirectionSummary {
    /// Bytes moved.
    pub bytes: u64,
    /// When the first call moved some: sends when called, receives when returned.
    pub first: i64,
    /// When the last call did.
    pub last: i64,
    /// The checksum of what it began with, if captured.
    pub fingerprint: Option<PrefixChecksum>,
}

/// The checksum of the first bytes of a direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PrefixChecksum {
    /// Of how many bytes.
    pub bytes: u32,
    /// Their CRC-32.
    pub crc: u32,
}

/// Bytes in one direction until the other has its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowTurn {
    /// Whether this end sent them.
    pub sent: bool,
    /// How many.
    pub bytes: u64,
    /// When the first call moved some.
    pub first: i64,
}

/// Number of a flow's first turns that are looked at.
pub const TURNS: usize = 16;
