//! Disk space that recorded processes did not need: preallocated logs that were never used, and the
//! unused end of logs. A process that ends releases both itself, unless it was killed or had given
//! up the right to do so. Only files that can no longer be written are touched.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use collector::writers;
use message_trace::{DataDir, DataPath, DirectoryEntry, FileKind};
use rustix::fs::{SeekFrom, seek};
use socket_log::SocketLog;
use socket_log::layout::{CHUNK_BYTES, HEADER_BYTES, source};

use crate::own_logs::OwnLogs;

/// Releases the unused space of the logs of `data` that are `own`, and preallocated logs that were
/// never used, which have no known owner. A log that cannot be ended is left as it is, as every
/// tool can still read it.
pub(crate) fn tidy_logs(data: &DataDir, own: &OwnLogs) {
    for host in data.hosts_dir().entries().unwrap_or_default() {
        for DirectoryEntry { path, kind } in host.path.entries().unwrap_or_default() {
            if kind != FileKind::Regular {
                continue;
            }
            let _ = match path.extension().and_then(|extension| extension.to_str()) {
                Some("spare") => remove_unused(&path)
                    .and_then(|removed| if removed { Ok(()) } else { cut_log(&path, own) }),
                Some("sclog") => cut_log(&path, own),
                _ => Ok(()),
            };
        }
    }
}

/// Removes a preallocated log, if it is empty and can no longer be begun. Returns whether it was
/// removed.
fn remove_unused(path: &DataPath) -> io::Result<bool> {
    let file = path.open()?;
    let mut first = [0];
    let is_unused = file.read_at(&mut first, 0)? == 0 || first == [0];
    // Checked again under the lease: the log may have been begun before the lease was taken.
    let is_left = is_unused
        && writers::has_no_writer(&file) == Some(true)
        && file.read_at(&mut first, 0).is_ok()
        && first == [0];
    if is_left {
        path.remove_file()?;
    }
    Ok(is_left)
}

/// Truncates a log to its content.
fn cut_log(path: &DataPath, own: &OwnLogs) -> io::Result<()> {
    let log = SocketLog::open(path).map_err(io::Error::other)?;
    let header = log.header();
    let used = HEADER_BYTES as u64 + u64::from(header.chunks) * CHUNK_BYTES as u64;
    let is_done = header.source != source::LIBRARY || header.chunks == 0 || log.length() <= used;
    if is_done || !own.contains_log(&log) {
        return Ok(());
    }
    let Some(read) = log.file() else { return Ok(()) };
    if writers::has_no_writer(read) != Some(true) || !is_empty_from(read, used)? {
        return Ok(());
    }
    // `open_to_write` opens the file that was read, not another that replaced it.
    let file = log.open_to_write()?;
    // The modification time is kept, as results made from the log are still current.
    let modified = file.metadata()?.modified()?;
    file.set_len(used)?;
    file.set_modified(modified)
}

/// Whether a file contains only zeros and holes from `offset` on.
fn is_empty_from(file: &File, mut offset: u64) -> io::Result<bool> {
    let mut buffer = vec![0; 1 << 16];
    loop {
        offset = match seek(file, SeekFrom::Data(offset)) {
            Ok(data) => data,
            Err(rustix::io::Errno::NXIO) => return Ok(true),
            Err(error) => return Err(error.into()),
        };
        let read = file.read_at(&mut buffer, offset)?;
        if buffer[..read].iter().any(|byte| *byte != 0) {
            return Ok(false);
        }
        offset += read as u64;
    }
}
