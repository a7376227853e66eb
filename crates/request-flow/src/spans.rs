//! Spans: what tracers wrote down, on its way to requests.
//!
//! ```text
//! importers, on all processors         one trace after the other           one stretch of time
//!   Span -> SpanPiece --by trace--> SpanSink --join--> requests --clocks--> --by begin--> tables
//! ```
//!
//! [`span`] is what an importer gives. [`sink`] keeps it as bytes, dealt by trace, in memory while
//! a budget lasts and in a temporary file beyond it. [`parts`] makes one span of the reports of it,
//! and [`join`] drafts of requests of the spans of one trace: [`halves`] finds what shares an id,
//! and [`known`] has the order of spans. [`draft`] has clocks and the order of steps, [`refine`]
//! makes what is too large for memory smaller, and [`finish`] runs all passes.

mod draft;
mod finish;
mod halves;
mod join;
mod known;
mod misfits;
mod parts;
mod record;
mod refine;
mod shared_names;
mod side;
mod sink;
mod span;

pub use finish::Joined;
pub use sink::{SpanPiece, SpanSink};
pub use span::{Id, Resource, ResourceId, Span, SpanKind};

#[cfg(test)]
mod tests;
