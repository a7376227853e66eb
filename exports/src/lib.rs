//! Traces and patterns for the tools that people already have: one file for each format.
//!
//! What is shown of single requests goes through a [`SpanWriter`]: [`TraceExport`] turns the calls
//! of a window into spans, chooses those that are wanted and hands them on, so that a trace larger
//! than memory is written as it is read. What is shown of patterns is a [`PatternWriter`]. Neither
//! opens a file or asks for options of its own; only [`otlp::Collector`] talks to somebody, as it
//! is told to.

mod call_tree;
pub mod chrome;
pub mod dot;
mod error;
pub mod folded;
mod lanes;
pub mod mermaid;
mod names;
pub mod otlp;
mod pattern_writer;
pub mod perfetto;
mod span_writer;
mod spans;
#[cfg(test)]
mod testing;
mod traces;

pub use error::{Error, SendError};
pub use pattern_writer::PatternWriter;
pub use span_writer::SpanWriter;
pub use spans::{Side, Span};
pub use traces::{Selection, TraceExport, Written};
