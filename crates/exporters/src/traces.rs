//! What the formats of traces share. The traces that a user wants ([`choice`]) are read window by
//! window ([`selection`]), their calls become spans ([`spans`]), and a format writes the spans
//! ([`writer`]). So a trace larger than memory is written as it is read.

mod choice;
pub(crate) mod lanes;
pub(crate) mod names;
mod operations;
mod selection;
pub(crate) mod spans;
#[cfg(test)]
pub(crate) mod testing;
mod writer;

pub(crate) use choice::TraceChoice;

pub(crate) use choice::write_traces;
pub(crate) use operations::{CallOperation, OperationLookup, TracerContext};
pub(crate) use spans::{ExportedSpan, SpanSide};
pub(crate) use writer::SpanWriter;
