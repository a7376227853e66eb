//! Room on the disk that recorded processes did not need: logs that were made ahead and never used,
//! and the unused end of logs. A process that ends gives both back itself. A process that was
//! killed, or that had given up the right to, cannot. Only files to which nobody can write any more
//! are touched.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use collector::writers;
use message_trace::DataDir;
use rustix::fs::{SeekFrom, seek};
use socket_log::Log;
use socket_log::layout::{CHUNK_BYTES, HEADER_BYTES, source};

/// Gives back the unused room of the logs of `data`. A log for which that fails is left as it is,
/// as every tool reads it all the same.
pub(crate) fn tidy(data: &DataDir) {
    let hosts = fs::read_dir(data.hosts()).into_iter().flatten().flatten();
    for entry in hosts.flat_map(|host| fs::read_dir(host.path()).into_iter().flatten().flatten()) {
        let path = entry.path();
        // Nothing is followed that others may have put here.
        if entry.file_type().is_ok_and(|kind| kind.is_file()) {
            let _ = match path.extension().and_then(|extension| extension.to_str()) {
                Some("spare") => remove_unused(&path)
                    .and_then(|removed| if removed { Ok(()) } else { cut(&path) }),
                Some("sclog") => cut(&path),
                _ => Ok(()),
            };
        }
    }
}

/// Removes a log that was made ahead, where nothing is in it and nobody can begin it any more.
/// Whether it did.
fn remove_unused(path: &Path) -> io::Result<bool> {
    let file = File::open(path)?;
    let mut first = [0];
    let is_unused = file.read_at(&mut first, 0)? == 0 || first == [0];
    // Asked again behind the lease: until then somebody may have begun it.
    let is_left = is_unused
        && writers::none(&file) == Some(true)
        && file.read_at(&mut first, 0).is_ok()
        && first == [0];
    if is_left {
        fs::remove_file(path)?;
    }
    Ok(is_left)
}

/// Cuts a log to what it holds.
fn cut(path: &Path) -> io::Result<()> {
    let log = Log::open(path).map_err(io::Error::other)?;
    let header = log.header();
    let used = HEADER_BYTES as u64 + u64::from(header.chunks) * CHUNK_BYTES as u64;
    if header.source != source::LIBRARY || header.chunks == 0 || log.length() <= used {
        return Ok(());
    }
    let file = File::open(path)?;
    if writers::none(&file) != Some(true) || !is_empty_from(&file, used)? {
        return Ok(());
    }
    // What was made of the log is as new as it was.
    let modified = file.metadata()?.modified()?;
    let file = File::options().write(true).open(path)?;
    file.set_len(used)?;
    file.set_modified(modified)
}

/// Whether there is nothing but zeros and holes in a file from `offset` on.
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
