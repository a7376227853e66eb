//! Header of perf.data and the sections around its records.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::attributes::{EventAttributes, parse_names};
use crate::error::Error;
use crate::events::perf::tracepoint::{ByteReader, TracepointFormat, parse_formats};
use crate::events::source::EventSource;
use crate::summary::{FilePlace, FilePosition, ImportSummary};
use crate::tuning::MAX_PERF_SECTION_BYTES;
use rustc_hash::FxHashMap;

/// Size of the header of a file, and of a pipe, in bytes.
const FILE_HEADER: u64 = 104;
const PIPE_HEADER: u64 = 16;

/// Numbers of the feature sections that are read.
const TRACING_DATA: usize = 1;
const HOSTNAME: usize = 3;
const EVENT_DESC: usize = 12;
const CLOCK_DATA: usize = 29;

/// Sections around the records.
#[derive(Debug, Default)]
pub(super) struct PerfLayout {
    pub(super) file: PathBuf,
    /// Offset and length of the records in bytes; the length `None` is up to the end.
    pub(super) begin: u64,
    pub(super) length: Option<u64>,
    pub(super) features: PerfFeatures,
}

/// Facts on the events, the host and the clock.
#[derive(Clone, Debug, Default)]
pub(super) struct PerfFeatures {
    pub(super) attributes: EventAttributes,
    pub(super) formats: FxHashMap<u16, TracepointFormat>,
    pub(super) host: Option<String>,
    /// Offset that is added to times, in nanoseconds.
    pub(super) offset: Option<i64>,
}

impl PerfFeatures {
    /// Reads the feature section with this number.
    pub(super) fn take_feature(&mut self, number: usize, section: &[u8]) {
        match number {
            TRACING_DATA => self.formats.extend(parse_formats(section)),
            HOSTNAME => self.host = parse_text(section),
            EVENT_DESC => self.attributes.add_names(&parse_names(section)),
            CLOCK_DATA => self.offset = parse_clock_offset(section).or(self.offset),
            _ => {}
        }
    }
}

/// Parses a text: u32 length, then the text, padded with zeros.
fn parse_text(section: &[u8]) -> Option<String> {
    let mut bytes = ByteReader(section);
    let length = bytes.take_u32()? as usize;
    let text = ByteReader::trim_padding(bytes.take_bytes(length)?);
    Some(String::from_utf8_lossy(text).into_owned()).filter(|text| !text.is_empty())
}

/// Parses the section CLOCK_DATA to the difference between the wall clock and perf's, in
/// nanoseconds. The section is u32 version, u32 clock id, u64 wall clock time, u64 time of perf's
/// clock, both in nanoseconds.
fn parse_clock_offset(section: &[u8]) -> Option<i64> {
    let mut bytes = ByteReader(section);
    bytes.take_bytes(8)?;
    let (wall, own) =
        (i64::try_from(bytes.take_u64()?).ok()?, i64::try_from(bytes.take_u64()?).ok()?);
    wall.checked_sub(own)
}

/// A stream that is read forwards only.
struct ForwardReader<R> {
    bytes: R,
    at: u64,
}

impl<R: Read> ForwardReader<R> {
    /// Skips to `offset`; returns `false` if the stream ends before it, or is past it already.
    fn skip_to(&mut self, offset: u64) -> io::Result<bool> {
        let Some(skip) = offset.checked_sub(self.at) else { return Ok(false) };
        self.at += io::copy(&mut self.bytes.by_ref().take(skip), &mut io::sink())?;
        Ok(self.at == offset)
    }

    /// Reads the next bytes, or fewer at the end of the stream.
    fn read_bytes(&mut self, length: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.bytes.by_ref().take(length.min(MAX_PERF_SECTION_BYTES)).read_to_end(&mut bytes)?;
        self.at += bytes.len() as u64;
        Ok(bytes)
    }
}

