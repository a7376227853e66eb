//! Writing of a file of switches: whole batches of records behind each other, so that the file can
//! be read at any moment, however the writer ends.

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
    /// Where the next record goes.
    end: u64,
    batch: Vec<u8>,
    /// Number of records that could not be written, since the last that could.
    unwritten: u64,
    /// Number of records that could not be written, all in all.
    lost: u64,
}

impl SwitchWriter {
    /// Makes the file at `path`, which must not be there.
    ///
    /// # Errors
    /// When it cannot be made or written.
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

    /// Writes the batch. Where that fails its records are lost, and the file says so as soon as
    /// there is room again; whoever reads it meanwhile finds the whole records before. `now` is
    /// `CLOCK_MONOTONIC` in nanoseconds.
    ///
    /// # Errors
    /// When the system refuses. The writer can be used on.
    pub fn flush(&mut self, now: i64) -> io::Result<()> {
        let records = (self.batch.len() / RECORD_BYTES) as u64;
        if records == 0 {
            return Ok(());
        }
        if self.unwritten > 0 {
            // In front of the batch: what is missing was before it.
            let mut told = Vec::new();
            let missing = u32::try_from(self.unwritten).unwrap_or(u32::MAX);
            lost_record(now, missing).encode(&mut told);
            self.batch.splice(0..0, told);
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
                // What was written of it is no record: the next batch is written over it.
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

    /// Writes what is left and that the file has ended.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn finish(mut self, now: i64) -> io::Result<()> {
        self.flush(now)?;
        let at = offset_of!(FileHeader, state) as u64;
        self.file.write_all_at(&state::EXITED.to_le_bytes(), at)
    }
}

fn lost_record(time: i64, records: u32) -> ThreadSwitch {
    let event = SwitchEvent::Lost { records };
    ThreadSwitch { time, processor: ThreadSwitch::ANY_PROCESSOR, thread: 0, process: 0, event }
}
