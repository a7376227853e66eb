//! Operation file: `PID-TIME.operations` next to the log `PID-TIME.sclog`.
//!
//! It begins with the log's own header page, with a source that marks the kind of file, so that
//! tools which collect logs know its origin. The entries follow the header: each is a u32 length
//! (little-endian) and a value of that many bytes encoded by postcard. A text is written once and
//! referred to by its number afterwards. An entry that is truncated, or that our writer does not
//! produce, ends the readable part.

use std::io::{self, BufWriter, Read, Write};
use std::mem::offset_of;
use std::path::PathBuf;

use crate::{LogPosition, MessageRole, ProtocolOperation, TraceContext, protocol_name};
use data_files::{DataPath, NewFile};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use socket_log::encode::Direction;
use socket_log::layout::{FileHeader, HEADER_BYTES, source, state};
use socket_log::{LogHeader, OpenError, SocketLog};

use crate::operations::entry::OperationEntry;
use crate::operations::tuning::{MAX_ENTRY_BYTES, NEW_FILE_MODE, READ_BYTES};

/// Extension of the files.
pub const EXTENSION: &str = "operations";

/// Error of an operation file.
#[derive(Debug, thiserror::Error)]
pub enum OperationFileError {
    /// The file cannot be read or written.
    #[error("{path}: {source}", path = path.display())]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// The header is not that of an operation file.
    #[error(transparent)]
    Header(#[from] OpenError),
    /// The file is a log, or of another kind.
    #[error("{path}: it does not have the header of an operation file", path = .0.display())]
    Kind(PathBuf),
}

/// Entry of a file.
#[derive(Debug, Serialize, Deserialize)]
enum StoredEntry {
    /// The next text; the first has number 0.
    Text(String),
    Operation(StoredOperation),
}

/// Operation with the numbers of its texts.
#[derive(Debug, Serialize, Deserialize)]
struct StoredOperation {
    flow: u32,
    is_received: bool,
    ticks: u64,
    at: u32,
    role: u8,
    is_error: bool,
    protocol: u32,
    name: u32,
    detail: u32,
    status: u32,
    call: Option<u64>,
    trace: Option<(u128, u64, bool)>,
}

/// Path of the operation file that belongs to the log at `log`.
pub(crate) fn operations_path(log: impl Into<DataPath>) -> DataPath {
    log.into().with_extension(EXTENSION)
}

/// Writes the operation file of the log, replacing an existing one.
///
/// # Errors
/// When the log's header cannot be read or the file cannot be written; an existing file stays.
pub fn write_operations(
    log: &SocketLog,
    entries: &[OperationEntry],
) -> Result<(), OperationFileError> {
    let path = operations_path(log.data_path());
    let io = |source| OperationFileError::Io { path: path.as_path().to_owned(), source };
    let mut page = log.header_page().map_err(io)?;
    for (at, value) in [
        (offset_of!(FileHeader, source), source::OPERATIONS),
        (offset_of!(FileHeader, state), state::EXITED),
    ] {
        let to = page.iter_mut().skip(at);
        to.zip(value.to_le_bytes()).for_each(|(to, byte)| *to = byte);
    }
    // A reader finds the old or the new file, never a part. Several recordings may write it: each
    // recording into a directory ends with naming the operations of all logs there.
    write_to(&path, &page, entries).map_err(io)
}

fn write_to(path: &DataPath, page: &[u8], entries: &[OperationEntry]) -> io::Result<()> {
    let out = BufWriter::new(path.create_as(NEW_FILE_MODE)?);
    let mut writer = EntryWriter { out, texts: FxHashMap::default() };
    writer.out.write_all(page)?;
    for entry in entries {
        writer.write_entry(entry)?;
    }
    writer.out.into_inner().map_err(io::IntoInnerError::into_error)?.commit_durably()
}

struct EntryWriter {
    out: BufWriter<NewFile>,
    texts: FxHashMap<String, u32>,
}

impl EntryWriter {
    fn write_entry(&mut self, entry: &OperationEntry) -> io::Result<()> {
        let ProtocolOperation {
            place,
            role,
            protocol,
            name,
            detail,
            status,
            is_error,
            call,
            trace,
        } = &entry.operation;
        let [protocol, name] = [self.intern_text(protocol)?, self.intern_text(name)?];
        let [detail, status] = [self.intern_text(detail)?, self.intern_text(status)?];
        self.write_stored(&StoredEntry::Operation(StoredOperation {
            flow: entry.flow,
            is_received: entry.direction == Direction::Receive,
            ticks: place.ticks,
            at: place.at,
            role: match role {
                MessageRole::Request => 0,
                MessageRole::Response => 1,
                MessageRole::OneWay => 2,
            },
            is_error: *is_error,
            protocol,
            name,
            detail,
            status,
            call: *call,
            trace: trace.map(|of| (of.trace_id, of.parent_id, of.sampled)),
        }))
    }

