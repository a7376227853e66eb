//! Spans: what tracers wrote down, on its way to requests.
//!
//! ```text
//! importers, on all processors         one trace after the other           one stretch of time
//!   Span -> SpanPiece --by trace--> SpanSink --join--> requests --clocks--> --by begin--> tables
//! ```
//!
//! [`span`] is what an importer gives. [`sink`] keeps it as bytes, dealt by trace, in memory while
//! a budget lasts and in a temporary file beyond it. [`join`] makes drafts of requests of the spans
//! of one trace, [`draft`] has their clocks and their order, [`refine`] makes what is too large for
//! memory smaller, and [`finish`] runs all passes.

mod draft;
mod finish;
mod join;
mod record;
mod refine;
mod shared_names;
mod sink;
mod span;

pub use finish::Joined;
pub use sink::{SpanPiece, SpanSink};
pub use span::{Id, Resource, ResourceId, Span, SpanKind};

#[cfg(test)]
mod tests;