/// Reads the sections around the records of `source`; for a truncated file, as far as they exist.
///
/// # Errors
/// When `source` cannot be opened, or its header has an unknown version.
pub(super) fn read_layout(
    source: &EventSource<'_>,
    summary: &mut ImportSummary,
) -> Result<PerfLayout, Error> {
    let file = source.name();
    let mut forward = ForwardReader { bytes: source.open_quietly()?.bytes, at: 0 };
    let cut = |error: &dyn std::fmt::Display| {
        Error::malformed_at(file, FilePosition::File, format!("its header cannot be read: {error}"))
    };
    let header = forward.read_bytes(FILE_HEADER).map_err(|error| cut(&error))?;
    let mut bytes = ByteReader(&header);
    let fields = (bytes.take_bytes(8), bytes.take_u64());
    if let (_, Some(PIPE_HEADER)) = fields {
        return Ok(PerfLayout {
            file: file.to_owned(),
            begin: PIPE_HEADER,
            ..PerfLayout::default()
        });
    }
    let mut number = || bytes.take_u64();
    let numbers: Option<[u64; 11]> = (|| {
        let mut numbers = [0; 11];
        for slot in &mut numbers {
            *slot = number()?;
        }
        Some(numbers)
    })();
    let (Some(FILE_HEADER), Some([attr_size, attrs, attrs_length, begin, length, _, _, bits @ ..])) =
        (fields.1, numbers)
    else {
        let why = match fields.1 {
            Some(size) if size != FILE_HEADER => format!(
                "its header has {size} bytes, instead of {FILE_HEADER} as in perf.data since Linux \
                 3.x; import the output of perf script instead"
            ),
            _ => "it ends within its header".to_owned(),
        };
        return Err(Error::malformed_at(file, FilePosition::File, why));
    };
    let mut layout =
        PerfLayout { file: file.to_owned(), begin, length: Some(length), ..PerfLayout::default() };
    if length == 0 {
        // perf writes the length at the end, and did not get that far.
        layout.length = None;
    }
    let around =
        read_sections(&mut forward, &header, [attr_size, attrs, attrs_length], &mut layout, bits);
    let whole = around.unwrap_or(false);
    if !whole {
        summary.notes.push(format!(
            "{}: the data after its records is missing or incomplete: perf was killed, or the file \
             was cut off; the names of its tracepoints are in that data",
            file.display()
        ));
    }
    Ok(layout)
}

/// Reads attributes and features; returns `false` if the file ends before.
fn read_sections(
    forward: &mut ForwardReader<impl Read>,
    header: &[u8],
    [attr_size, attrs, attrs_length]: [u64; 3],
    layout: &mut PerfLayout,
    bits: [u64; 4],
) -> io::Result<bool> {
    let mut before = header.to_vec();
    before.extend(forward.read_bytes(layout.begin.saturating_sub(header.len() as u64))?);
    layout.features.attributes =
        EventAttributes::from_file(&before, attr_size, attrs, attrs_length);
    let Some(length) = layout.length else { return Ok(false) };
    let Some(features) = layout.begin.checked_add(length) else { return Ok(false) };
    if !forward.skip_to(features)? {
        return Ok(false);
    }
    let mut sections = Vec::new();
    for number in (0..256).filter(|number| bits[number / 64] >> (number % 64) & 1 == 1) {
        let section = forward.read_bytes(16)?;
        let mut bytes = ByteReader(&section);
        let (Some(offset), Some(size)) = (bytes.take_u64(), bytes.take_u64()) else {
            return Ok(false);
        };
        sections.push((offset, size, number));
    }
    sections.sort_unstable();
    for (offset, size, number) in sections {
        if size == 0 {
            continue;
        }
        if !forward.skip_to(offset)? {
            return Ok(false);
        }
        let section = forward.read_bytes(size)?;
        layout.features.take_feature(number, &section);
        if (section.len() as u64) < size {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Place of `offset` in a file.
pub(super) fn place_at(file: &Path, offset: u64) -> FilePlace {
    FilePlace::new(file, FilePosition::Offset(offset))
}