    /// Returns the number of a text and writes the text if it is new.
    fn intern_text(&mut self, text: &str) -> io::Result<u32> {
        if let Some(number) = self.texts.get(text) {
            return Ok(*number);
        }
        let number = self.texts.len() as u32;
        self.write_stored(&StoredEntry::Text(text.to_owned()))?;
        self.texts.insert(text.to_owned(), number);
        Ok(number)
    }

    fn write_stored(&mut self, stored: &StoredEntry) -> io::Result<()> {
        let bytes = postcard::to_stdvec(stored).map_err(io::Error::other)?;
        self.out.write_all(&(bytes.len() as u32).to_le_bytes())?;
        self.out.write_all(&bytes)
    }
}

/// An open operation file.
#[derive(Debug)]
pub struct OperationFile {
    path: DataPath,
    header: LogHeader,
}

impl OperationFile {
    /// Opens the file that belongs to the log at `log`; `None` if it does not exist.
    ///
    /// # Errors
    /// When the file cannot be read, or is not an operation file.
    pub fn open_for_log(
        log: impl Into<DataPath>,
    ) -> Result<Option<OperationFile>, OperationFileError> {
        let path = operations_path(log);
        if path.is_file() { OperationFile::open(&path).map(Some) } else { Ok(None) }
    }

    /// Opens the file at `path`.
    ///
    /// # Errors
    /// When the file cannot be read, or is not an operation file.
    pub fn open(path: impl Into<DataPath>) -> Result<OperationFile, OperationFileError> {
        let path = path.into();
        let mut page = Vec::new();
        path.open()
            .and_then(|file| file.take(HEADER_BYTES as u64).read_to_end(&mut page))
            .map_err(|source| OperationFileError::Io { path: path.as_path().to_owned(), source })?;
        let header = SocketLog::from_bytes(path.as_path(), page)?.header().clone();
        if header.source != source::OPERATIONS {
            return Err(OperationFileError::Kind(path.to_path_buf()));
        }
        Ok(OperationFile { path, header })
    }

    /// Header of the log that the file belongs to.
    pub fn header(&self) -> &LogHeader {
        &self.header
    }

    /// Calls `each` with every operation in the file's order. Returns how many bytes at the end
    /// could not be read.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn for_each(
        &self,
        mut each: impl FnMut(OperationEntry),
    ) -> Result<u64, OperationFileError> {
        let io = |source| OperationFileError::Io { path: self.path.as_path().to_owned(), source };
        let file = self.path.open().map_err(io)?;
        let length = file.metadata().map_err(io)?.len();
        let mut rest = io::BufReader::with_capacity(READ_BYTES, file);
        io::copy(&mut rest.by_ref().take(HEADER_BYTES as u64), &mut io::sink()).map_err(io)?;
        let good = for_each_entry(&mut rest, &mut each).map_err(io)?;
        Ok(length - (HEADER_BYTES as u64).min(length) - good)
    }
}

/// Calls `each` with the operations after a file's header. Returns the number of readable bytes.
pub(crate) fn for_each_entry(
    rest: &mut impl Read,
    each: &mut impl FnMut(OperationEntry),
) -> io::Result<u64> {
    let mut good = 0;
    let mut texts: Vec<String> = Vec::new();
    let mut bytes = Vec::new();
    loop {
        bytes.resize(4, 0);
        if !fill_bytes(rest, &mut bytes)? {
            break;
        }
        let size = u32::from_le_bytes(bytes.as_slice().try_into().unwrap_or([0xff; 4])) as usize;
        if size > MAX_ENTRY_BYTES {
            break;
        }
        bytes.resize(size, 0);
        if !fill_bytes(rest, &mut bytes)? {
            break;
        }
        match postcard::from_bytes(&bytes) {
            Ok(StoredEntry::Text(text)) => texts.push(text),
            Ok(StoredEntry::Operation(of)) => match restore_entry(&of, &texts) {
                Some(entry) => each(entry),
                None => break,
            },
            Err(_) => break,
        }
        good += 4 + size as u64;
    }
    Ok(good)
}

/// Fills `bytes`; returns false if the file ends before.
fn fill_bytes(from: &mut impl Read, bytes: &mut [u8]) -> io::Result<bool> {
    match from.read_exact(bytes) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

/// Converts a stored operation to an entry; `None` if our writer does not write such an operation.
fn restore_entry(of: &StoredOperation, texts: &[String]) -> Option<OperationEntry> {
    let text = |number: u32| texts.get(number as usize);
    let operation = ProtocolOperation {
        place: LogPosition { ticks: of.ticks, at: of.at },
        role: match of.role {
            0 => MessageRole::Request,
            1 => MessageRole::Response,
            2 => MessageRole::OneWay,
            _ => return None,
        },
        protocol: protocol_name(text(of.protocol)?)?,
        name: text(of.name)?.clone(),
        detail: text(of.detail)?.clone(),
        status: text(of.status)?.clone(),
        is_error: of.is_error,
        call: of.call,
        trace: of.trace.map(|(trace_id, parent_id, sampled)| TraceContext {
            trace_id,
            parent_id,
            sampled,
        }),
    };
    let direction = if of.is_received { Direction::Receive } else { Direction::Send };
    Some(OperationEntry { flow: of.flow, direction, operation })
}
