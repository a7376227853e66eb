//! Names in place of heads: a log's operations are written beside it, and then its heads are made
//! blank.

use std::io;
use std::os::unix::fs::FileExt;

use data_files::DataPath;

use socket_log::layout::{CHUNK_BYTES, HEADER_BYTES, state};
use socket_log::{SocketLog, blank_snippets};

use crate::operations::log_operations::{RecognisedOperations, operations_of_log};
use crate::operations::operation_file::{self, OperationFileError};

/// What became of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SnippetReplacement {
    /// It has no heads, or only blank ones.
    Nothing,
    /// Its heads are blank now, and this many operations are beside it.
    Operations(usize),
    /// Its process may still write to it, so its heads stay.
    Running,
}

/// Writes the operations of the log at `path` beside it and makes its heads blank. A log whose
/// process may still run (`is_running`) stays as it is. Where this is interrupted, it can be done
/// again: heads are made blank after their operations are on the disk.
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

/// The same for a log that is open, which is changed even if another file lies at its path by now:
/// then it is an error.
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
    // Where some are blank already, this was interrupted before, and all of them are beside it.
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

/// Writes the operations of the log at `path`, to which its process may still write, beside it. Its
/// heads stay.
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

/// Makes the heads in the log blank. Returns how many there were.
fn blank_log(log: &SocketLog) -> io::Result<usize> {
    // The file that was looked at, and no other that was put in its place.
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
