//! The section of perf.data with the formats of all tracepoints that were recorded.

use rustc_hash::FxHashMap;

use super::bytes::Bytes;
use super::format::Format;

const MAGIC: &[u8] = b"\x17\x08\x44tracing";

/// The formats by their ids. What follows damage is left out.
pub(in crate::events::perf) fn formats(section: &[u8]) -> FxHashMap<u16, Format> {
    let mut formats = FxHashMap::default();
    let _ = read(&mut Bytes(section), &mut formats);
    formats
}

fn read(bytes: &mut Bytes<'_>, formats: &mut FxHashMap<u16, Format>) -> Option<()> {
    if bytes.take(MAGIC.len())? != MAGIC {
        return None;
    }
    let _version = bytes.text()?;
    // Byte order, size of long, size of a page.
    bytes.take(2)?;
    bytes.u32()?;
    for _ in ["header_page", "header_event"] {
        bytes.text()?;
        sized(bytes)?;
    }
    for _ in 0..bytes.u32()? {
        add(b"ftrace", sized(bytes)?, formats);
    }
    for _ in 0..bytes.u32()? {
        let system = bytes.text()?;
        for _ in 0..bytes.u32()? {
            add(system, sized(bytes)?, formats);
        }
    }
    Some(())
}

fn add(system: &[u8], text: &[u8], formats: &mut FxHashMap<u16, Format>) {
    if let Some((id, format)) = Format::parse(system, text) {
        formats.insert(id, format);
    }
}

fn sized<'b>(bytes: &mut Bytes<'b>) -> Option<&'b [u8]> {
    let length = usize::try_from(bytes.u64()?).ok()?;
    bytes.take(length)
}
