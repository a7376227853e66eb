//! Identity of a log: (boot, process, start), whatever its file is called. Both sides identify a
//! host's files by it. So a renamed file is continued, and another file under an old name does not
//! overwrite the first.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use serde::{Deserialize, Serialize};
use socket_log::layout::{HEADER_BYTES, source};
use socket_log::{LogHeader, OpenError, SocketLog};
use twox_hash::XxHash3_64;

use socket_log::names;

/// Identity of a log on its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LogIdentity {
    /// The kernel's random id of the boot.
    pub boot: [u8; 16],
    /// Id of the process.
    pub pid: u32,
    /// Start of the log, in ticks of its clock.
    pub ticks: u64,
    /// Start of the log, in nanoseconds since the Unix epoch.
    pub start: i64,
    /// A checksum of the file's name for imported logs, which may share all other fields; 0
    /// otherwise.
    pub name: u64,
}

impl LogIdentity {
    /// Identity of the log with this file `name` and `header`.
    pub fn from_header(name: &str, header: &LogHeader) -> LogIdentity {
        let recorded = [source::LIBRARY, source::SWITCHES].contains(&header.source);
        LogIdentity {
            boot: header.boot_id,
            pid: header.pid,
            ticks: header.start.ticks,
            start: header.start.realtime,
            name: if recorded {
                0
            } else {
                XxHash3_64::oneshot(names::original_name(name).as_bytes())
            },
        }
    }

    /// The identity and the header of an open file called `name`.
    ///
    /// # Errors
    /// Fails if the file cannot be read or is not a log (any more, or yet).
    pub fn read_identity(name: &str, file: &File) -> Result<(LogIdentity, LogHeader), OpenError> {
        let path = Path::new(name);
        let mut page = vec![0; HEADER_BYTES];
        let mut read = 0;
        while read < page.len() {
            match file.read_at(&mut page[read..], read as u64) {
                Ok(0) => break,
                Ok(more) => read += more,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(source) => return Err(OpenError::Io { path: path.to_owned(), source }),
            }
        }
        page.truncate(read);
        let log = SocketLog::from_bytes(path, page)?;
        Ok((LogIdentity::from_header(name, log.header()), log.header().clone()))
    }
}
