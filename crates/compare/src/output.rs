//! Output: a comparison in self-contained words and figures, for JSON and for viewers.

mod call_map;
mod category_tree;
mod comparison_report;
mod contributions;
mod described;
mod distribution;
mod dot;
mod sentences;
mod timeline;
mod trace_events;

pub use call_map::{CallMap, MapEdge, MapNode};
pub use category_tree::{CategoryLine, CategoryTree, TreePlace};
pub use comparison_report::ComparisonReport;
pub use contributions::{ChangeBreakdown, ChangeContribution};
pub use described::{
    DescribedEvidence, DescribedHop, DescribedKind, DescribedMutation, DescribedOriginator,
    DescribedPeriod, DescribedSuspect,
};
pub use distribution::DistributionPair;
pub use dot::write_dot;
pub use trace_events::write_trace_events;
