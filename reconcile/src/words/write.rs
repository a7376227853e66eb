//! The table: a row for each word of a message at one end, without duplicates.

use message_trace::table::words::{WordRow, WordWriter};
use message_trace::{DataPath, PathError};
use out_of_core::{ReadFailure, SortedRuns};

use crate::words::join::MessageWord;

/// Writes the words in `joined` to `path`. Returns their number.
///
/// # Errors
/// Fails if a file cannot be written or read.
pub(crate) fn write_table(
    path: &DataPath,
    joined: &SortedRuns<MessageWord>,
) -> Result<u64, PathError> {
    let mut writer = WordWriter::create(path)?;
    let failed = ReadFailure::default();
    let (mut last, mut count) = (None, 0);
    for next in joined.iter(&failed).filter(|next| last.replace(*next) != Some(*next)) {
        writer.push(WordRow {
            message: next.message,
            received: next.is_received(),
            word: next.word(),
        })?;
        count += 1;
    }
    failed.check_failure()?;
    writer.finish()?;
    Ok(count)
}
