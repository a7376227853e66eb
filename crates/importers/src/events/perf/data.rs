//! `perf.data`: what perf writes itself, as a file or as a pipe.
//!
//! ```text
//!  file:  header | ids, attributes | records ...                | features: formats, host, clocks
//!  pipe:  header | records, attributes, formats and features among them
//! ```
//!
//! The formats of a file are behind its records, so a file is read twice.

mod attributes;
mod layout;
mod records;
mod samples;

use super::asked::Perf;
use super::tracepoint::Bytes;
use crate::error::Error;
use crate::events::sink::EventSink;
use crate::events::source::Source;
use crate::summary::Summary;
use records::Records;
use samples::Samples;

/// What perf.data begins with.
pub(super) const MAGIC: &[u8] = b"PERFILE2";

/// Whether these are the first bytes of perf.data of the other byte order.
pub(super) fn is_swapped(head: &[u8]) -> bool {
    head == b"2ELIFREP"
}

/// Reads a file; returns what was added to its times, if anything was known of its clock.
///
/// # Errors
/// When it cannot be opened or is of a version that is not known, or what was read cannot be kept.
pub(super) fn read(
    perf: &Perf,
    source: &Source<'_>,
    sink: &mut EventSink,
    summary: &mut Summary,
) -> Result<Option<i64>, Error> {
    let layout = layout::read(source, summary)?;
    let mut samples = Samples::new(perf, &layout, sink);
    let mut records = Records::open(source, &layout)?;
    while records.next(summary)? {
        samples.record(records.kind(), Bytes(records.body()), records.offset(), sink, summary)?;
    }
    Ok(samples.offset())
}

#[cfg(test)]
mod tests;
