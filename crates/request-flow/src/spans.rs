//! Spans: what tracers wrote down, on its way to requests.
//!
//! ```text
//! importers, on all processors         one trace after the other           one stretch of time
//!   Span -> SpanPiece --by trace--> SpanSink --join--> requests --clocks--> --by begin--> tables
//! ```
//!
//! [`span`] is what an importer gives. [`sink`] keeps it as bytes, dealt by trace, in memory while
//! a budget lasts and in a temporary file beyond it. [`merge_reports`] makes one span of the
//! reports of it, and [`join`] drafts of requests of the spans of one trace: [`spans_by_id`] finds
//! what shares an id, and [`span_sources`] has the order of spans. [`draft`] has clocks and the
//! order of steps, [`split_partitions`] makes what is too large for memory smaller, and
//! [`join_passes`] runs all passes.

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
