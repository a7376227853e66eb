//! Section of perf.data with the formats of all recorded tracepoints.

use rustc_hash::FxHashMap;

use super::bytes::ByteReader;
use super::format::TracepointFormat;

const MAGIC: &[u8] = b"\x17\x08\x44tracing";

/// Parses the formats, by id. Formats after damage are left out.
pub(in crate::events::perf) fn parse_formats(section: &[u8]) -> FxHashMap<u16, TracepointFormat> {
    let mut formats = FxHashMap::default();
    let _ = read_formats(&mut ByteReader(section), &mut formats);
    formats
}

fn read_formats(
    bytes: &mut ByteReader<'_>,
    formats: &mut FxHashMap<u16, TracepointFormat>,
) -> Option<()> {
    if bytes.take_bytes(MAGIC.len())? != MAGIC {
        return None;
    }
    let _version = bytes.take_text()?;
    // Byte order, size of long, size of a page.
    bytes.take_bytes(2)?;
    bytes.take_u32()?;
    for _ in ["header_page", "header_event"] {
        bytes.take_text()?;
        take_sized(bytes)?;
    }
    for _ in 0..bytes.take_u32()? {
        add_format(b"ftrace", take_sized(bytes)?, formats);
    }
    for _ in 0..bytes.take_u32()? {
        let system = bytes.take_text()?;
        for _ in 0..bytes.take_u32()? {
            add_format(system, take_sized(bytes)?, formats);
        }
    }
    Some(())
}

fn add_format(system: &[u8], text: &[u8], formats: &mut FxHashMap<u16, TracepointFormat>) {
    if let Some((id, format)) = TracepointFormat::parse_format(system, text) {
        formats.insert(id, format);
    }
}

fn take_sized<'b>(bytes: &mut ByteReader<'b>) -> Option<&'b [u8]> {
    let length = usize::try_from(bytes.take_u64()?).ok()?;
    bytes.take_bytes(length)
}
