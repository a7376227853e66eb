//! Writing of a file of switches: appends whole batches of records, so that the file can be read at
//! any moment, however the writer ends.

use std::fs::File;
use std::io;
use std::mem::offset_of;
use std::os::unix::fs::FileExt;

use data_files::DataPath;

use super::file_header::SwitchFileHeader;
use super::record::{RECORD_BYTES, SwitchEvent, ThreadSwitch};
use crate::layout::{FileHeader, HEADER_BYTES, state};
use crate::tuning::NEW_FILE_MODE;

/// Writes a file of switches.
#[derive(Debug)]
pub struct SwitchWriter {
    file: File,
    /// Offset of the next record in the file, in bytes.
    end: u64,
    /// Encoded records that were not written yet.
    batch: Vec<u8>,
    /// Number of records that could not be written, since the last successful write.
    unwritten: u64,
    /// Total number of records that could not be written.
    lost: u64,
}

impl SwitchWriter {
    /// Makes the file at `path`, which must not exist.
    ///
    /// # Errors
    /// If the file cannot be made or written.
    pub fn create(path: impl Into<DataPath>, about: &SwitchFileHeader) -> io::Result<SwitchWriter> {
        let file = path.into().create_new(NEW_FILE_MODE)?;
        file.write_all_at(&about.header_page(), 0)?;
        Ok(SwitchWriter {
            file,
            end: HEADER_BYTES as u64,
            batch: Vec::new(),
            unwritten: 0,
            lost: 0,
        })
    }

    /// Adds a record to the batch that [`SwitchWriter::flush`] writes.
    pub fn push(&mut self, switch: &ThreadSwitch) {
        switch.encode(&mut self.batch);
    }

    /// Number of bytes that wait for [`SwitchWriter::flush`].
    pub fn pending_bytes(&self) -> usize {
        self.batch.len()
    }

    /// Writes the batch. If writing fails, the records of the batch are lost, and the file records
    /// the loss as soon as there is space again; a reader meanwhile finds the complete earlier
    /// records. `now` is `CLOCK_MONOTONIC` in nanoseconds.
    ///
    /// # Errors
    /// If the system refuses. The writer can still be used.
    pub fn flush(&mut self, now: i64) -> io::Result<()> {
        let records = (self.batch.len() / RECORD_BYTES) as u64;
        if records == 0 {
            return Ok(());
        }
        if self.unwritten > 0 {
            // Before the batch: the missing records were earlier.
            let mut record = Vec::new();
            let missing = u32::try_from(self.unwritten).unwrap_or(u32::MAX);
            lost_record(now, missing).encode(&mut record);
            self.batch.splice(0..0, record);
        }
        let written = self.file.write_all_at(&self.batch, self.end);
        match written {
            Ok(()) => {
                self.end += self.batch.len() as u64;
                self.unwritten = 0;
            }
            Err(_) => {
                self.unwritten += records;
                self.lost += records;
                // The partially written batch is not a record: the next batch overwrites it.
                let _ = self.file.set_len(self.end);
            }
        }
        self.batch.clear();
        written
    }

    /// Number of records that could not be written.
    pub fn lost_records(&self) -> u64 {
        self.lost
    }

    /// Writes the pending records and a record that the file has ended, at `now` (`CLOCK_MONOTONIC`
    /// in nanoseconds).
    ///
    /// # Errors
    /// If the system refuses.
    pub fn finish(mut self, now: i64) -> io::Result<()> {
        self.flush(now)?;
        let at = offset_of!(FileHeader, state) as u64;
        self.file.write_all_at(&state::EXITED.to_le_bytes(), at)
    }
}

/// Record of `records` missing records of all processors.
fn lost_record(time: i64, records: u32) -> ThreadSwitch {
    let event = SwitchEvent::Lost { records };
    ThreadSwitch { time, processor: ThreadSwitch::ANY_PROCESSOR, thread: 0, process: 0, event }
}
