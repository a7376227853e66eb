//! Records of perf.data in sequence, including the contents of compressed records.

use std::io::{self, Read};
use std::path::PathBuf;

use zstd::stream::raw::{Decoder, InBuffer, Operation, OutBuffer};

use super::layout::{PerfLayout, place_at};
use crate::error::Error;
use crate::events::source::EventSource;
use crate::summary::{FilePosition, ImportSummary, SkippedItem};
use crate::tuning::MAX_PERF_SECTION_BYTES;

/// Numbers of the record types that are handled here.
const TRACING_DATA: u32 = 66;
const AUXTRACE: u32 = 71;
const COMPRESSED: u32 = 81;
const COMPRESSED_2: u32 = 83;

/// Size of the header of a record, in bytes.
const HEADER: usize = 8;

/// Size of each decompression step, in bytes.
const STEP_BYTES: usize = 64 << 10;

/// Records of a file.
pub(super) struct PerfRecords<'a> {
    file: PathBuf,
    bytes: Box<dyn Read + Send + 'a>,
    /// Remaining size of the records' part of the file, in bytes; `None`: everything that follows.
    left: Option<u64>,
    /// Offset of the end of the latest record in the file, in bytes.
    at: u64,
    /// Type of the latest record.
    kind: u32,
    body: Vec<u8>,
    /// Decompressed bytes that have not been read yet.
    unpacked: Vec<u8>,
    /// Offset of the next record in `unpacked`.
    next: usize,
    decoder: Option<Decoder<'static>>,
}

