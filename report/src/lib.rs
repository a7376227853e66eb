#![doc = include_str!("../README.md")]

pub mod clocks;
mod delays;
mod ends;
mod families;
mod filtered;
mod html;
mod json;
mod label;
mod operations;
mod options;
mod output;
pub mod page;
mod sort;
mod summary;
mod terminal;
mod tree;
mod tuning;

#[cfg(test)]
mod samples;

pub use delays::{DelayReport, DelaysBy};
pub use families::Family;
pub use filtered::Filtered;
pub use html::Html;
pub use json::Json;
pub use options::Options;
pub use output::Output;
pub use sort::{SortKey, UnknownSortKey};
pub use summary::{Meta, Note, Report, RequestCounts, Rest};
pub use terminal::Terminal;
