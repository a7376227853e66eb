//! Output: a comparison in words and figures that stand for themselves, for JSON and for whoever
//! shows it.

mod answer;
mod described;
mod distribution;
mod dot;
mod map;
mod parts;
mod sentences;
mod timeline;
mod trace_events;
mod tree;

pub use answer::Answer;
pub use described::{
    DescribedEvidence, DescribedHop, DescribedKind, DescribedMutation, DescribedOriginator,
    DescribedPeriod, DescribedSuspect,
};
pub use distribution::Distribution;
pub use dot::write_dot;
pub use map::{Map, MapEdge, MapNode};
pub use parts::{Part, Parts};
pub use trace_events::write_trace_events;
pub use tree::{CategoryLine, Tree, TreePlace};
