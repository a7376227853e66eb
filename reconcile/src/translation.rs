//! Address translation: flows with two ends that have different names (WAP5 section 7.1). A load
//! balancer, a container network or a rewritten source address is between them, and each end knows
//! the other by a name that the other does not have.
//!
//! Both ends still share what translation leaves unchanged: the bytes of each direction, the sizes
//! of the turns, the checksums of the beginning if they were captured, often a port, and the times
//! except for the difference of two clocks. None of these is proof. Health checks are all alike,
//! and a flow to an untraced peer has no other end here at all; a false pair is worse than a missed
//! one. So a pair is scored by how likely it would be by chance, by its alternatives, and by the
//! evidence of all pairs together: that two clocks differ by the same amount everywhere
//! (`offsets`), and that a virtual name leads to the same few real ones again and again
//! (`confidence`; "frequent matches imply NAT").
//!
//! The steps: what the two ends share (`signature`, `timing`), which half flows could be paired
//! (`candidates`), how the clocks differ (`offsets`: the `stabbing` line through all votes,
//! `line_fitting`, is the `difference`), how certain each pair is (`confidence`, with
//! `learned_names` and `beliefs` among rivals), and the final `assignment`. All of it is a pure
//! function of the half flows.

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
