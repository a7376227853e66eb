#![doc = include_str!("../README.md")]

mod applied_filter;
mod call_evidence;
pub mod clocks;
mod delays;
mod families;
mod hop_endpoints;
mod html;
mod json;
mod label;
mod operations;
mod options;
pub mod page;
mod report_writer;
mod sort;
mod summary;
mod terminal;
mod tree;
mod tuning;

#[cfg(test)]
mod sample_reports;

pub use applied_filter::AppliedFilter;
pub use call_evidence::{DecidedCalls, InferenceLimit};
pub use delays::{DelayReport, DelaysBy};
pub use families::PatternFamily;
pub use html::HtmlWriter;
pub use json::JsonWriter;
pub use options::Options;
pub use report_writer::ReportWriter;
pub use sort::{SortKey, UnknownSortKey};
pub use summary::{Report, RequestCounts, RestSums, TraceMeta, UnseenNote};
pub use terminal::TerminalWriter;
