//! Fuzzing of span importers on arbitrary bytes, without a directory. Panics if an importer
//! violates its contract: every span that is read is either in the sink or counted as skipped.

use std::path::Path;

use out_of_core::MemoryBudget;
use request_flow::spans::SpanSink;

use super::format::SpanFormat;
use super::span_import::SpanImport;
use crate::error::Error;
use crate::fuzz::input_of;
use crate::summary::ImportSummary;

/// Lets `format` read `bytes` as one file.
pub(crate) fn fuzz_format(format: &impl SpanFormat, bytes: &[u8]) {
    let Ok(input) = input_of(bytes) else { return };
    fuzz_reader(|reading| format.read_file(input, reading));
}

/// Lets `read` read arbitrary input.
pub(crate) fn fuzz_reader(read: impl FnOnce(&mut SpanImport<'_, '_>) -> Result<(), Error>) {
    match count_spans(read) {
        Ok((kept, summary)) => {
            let skipped = summary.skipped.total();
            assert!(kept <= summary.read, "{kept} spans kept of {}", summary.read);
            assert!(
                kept + skipped >= summary.read,
                "{} spans, {kept} kept, {skipped} skipped",
                summary.read
            );
        }
        Err(error) => assert!(error.to_string().contains("input"), "{error}"),
    }
}

/// Lets `read` read, and returns the number of spans in the sink, and the summary.
pub(super) fn count_spans(
    read: impl FnOnce(&mut SpanImport<'_, '_>) -> Result<(), Error>,
) -> Result<(u64, ImportSummary), Error> {
    // Everything stays in memory, so the folder is not written to.
    let budget = MemoryBudget::new(u64::MAX);
    let sink = SpanSink::new(&budget, Path::new("/nonexistent"));
    let mut summary = ImportSummary::default();
    let mut reading = SpanImport::new(&sink, &(), &mut summary);
    read(&mut reading)?;
    let kept = reading.span_count();
    Ok((kept, summary))
}
