//! What the formats of traces share: the traces that are wanted ([`choice`]) are read window by
//! window ([`selection`]), their calls become spans ([`spans`]), and a format writes these
//! ([`writer`]), so that a trace larger than memory is written as it is read.

mod choice;
pub(crate) mod lanes;
pub(crate) mod names;
mod selection;
pub(crate) mod spans;
#[cfg(test)]
pub(crate) mod testing;
mod writer;

pub use choice::TraceChoice;

pub(crate) use choice::write_traces;
pub(crate) use spans::{Side, Span};
pub(crate) use writer::SpanWriter;
