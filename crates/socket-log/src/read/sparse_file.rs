//! Holes: parts of a log's file that need not be read, as they were never written. A log is
//! allocated before it is used, and the logs of programs that confine themselves are mapped far
//! beyond their end. The file system knows the holes of its files (`SEEK_DATA`); allocated zeros
//! are skipped in large steps.

use std::ops::Range;
use std::os::unix::fs::FileExt;

use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;

use super::bytes::LogBytes;
use crate::layout::CHUNK_BYTES;
use crate::tuning::EMPTY_STEP_BYTES;

/// Known holes of a file, as far as the file system was queried.
#[derive(Debug, Default)]
pub(crate) struct SparseRegions {
    /// Range of the file that is known to have data.
    data: Range<u64>,
}

impl SparseRegions {
    /// First place from `offset` on, in steps of a chunk, at which there may be data before `end`;
    /// `end` if there is none.
    pub(crate) fn skip_holes(&mut self, bytes: &LogBytes, offset: u64, end: u64) -> u64 {
        let LogBytes::File(file) = bytes else { return offset };
        if self.data.contains(&offset) || offset >= end {
            return offset;
        }
        let begin = match seek(file, SeekFrom::Data(offset)) {
            Ok(begin) => begin,
            Err(Errno::NXIO) => return end,
            // The file system does not report its holes.
            Err(_) => {
                self.data = offset..u64::MAX;
                return offset;
            }
        };
        // Even if the end is wrong, it is right to read on from the beginning.
        let hole = seek(file, SeekFrom::Hole(begin)).unwrap_or(u64::MAX);
        let offset =
            offset + (begin.saturating_sub(offset) / CHUNK_BYTES as u64) * CHUNK_BYTES as u64;
        self.data = offset..hole.max(begin + 1);
        offset.min(end)
    }
}

/// Number of whole chunks from `offset` on that contain only zeros, within one read.
pub(crate) fn count_empty_chunks(bytes: &LogBytes, offset: u64) -> u64 {
    let LogBytes::File(file) = bytes else { return 0 };
    let mut buffer = vec![0; EMPTY_STEP_BYTES];
    // An error here is ignored: reading this place alone reports it.
    let read = file.read_at(&mut buffer, offset).unwrap_or(0);
    let zeros = buffer[..read].iter().take_while(|byte| **byte == 0).count();
    (zeros / CHUNK_BYTES) as u64
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::SocketLog;
    use crate::encode::FlowOrigin;
    use crate::layout::{CHUNK_BYTES, FileHeader, HEADER_BYTES, KEEPS_NEWEST};
    use crate::write::{LogWriter, TCP};

    use super::*;

    /// Number of read calls that this thread has made, and number of bytes that they returned.
    fn read_so_far() -> (u64, u64) {
        let text = std::fs::read_to_string("/proc/thread-self/io").unwrap();
        let field = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.trim().parse().unwrap()
        };
        (field("syscr:"), field("rchar:"))
    }

    /// A log of three chunks: the second one begins `apart` bytes after the first, and the third
    /// `apart` bytes after the second.
    fn log(apart: u64) -> (tempfile::NamedTempFile, usize) {
        let mut writer = LogWriter::new("host", 7, "/bin/x");
        for tid in 1..=3 {
            writer
                .set_thread(tid)
                .flow(tid.into(), tid, TCP, FlowOrigin::Socket, 9)
                .send(100, tid, 5);
        }
        let bytes = writer.to_bytes();
        assert_eq!(bytes.len(), HEADER_BYTES + 3 * CHUNK_BYTES);
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().write_all_at(&bytes[..HEADER_BYTES], 0).unwrap();
        for (number, chunk) in (0..).zip(bytes[HEADER_BYTES..].chunks(CHUNK_BYTES)) {
            file.as_file().write_all_at(chunk, HEADER_BYTES as u64 + number * apart).unwrap();
        }
        let mut records = 0;
        SocketLog::from_bytes(file.path(), bytes).unwrap().for_each(|_| records += 1);
        (file, records)
    }

    /// Reads all records. Returns their number, and the number of calls and bytes that it took.
    fn read(path: &Path) -> (usize, u64, u64) {
        let log = SocketLog::open(path).unwrap();
        let mut records = 0;
        let before = read_so_far();
        let damage = log.for_each(|_| records += 1);
        let after = read_so_far();
        assert_eq!(damage, []);
        (records, after.0 - before.0, after.1 - before.1)
    }

    #[test]
    fn holes_are_not_read() {
        let (file, records) = log(100 << 20);
        file.as_file().set_len(1 << 30).unwrap();
        let (found, calls, bytes) = read(file.path());
        assert_eq!(found, records);
        // Some calls are made by the counting itself.
        assert!(calls < 20 && bytes < 1 << 20, "{calls} calls, {bytes} bytes");
        let log = SocketLog::open(file.path()).unwrap();
        assert!(log.length() == 1 << 30 && log.disk_usage() < 1 << 20, "{}", log.disk_usage());
    }

    #[test]
    fn holes_of_a_flight_recorder_are_not_read() {
        let (file, records) = log(100 << 20);
        file.as_file().set_len(1 << 30).unwrap();
        let place = std::mem::offset_of!(FileHeader, keeps_newest) as u64;
        file.as_file().write_all_at(&KEEPS_NEWEST.to_le_bytes(), place).unwrap();
        let (found, calls, _) = read(file.path());
        assert!(found == records && calls < 30, "{found} of {records} records by {calls} calls");
    }

    #[test]
    fn zeros_are_skipped_in_large_steps() {
        let (file, records) = log(4 << 20);
        // Allocated and unused space is data like any other.
        let end = file.as_file().metadata().unwrap().len();
        for offset in (HEADER_BYTES as u64 + CHUNK_BYTES as u64..8 << 20).step_by(CHUNK_BYTES) {
            let mut chunk = [0; CHUNK_BYTES];
            file.as_file().read_exact_at(&mut chunk, offset).unwrap();
            file.as_file().write_all_at(&chunk, offset).unwrap();
        }
        assert_eq!(file.as_file().metadata().unwrap().len(), end);
        let (found, calls, _) = read(file.path());
        // 2,048 chunks are empty.
        assert!(found == records && calls < 200, "{found} of {records} records by {calls} calls");
    }

    #[test]
    fn logs_in_memory_are_read_as_they_are() {
        let mut bytes = LogWriter::new("host", 7, "/bin/x");
        bytes.flow(5, 1, TCP, FlowOrigin::Socket, 9);
        let mut bytes = bytes.to_bytes();
        let chunk = bytes[HEADER_BYTES..].to_vec();
        bytes.extend(vec![0; 3 * CHUNK_BYTES]);
        bytes.extend(chunk);
        let mut records = 0;
        let log = SocketLog::from_bytes(Path::new("memory"), bytes).unwrap();
        assert_eq!(log.for_each(|_| records += 1), []);
        assert_eq!((records, log.disk_usage()), (2, log.length()));
    }
}
