//! Code shared by the formats of traces. The traces that a user selects ([`choice`]) are read
//! window by window ([`selection`]), their calls become spans ([`spans`]), and a format writes the
//! spans ([`writer`]). A trace larger than memory is therefore written as it is read.

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
