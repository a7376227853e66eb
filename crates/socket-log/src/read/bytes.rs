//! Bytes of a log: in a file, or in memory.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};

/// Source of a log's bytes.
#[derive(Debug)]
pub(crate) enum LogBytes {
    File(File),
    Memory(Vec<u8>),
}

/// Space that a file takes on its disk, in bytes; its size on file systems that do not report it.
pub fn disk_usage(metadata: &Metadata) -> u64 {
    match metadata.blocks() {
        0 => metadata.len(),
        blocks => blocks * 512,
    }
}

/// Fills `buffer` with the bytes from `offset` on, as far as there are any. Returns their number.
pub(crate) fn read_at(bytes: &LogBytes, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let file = match bytes {
        LogBytes::File(file) => file,
        LogBytes::Memory(bytes) => {
            let rest =
                usize::try_from(offset).ok().and_then(|offset| bytes.get(offset..)).unwrap_or(&[]);
            let read = rest.len().min(buffer.len());
            buffer[..read].copy_from_slice(&rest[..read]);
            return Ok(read);
        }
    };
    let mut read = 0;
    while read < buffer.len() {
        match file.read_at(&mut buffer[read..], offset + read as u64) {
            Ok(0) => break,
            Ok(more) => read += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(read)
}
