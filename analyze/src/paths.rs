//! Path instances and path patterns: the trees that links form, and the patterns of equal trees.
//!
//! The steps are a folder each. [`instances`] builds the trees of a batch of the trace, [`storage`]
//! keeps them as bytes and writes `paths.parquet`, [`patterns`] groups those of one shape and
//! writes `patterns.parquet`, and [`queries`] reads both tables for reports. Two files drive them:
//! [`collector`] for one batch, [`path_batches`] for all. [`call_tree`] finds which messages of a
//! path form a call.

mod call_tree;
pub(crate) mod collector;
mod instances;
mod operation_labels;
mod path_batches;
mod patterns;
mod queries;
#[cfg(test)]
mod reference;
#[cfg(test)]
mod roles_tests;
mod storage;

pub use call_tree::{CallTree, PathCall};
pub use patterns::pattern::{CallOutcomes, ConnectTimes, Hop, PathPattern};
pub use queries::called_instances::{
    CalledInstance, CalledInstances, HopLabels, MessageReceiver, MessageThreads,
};
pub use queries::chosen_patterns::ChosenPatterns;
pub use queries::delays::{DelayStatistics, DelayTable, HopDelays, NodeDelays};
pub use queries::filter::{PathFilter, node_names, operation_names};
pub use queries::filtered_instances::FilteredInstances;
pub use queries::pattern_roots::pattern_roots;
pub use queries::timed_instance::{InstanceRow, TimedHop, TimedInstance};
#[cfg(test)]
pub(crate) use queries::timed_instances::TimedInstances;
pub use queries::timing;
pub use storage::path_table::{PathInstance, PathInstances};

pub(crate) use path_batches::PathBuilder;
