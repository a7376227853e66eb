//! Importers of tables on any bytes, without a directory. It panics where an importer breaks its
//! word: everything that is read is either used or counted as skipped.

use std::io::Cursor;
use std::path::Path;

use crate::error::Error;
use crate::reading::Input;
use crate::summary::Summary;
use crate::target::Target;

/// Bytes that stand for a file.
pub(crate) fn input_of(bytes: &[u8]) -> Result<Input<'_>, Error> {
    let file = Path::new("input");
    Input::of(file, Cursor::new(bytes)).map_err(|error| Error::io(file, error))
}

/// Runs an importer that makes at most `most` messages of a row, and of a row that it does not skip
/// at least one.
pub(crate) fn run<'a>(
    bytes: &'a [u8],
    most: u64,
    import: impl FnOnce(Input<'a>, &mut Target, &mut Summary) -> Result<(), Error>,
) {
    let (mut target, mut summary) = (Target::dry(), Summary::default());
    let Ok(input) = input_of(bytes) else { return };
    match import(input, &mut target, &mut summary) {
        Ok(()) => {
            let (made, skipped) = (target.messages(), summary.skipped.total());
            assert!(made <= most * summary.read, "{made} messages of {} rows", summary.read);
            assert!(
                made + skipped >= summary.read,
                "{} rows, {made} messages, {skipped} skipped",
                summary.read
            );
        }
        Err(error) => assert!(error.to_string().contains("input"), "{error}"),
    }
}
