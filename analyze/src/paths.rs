//! Path instances and path patterns: the trees that links make, and what they have in common (step
//! 3 of WAP5 section 5.1). Links to parents are turned into links to children ([`children`]), each
//! of which is taken, left out or tried both ways ([`decision`]); the trees that follow ([`tree`])
//! are the [`instances`], and those of the same shape are a pattern ([`mod@aggregate`]).
//!
//! There may be more of them than memory holds, as every wrong link makes a pattern of its own. So
//! they are collected as bytes ([`collector`], [`record`], [`place_labels`], [`path_log`],
//! [`bytes`]), described partition by partition ([`mod@aggregate`], [`described`]), numbered
//! ([`ranking`]) and written group by group ([`pattern_rows`], [`hop_texts`]). Whoever wants to
//! know more of them than the patterns tell reads them with the times of their messages, piece by
//! piece ([`timed_instances`]). Both count a message as received when [`receipt`] says.

mod aggregate;
mod bytes;
mod children;
pub(crate) mod collector;
mod connecting;
mod decision;
mod delays;
mod described;
mod filter;
mod filtered;
mod hop_ends;
mod hop_texts;
mod instances;
mod left_instances;
mod messages;
mod of_stretches;
mod path_log;
mod pattern;
mod pattern_choice;
mod pattern_roots;
mod pattern_rows;
mod pattern_table;
mod place_labels;
mod ranking;
mod receipt;
mod record;
#[cfg(test)]
mod reference;
#[cfg(test)]
mod roles_tests;
mod timed_instances;
pub mod timing;
mod tree;

pub use delays::{DelayTable, Delays, HopDelays, NodeDelays};
pub use filter::{PathFilter, node_names};
pub use instances::{Instance, Instances};
pub use left_instances::LeftInstances;
pub use pattern::{Connects, Hop, PathPattern};
pub use pattern_choice::ChosenPatterns;
pub use pattern_roots::pattern_roots;
pub use timed_instances::{TimedHop, TimedInstance, TimedInstances, WhichInstance};

pub(crate) use of_stretches::PathsOfStretches;
pub(crate) use receipt::Receipt;
