//! Queries about the paths of a finished analysis, for reports: the patterns and instances, those
//! that match a filter, and where their time goes. Tables are read row group by row group, so
//! memory does not grow with them.

pub(crate) mod called_instances;
pub(crate) mod chosen_patterns;
pub(crate) mod delays;
pub(crate) mod filter;
pub(crate) mod filtered_instances;
mod filtered_patterns;
mod hop_ends;
mod message_ends;
mod message_times;
pub(crate) mod pattern_roots;
pub(crate) mod timed_instance;
pub(crate) mod timed_instances;
pub mod timing;
