//! `perf.data`: perf's own format, as a file or as a pipe.
//!
//! ```text
//!  file:  header | ids, attributes | records ...                | features: formats, host, clocks
//!  pipe:  header | records, including attributes, formats and features
//! ```
//!
//! The event formats of a file follow its records, so a file is read twice.

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

/// First bytes of perf.data.
pub(super) const MAGIC: &[u8] = b"PERFILE2";

/// Whether a file begins like perf.data of the other byte order.
pub(super) fn is_swapped(head: &[u8]) -> bool {
    head == b"2ELIFREP"
}

/// Reads a file; returns the offset that was added to its times, if its clock was known.
///
/// # Errors
/// When the file cannot be opened or has an unknown version, or its events cannot be written.
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
