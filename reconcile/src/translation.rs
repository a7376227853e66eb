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
mod half_flow;
mod half_flow_table;
mod half_flows;
mod learned_names;
mod line_fitting;
mod median;
mod near_in_time;
mod offsets;
mod pair;
mod pairs;
mod signature;
mod socket_starts;
mod stabbing;
mod timing;
pub(crate) mod translated_connections;

pub use confidence::PairEvidence;
pub use half_flow::{
    FlowDirectionSummary, FlowTurn, HalfFlow, HalfFlowSide, PrefixChecksum, TURNS,
};
pub use offsets::KnownOffset;
pub use pair::HalfFlowPair;
pub use pairs::find_pairs;