impl<'a> PerfRecords<'a> {
    /// Opens `source` at the beginning of its records.
    ///
    /// # Errors
    /// When `source` cannot be opened.
    pub(super) fn open(
        source: &EventSource<'a>,
        layout: &PerfLayout,
    ) -> Result<PerfRecords<'a>, Error> {
        let mut bytes = source.open()?.bytes;
        let skipped = io::copy(&mut bytes.by_ref().take(layout.begin), &mut io::sink());
        // A read error here is reported at the first record.
        let at = skipped.unwrap_or(0);
        Ok(PerfRecords {
            file: source.name().to_owned(),
            bytes,
            left: layout.length,
            at,
            kind: 0,
            body: Vec::new(),
            unpacked: Vec::new(),
            next: 0,
            decoder: None,
        })
    }

    /// Type of the record.
    pub(super) fn record_type(&self) -> u32 {
        self.kind
    }

    /// Content after the record's header.
    pub(super) fn body(&self) -> &[u8] {
        &self.body
    }

    /// End of the record in the file, in bytes.
    pub(super) fn offset(&self) -> u64 {
        self.at
    }

    /// Advances to the next record; returns `false` at the end. A truncated record is counted.
    ///
    /// # Errors
    /// When a record is damaged so that the next one cannot be found.
    pub(super) fn next_record(&mut self, summary: &mut ImportSummary) -> Result<bool, Error> {
        loop {
            if self.take_unpacked() {
                return Ok(true);
            }
            match self.read_record() {
                Ok(true) if matches!(self.kind, COMPRESSED | COMPRESSED_2) => {
                    if let Err(error) = self.unpack_record() {
                        summary.read += 1;
                        summary.cut_off(place_at(&self.file, self.at), &error);
                        return Ok(false);
                    }
                }
                Ok(more) => return Ok(more),
                Err(error) => {
                    summary.read += 1;
                    if error.kind() == io::ErrorKind::InvalidData {
                        let place = crate::summary::FilePlace::new(
                            &self.file,
                            FilePosition::Offset(self.at),
                        );
                        summary.skipped.add("damaged record, and everything after it", || {
                            SkippedItem { place, why: error.to_string() }
                        });
                    } else {
                        summary.cut_off(place_at(&self.file, self.at), &error);
                    }
                    return Ok(false);
                }
            }
        }
    }

    /// Reads a record of the file; returns `false` at the end.
    fn read_record(&mut self) -> io::Result<bool> {
        if self.left == Some(0) {
            return Ok(false);
        }
        let mut header = [0; HEADER];
        let mut filled = 0;
        while filled < HEADER {
            match self.bytes.read(header.get_mut(filled..).unwrap_or_default()) {
                Ok(0) if filled == 0 && self.left.is_none() => return Ok(false),
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let (kind, size) = parse_header(header);
        let Some(length) = size.checked_sub(HEADER) else {
            let why = format!("a record cannot have {size} bytes");
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        };
        self.kind = kind;
        self.fill_buffer(length)?;
        self.count_read((HEADER + length) as u64);
        // Some records are followed by more data than their header states.
        let first = |width: usize| {
            let bytes = self.body.get(..width)?;
            Some(bytes.iter().rev().fold(0_u64, |all, byte| all << 8 | u64::from(*byte)))
        };
        match kind {
            TRACING_DATA => {
                let length = first(4).unwrap_or(0).next_multiple_of(8);
                if length > MAX_PERF_SECTION_BYTES {
                    let why = format!("no kernel has formats of {length} bytes");
                    return Err(io::Error::new(io::ErrorKind::InvalidData, why));
                }
                self.fill_buffer(length as usize)?;
                self.count_read(length);
            }
            AUXTRACE => {
                let length = first(8).unwrap_or(0);
                let read = io::copy(&mut self.bytes.by_ref().take(length), &mut io::sink())?;
                self.count_read(read);
            }
            _ => {}
        }
        Ok(true)
    }

    fn fill_buffer(&mut self, length: usize) -> io::Result<()> {
        self.body.clear();
        let read = self.bytes.by_ref().take(length as u64).read_to_end(&mut self.body)?;
        if read < length { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
    }

    fn count_read(&mut self, length: u64) {
        self.at = self.at.saturating_add(length);
        self.left = self.left.map(|left| left.saturating_sub(length));
    }

    /// Takes the next decompressed record; returns `false` if it is incomplete.
    fn take_unpacked(&mut self) -> bool {
        let rest = self.unpacked.get(self.next..).unwrap_or_default();
        let Some(header) = rest.first_chunk::<HEADER>() else { return false };
        let (kind, size) = parse_header(*header);
        let Some(body) = rest.get(HEADER..size.max(HEADER)) else { return false };
        self.kind = kind;
        self.body.clear();
        self.body.extend_from_slice(body);
        self.next += size.max(HEADER);
        true
    }

    /// Decompresses the record. All compressed records are one zstd stream, and contain records in
    /// parts.
    fn unpack_record(&mut self) -> io::Result<()> {
        self.unpacked.drain(..self.next);
        self.next = 0;
        let decoder = match &mut self.decoder {
            Some(decoder) => decoder,
            None => self.decoder.insert(Decoder::new()?),
        };
        let packed = match self.kind {
            COMPRESSED_2 => sized_data(&self.body)?,
            _ => &self.body,
        };
        let mut input = InBuffer::around(packed);
        let mut step = vec![0; STEP_BYTES];
        loop {
            let mut output = OutBuffer::around(step.as_mut_slice());
            decoder.run(&mut input, &mut output)?;
            let unpacked = output.as_slice();
            self.unpacked.extend_from_slice(unpacked);
            if unpacked.len() < STEP_BYTES && input.pos() >= packed.len() {
                return Ok(());
            }
            if self.unpacked.len() as u64 > MAX_PERF_SECTION_BYTES {
                let why = "a compressed record unpacks to more than perf writes";
                return Err(io::Error::new(io::ErrorKind::InvalidData, why));
            }
        }
    }
}

/// Data of a compressed record: u64 size, the data, and zeros up to a multiple of eight bytes.
fn sized_data(body: &[u8]) -> io::Result<&[u8]> {
    let data = body
        .split_first_chunk::<8>()
        .and_then(|(size, rest)| rest.get(..usize::try_from(u64::from_le_bytes(*size)).ok()?));
    data.ok_or_else(|| {
        let why = "a compressed record states more data than it has";
        io::Error::new(io::ErrorKind::InvalidData, why)
    })
}

/// Type and size in a header.
fn parse_header(header: [u8; HEADER]) -> (u32, usize) {
    let [a, b, c, d, _, _, low, high] = header;
    (u32::from_le_bytes([a, b, c, d]), usize::from(u16::from_le_bytes([low, high])))
}
