//! Fuzzing of table importers on arbitrary bytes, without a directory. Panics if an importer
//! violates its contract: everything that is read is either used or counted as skipped.

use std::io::Cursor;
use std::path::Path;

use crate::error::Error;
use crate::import_input::ImportInput;
use crate::summary::ImportSummary;
use crate::target::MessageTarget;

/// Bytes in place of a file.
pub(crate) fn input_of(bytes: &[u8]) -> Result<ImportInput<'_>, Error> {
    let file = Path::new("input");
    ImportInput::from_reader(file, Cursor::new(bytes)).map_err(|error| Error::from_io(file, error))
}

/// Runs an importer that makes at most `max_per_row` messages of a row, and at least one of a row
/// that it does not skip.
pub(crate) fn run_import<'a>(
    bytes: &'a [u8],
    max_per_row: u64,
    import: impl FnOnce(ImportInput<'a>, &mut MessageTarget, &mut ImportSummary) -> Result<(), Error>,
) {
    let (mut target, mut summary) = (MessageTarget::without_output(), ImportSummary::default());
    let Ok(input) = input_of(bytes) else { return };
    match import(input, &mut target, &mut summary) {
        Ok(()) => {
            let (made, skipped) = (target.message_count(), summary.skipped.total());
            assert!(made <= max_per_row * summary.read, "{made} messages of {} rows", summary.read);
            assert!(
                made + skipped >= summary.read,
                "{} rows, {made} messages, {skipped} skipped",
                summary.read
            );
        }
        Err(error) => assert!(error.to_string().contains("input"), "{error}"),
    }
}
