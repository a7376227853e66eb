//! Replacement of snippets by names: a log's operations are written to a file next to it, then its
//! snippets are blanked.

use std::io;
use std::os::unix::fs::FileExt;

use data_files::DataPath;

use socket_log::layout::{CHUNK_BYTES, HEADER_BYTES, state};
use socket_log::{SocketLog, blank_snippets};

use crate::operations::log_operations::{RecognisedOperations, operations_of_log};
use crate::operations::operation_file::{self, OperationFileError};

/// Outcome of a replacement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SnippetReplacement {
    /// The log has no snippets, or only blank ones.
    Nothing,
    /// The snippets of the log are now blank, and the operation file has this many operations.
    Operations(usize),
    /// The process may still write to the log, so its snippets stay.
    Running,
}

/// Writes the operations of the log at `path` to a file next to it and blanks its snippets. A log
/// stays unchanged if its process may still run (`is_running`). An interrupted replacement can be
/// repeated: snippets are blanked after their operations are on the disk.
///
/// # Errors
/// When the log cannot be read, or a file not be written.
pub fn replace_snippets(
    path: impl Into<DataPath>,
    is_running: impl FnOnce(&socket_log::LogHeader) -> bool,
) -> Result<SnippetReplacement, OperationFileError> {
    let log = SocketLog::open(path)?;
    replace_log_snippets(&log, || is_running(log.header()))
}

/// Replaces the snippets of an open log as [`replace_snippets`] does. If another file is at its
/// path by now, that is an error.
///
/// # Errors
/// As for [`replace_snippets`].
pub fn replace_log_snippets(
    log: &SocketLog,
    is_running: impl FnOnce() -> bool,
) -> Result<SnippetReplacement, OperationFileError> {
    let path = log.data_path();
    let io = |source| OperationFileError::Io { path: path.as_path().to_owned(), source };
    if !log.header().heads {
        return Ok(SnippetReplacement::Nothing);
    }
    if log.header().state == state::RUNNING && is_running() {
        return Ok(SnippetReplacement::Running);
    }
    let RecognisedOperations { entries, blank } = operations_of_log(log);
    // If some snippets are blank already, an earlier replacement was interrupted after it wrote all
    // operations.
    let is_there = blank > 0 && operation_file::operations_path(path).is_file();
    if !entries.is_empty() && !is_there {
        operation_file::write_operations(log, &entries)?;
    }
    let blanked = blank_log(log).map_err(io)?;
    Ok(if blanked == 0 {
        SnippetReplacement::Nothing
    } else {
        SnippetReplacement::Operations(entries.len())
    })
}

/// Writes the operations of the log at `path`, to which its process may still write, to a file next
/// to it. The snippets of the log stay.
///
/// # Errors
/// When the log cannot be read, or the file not be written.
pub fn update_operations(path: impl Into<DataPath>) -> Result<(), OperationFileError> {
    let log = SocketLog::open(path)?;
    let RecognisedOperations { entries, blank } = operations_of_log(&log);
    if entries.is_empty() || blank > 0 {
        Ok(())
    } else {
        operation_file::write_operations(&log, &entries)
    }
}

/// Blanks the snippets in the log. Returns their number.
fn blank_log(log: &SocketLog) -> io::Result<usize> {
    // Opens the file that was examined, and no other that has replaced it.
    let file = log.open_to_write()?;
    let length = file.metadata()?.len();
    let mut chunk = [0; CHUNK_BYTES];
    let mut blanked = 0;
    let mut offset = HEADER_BYTES as u64;
    while offset < length {
        let size = CHUNK_BYTES.min((length - offset) as usize);
        let bytes = chunk.get_mut(..size).unwrap_or_default();
        file.read_exact_at(bytes, offset)?;
        let found = blank_snippets(bytes);
        if found > 0 {
            file.write_all_at(bytes, offset)?;
            blanked += found;
        }
        offset += size as u64;
    }
    Ok(blanked)
}
