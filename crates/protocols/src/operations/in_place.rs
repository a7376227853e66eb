//! Names in place of heads: a log's operations are written beside it, and then its heads are made
//! blank.

use std::io;
use std::os::unix::fs::FileExt;

use data_files::DataPath;

use socket_log::layout::{CHUNK_BYTES, HEADER_BYTES, state};
use socket_log::{Log, blank_heads};

use crate::operations::file::{self, Error};
use crate::operations::of_log::{Told, of_log};

/// What became of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replaced {
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
pub fn replace(
    path: impl Into<DataPath>,
    is_running: impl FnOnce(&socket_log::Header) -> bool,
) -> Result<Replaced, Error> {
    let log = Log::open(path)?;
    replace_heads(&log, || is_running(log.header()))
}

/// The same for a log that is open, which is changed even if another file lies at its path by now:
/// then it is an error.
///
/// # Errors
/// As for [`replace`].
pub fn replace_heads(log: &Log, is_running: impl FnOnce() -> bool) -> Result<Replaced, Error> {
    let path = log.data_path();
    let io = |source| Error::Io { path: path.as_path().to_owned(), source };
    if !log.header().heads {
        return Ok(Replaced::Nothing);
    }
    if log.header().state == state::RUNNING && is_running() {
        return Ok(Replaced::Running);
    }
    let Told { entries, blank } = of_log(log);
    // Where some are blank already, this was interrupted before, and all of them are beside it.
    let is_there = blank > 0 && file::beside(path).is_file();
    if !entries.is_empty() && !is_there {
        file::write(log, &entries)?;
    }
    let blanked = make_blank(log).map_err(io)?;
    Ok(if blanked == 0 { Replaced::Nothing } else { Replaced::Operations(entries.len()) })
}

/// Writes the operations of the log at `path`, to which its process may still write, beside it. Its
/// heads stay.
///
/// # Errors
/// When the log cannot be read, or the file not be written.
pub fn update(path: impl Into<DataPath>) -> Result<(), Error> {
    let log = Log::open(path)?;
    let Told { entries, blank } = of_log(&log);
    if entries.is_empty() || blank > 0 { Ok(()) } else { file::write(&log, &entries) }
}

/// Makes the heads in the log blank. Returns how many there were.
fn make_blank(log: &Log) -> io::Result<usize> {
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
        let found = blank_heads(bytes);
        if found > 0 {
            file.write_all_at(bytes, offset)?;
            blanked += found;
        }
        offset += size as u64;
    }
    Ok(blanked)
}
