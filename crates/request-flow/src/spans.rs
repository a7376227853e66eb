//! Spans of tracers, and how they become requests.
//!
//! ```text
//! importers, on all processors         one trace after the other           one interval of time
//!   Span -> SinkBatch --by trace--> SpanSink --join--> requests --clocks--> --by begin--> tables
//! ```
//!
//! [`span`] is the output of an importer. [`sink`] keeps spans as bytes, partitioned by trace, in
//! memory within a budget and in a temporary file beyond it. [`merge_reports`] merges the reports
//! of one span, and [`join`] makes drafts of requests from the spans of one trace: [`spans_by_id`]
//! finds spans with the same id, and [`span_sources`] has the order of spans. [`draft`] has clocks
//! and the order of steps, [`split_partitions`] splits partitions that are too large for memory,
//! and [`join_passes`] runs all passes.

mod call_side;
mod draft;
mod join;
mod join_passes;
mod merge_reports;
mod misfits;
mod shared_interner;
mod sink;
mod span;
mod span_record;
mod span_sources;
mod spans_by_id;
mod split_partitions;

pub use join_passes::JoinSummary;
pub use sink::{SinkBatch, SpanSink};
pub use span::{ResourceId, Span, SpanKind, SpanResource, TracingId};

#[cfg(test)]
mod tests;
