//! Importers of spans on any bytes, without a directory. It panics where an importer breaks its
//! word: every span that is read is either in the sink or counted as skipped.

use std::path::Path;

use out_of_core::MemoryBudget;
use request_flow::spans::SpanSink;

use super::format::Format;
use super::reading::Reading;
use crate::error::Error;
use crate::fuzz::input_of;
use crate::summary::Summary;

/// Has `format` read `bytes` as one file.
pub(crate) fn run(format: &impl Format, bytes: &[u8]) {
    let Ok(input) = input_of(bytes) else { return };
    run_with(|reading| format.read(input, reading));
}

/// Has `read` read whatever it likes.
pub(crate) fn run_with(read: impl FnOnce(&mut Reading<'_, '_>) -> Result<(), Error>) {
    match counted(read) {
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

/// Has `read` read, and returns how many spans are in the sink and what is told.
pub(super) fn counted(
    read: impl FnOnce(&mut Reading<'_, '_>) -> Result<(), Error>,
) -> Result<(u64, Summary), Error> {
    // All stays in memory, so the folder is not written to.
    let budget = MemoryBudget::new(u64::MAX);
    let sink = SpanSink::new(&budget, Path::new("/nonexistent"));
    let mut summary = Summary::default();
    let mut reading = Reading::new(&sink, &(), &mut summary);
    read(&mut reading)?;
    let kept = reading.kept();
    Ok((kept, summary))
}
