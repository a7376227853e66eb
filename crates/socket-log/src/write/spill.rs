//! Logs larger than memory: full chunks are written to the file while the log is being made.
//!
//! This also covers logs of processes with many threads one after another: the next thread that
//! begins continues in a chunk of an ended thread, as in the library, so that a thread costs words
//! and not a chunk.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use crate::encode;
use crate::layout::{CHUNK_BYTES, CHUNK_WORDS, HEADER_BYTES};

use super::{LogWriter, ThreadCursor};
use crate::tuning::MAX_FREE_CHUNKS;

impl LogWriter {
    /// Ends the thread `tid`; another may continue in its chunk.
    pub fn end_thread(&mut self, tid: u32) -> &mut LogWriter {
        if let Some(thread) = self.threads.remove(&tid) {
            // The next thread does not know the peers of this one's datagrams.
            self.peers.retain(|(owner, ..), _| *owner != tid);
            self.free.push(thread.chunk);
            if self.free.len() > MAX_FREE_CHUNKS {
                self.full.push(self.free.remove(0));
            }
        }
        self
    }

    /// Chunk of an ended thread, if there is one with room for a record of `words` words after the
    /// record that names the continuing thread.
    pub(super) fn reuse_chunk(&mut self, ticks: u64, words: usize) -> Option<ThreadCursor> {
        let chunk = self.free.pop()?;
        let continued = encode::continued_record(&self.anchor_at(ticks), self.tid);
        let place = self.chunks.get_mut(chunk)?;
        if place.len() + continued.as_slice().len() + words > CHUNK_WORDS {
            self.full.push(chunk);
            return None;
        }
        place.extend_from_slice(continued.as_slice());
        Some(ThreadCursor { chunk, anchor: ticks, latest: ticks })
    }

    /// Number of full chunks in memory.
    pub fn full_chunks(&self) -> usize {
        self.full.len()
    }

    /// Writes the full chunks to their places in `file` and frees them.
    /// [`finish_file`](LogWriter::finish_file) must write the rest, since
    /// [`write_file`](LogWriter::write_file) no longer has all chunks.
    ///
    /// # Errors
    /// If the operating system refuses.
    pub fn spill_full_chunks(&mut self, file: &File) -> io::Result<()> {
        for index in std::mem::take(&mut self.full) {
            if let Some(chunk) = self.chunks.get_mut(index) {
                write_chunk(file, index, &std::mem::take(chunk))?;
            }
        }
        Ok(())
    }

    /// Writes everything that was not spilled before to `file`, and the header.
    ///
    /// # Errors
    /// If the operating system refuses.
    pub fn finish_file(&self, file: &File) -> io::Result<()> {
        for (index, chunk) in self.chunks.iter().enumerate().filter(|(_, chunk)| !chunk.is_empty())
        {
            write_chunk(file, index, chunk)?;
        }
        file.write_all_at(&self.header, 0)
    }
}

/// Writes a chunk to its place in the file.
fn write_chunk(file: &File, index: usize, chunk: &[u32]) -> io::Result<()> {
    let mut bytes = [0; CHUNK_BYTES];
    for (place, word) in bytes.chunks_exact_mut(4).zip(chunk) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    file.write_all_at(&bytes, (HEADER_BYTES + index * CHUNK_BYTES) as u64)
}

#[cfg(test)]
mod tests {
    use crate::encode::Direction;
    use crate::write::LogWriter;
    use crate::{LogEntry, LogRecord, SocketLog};

    /// Threads come and go; the records of all are read back, each with its thread and time.
    fn written(spills: bool) -> (u64, Vec<LogEntry>) {
        let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
        let file = std::fs::File::create(&path).unwrap();
        let mut log = LogWriter::new("one", 7, "/bin/x");
        let mut most = 0;
        for thread in 0..2_000u32 {
            for step in 0..20 {
                log.set_thread(100 + thread);
                log.transfer(
                    u64::from(thread) * 1_000_000_000 + step,
                    1,
                    Direction::Send,
                    step + 1,
                );
            }
            // Few threads stay.
            if thread % 100 != 0 {
                log.end_thread(100 + thread);
            }
            most = most.max(log.full_chunks());
            if spills && log.full_chunks() > 2 {
                log.spill_full_chunks(&file).unwrap();
            }
        }
        assert!(spills || most > 10, "there is something to spill: {most}");
        log.finish_file(&file).unwrap();
        let log = SocketLog::open(path.to_path_buf()).unwrap();
        let mut entries = Vec::new();
        assert_eq!(log.for_each(|entry| entries.push(entry)), []);
        (log.length(), entries)
    }

    #[test]
    fn a_spilled_log_equals_the_log_in_memory() {
        let (length, entries) = written(true);
        assert_eq!((length, &entries), (written(false).0, &written(false).1));
        let transfers: Vec<&LogEntry> = entries
            .iter()
            .filter(|entry| matches!(entry.record, LogRecord::Transfer { .. }))
            .collect();
        assert_eq!(transfers.len(), 2_000 * 20);
        for entry in transfers {
            let LogRecord::Transfer { bytes, .. } = entry.record else { continue };
            assert_eq!(entry.ticks, u64::from(entry.tid - 100) * 1_000_000_000 + bytes - 1);
        }
        // Threads share chunks.
        assert!(length < 4096 * 200, "{length}");
    }
}
