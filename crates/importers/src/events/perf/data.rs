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

use super::perf_import::PerfImport;
use super::tracepoint::ByteReader;
use crate::error::Error;
use crate::events::sink::EventSink;
use crate::events::source::EventSource;
use crate::summary::ImportSummary;
use records::PerfRecords;
use samples::SampleReader;

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
pub(super) fn read_data(
    perf: &PerfImport,
    source: &EventSource<'_>,
    sink: &mut EventSink,
    summary: &mut ImportSummary,
) -> Result<Option<i64>, Error> {
    let layout = layout::read_layout(source, summary)?;
    let mut samples = SampleReader::new(perf, &layout, sink);
    let mut records = PerfRecords::open(source, &layout)?;
    while records.next_record(summary)? {
        samples.read_record(
            records.record_type(),
            ByteReader(records.body()),
            records.offset(),
            sink,
            summary,
        )?;
    }
    Ok(samples.clock_offset())
}

#[cfg(test)]
mod tests;
