//! Flows whose two ends have different names (WAP5 section 7.1): a load balancer, a container
//! network or a source address that is rewritten stands between them, and each end knows the other
//! by a name that it does not have.
//!
//! Both ends still share what translation leaves alone: the bytes of each direction, the sizes of
//! the turns, the checksums of the beginning where they were captured, often a port, and the times
//! but for the difference of two clocks. None of these is proof. Health checks are all alike, and a
//! flow to an untraced peer has no other end here at all; a false pair is worse than a missed one.
//! So a pair is judged by how likely it would be by chance, against what else it could be, and by
//! what all pairs say together: that two clocks differ by one and the same amount (`offsets`), and
//! that a virtual name leads to the same few real ones time and again (`confidence`; "frequent
//! matches imply NAT").
//!
//! The steps: what the two ends share (`signature`, `timing`), who could go with whom
//! (`candidates`), how the clocks differ (`offsets`: the `stabbing` line through all votes, `fit`,
//! is the `difference`), how sure each pair is (`confidence`, with what was `learned` of names, and
//! `beliefs` among rivals), and who goes with whom (`assignment`). All of it is a pure function of
//! the half flows.

mod assignment;
mod beliefs;
mod candidates;
mod confidence;
mod difference;
mod fit;
mod halves;
mod learned;
mod median;
mod offsets;
mod signature;
mod stabbing;
mod timing;

use std::net::SocketAddr;

use message_trace::PathError;

use candidates::Rare;
pub use confidence::Evidence;
pub(crate) use halves::{Half, Halves};
pub use offsets::Offset;
use out_of_core::SpillableVec;

/// A TCP socket whose other end was not found by its names.
#[derive(Clone, Debug, PartialEq)]
pub struct HalfFlow {
    /// Which end of the connection it is.
    pub side: Side,
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
    pub sent: Way,
    /// What it received.
    pub received: Way,
    /// The first turns, in order, as seen at this end.
    pub turns: Vec<Turn>,
    /// Whether `turns` are all there were.
    pub all_turns: bool,
    /// Whether the flow was seen to its end. A log that stops while the flow is open leaves out the
    /// rest of it.
    pub whole: bool,
}

/// Which end of a connection a socket is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// It connected.
    Connecting,
    /// It was accepted.
    Accepting,
    /// It was found in use.
    Unknown,
}

/// One direction of a flow as seen at one end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Way {
    /// Bytes moved.
    pub bytes: u64,
    /// When the first call moved some: sends when called, receives when returned.
    pub first: i64,
    /// When the last call did.
    pub last: i64,
    /// The checksum of what it began with, if captured.
    pub fingerprint: Option<Fingerprint>,
}

/// The checksum of the first bytes of a direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fingerprint {
    /// Of how many bytes.
    pub bytes: u32,
    /// Their CRC-32.
    pub crc: u32,
}

/// Bytes in one direction until the other has its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Whether this end sent them.
    pub sent: bool,
    /// How many.
    pub bytes: u64,
    /// When the first call moved some.
    pub first: i64,
}

/// As many turns of a flow are looked at.
pub const TURNS: usize = 16;

/// Two half flows that are the ends of one flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// The end that connected, by its place among the half flows.
    pub connecting: u32,
    /// The end that accepted.
    pub accepting: u32,
    /// How likely it is that they are, up to 1.
    pub confidence: f64,
    /// Why they are taken for it.
    pub evidence: Evidence,
}

/// Finds the pairs among `halves` whose confidence is at least `least`, each half in one pair at
/// most, in the order of the connecting ends. `known` says how clocks differ, where that is known
/// from elsewhere.
///
/// # Errors
/// There are none, as all of it is in memory.
pub fn pairs(halves: &[HalfFlow], known: &[Offset], least: f64) -> Result<Vec<Pair>, PathError> {
    Ok(pairs_of(&Halves::of(halves)?, known, least)?.iter().copied().collect())
}

/// The same, with everything in columns that there is once for each half flow or candidate.
///
/// # Errors
/// When there is no room for them.
pub(crate) fn pairs_of(
    halves: &Halves,
    known: &[Offset],
    least: f64,
) -> Result<SpillableVec<Pair>, PathError> {
    let field = candidates::Field::of(halves)?;
    let Rare { mut edges, crowds } = field.rare()?;
    let mut clocks = offsets::Clocks::new(halves, known);
    clocks.vote(&field, &edges, &crowds)?;
    field.near_in_time(&crowds, &clocks, &mut edges)?;
    drop(crowds);
    edges.retain(|edge| clocks.allow(&field, edge));
    clocks.learn_widths(&field, &edges)?;
    let judged = confidence::judge(&field, &edges, &clocks)?;
    assignment::assign(&field, &edges, &judged, least)
}
