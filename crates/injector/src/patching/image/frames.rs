//! Address ranges of functions from the unwind records, which stripped files have, too.

use std::ops::Range;

use gimli::{BaseAddresses, CieOrFde, EhFrame, EhFrameHdr, LittleEndian, UnwindSection};

use super::segment::ImageSegment;

/// Functions that `.eh_frame` describes, in no order. `header` is `.eh_frame_hdr`, which locates
/// the records if there is no section.
pub(super) fn function_ranges(
    segments: &[ImageSegment<'_>],
    header: Option<ImageSegment<'_>>,
    section: Option<ImageSegment<'_>>,
) -> Vec<Range<u64>> {
    let Some(frames) = section.or_else(|| frames_section(segments, header?)) else {
        return Vec::new();
    };
    let bases = BaseAddresses::default().set_eh_frame(frames.address);
    let records = EhFrame::new(frames.bytes, LittleEndian);
    let (mut entries, mut functions) = (records.entries(&bases), Vec::new());
    // Records after damage are not read.
    while let Ok(Some(entry)) = entries.next() {
        let CieOrFde::Fde(partial) = entry else { continue };
        let Ok(record) = partial.parse(EhFrame::cie_from_offset) else { continue };
        // The record of code that a signal handler returns to begins a byte early, so that an
        // unwinder that looks just before the return address finds it.
        let early = u64::from(record.is_signal_trampoline());
        let begin = record.initial_address();
        functions.push(begin.saturating_add(early)..begin.saturating_add(record.len()));
    }
    functions
}

/// Section `.eh_frame` at the address in the `.eh_frame_hdr` section `header`.
fn frames_section<'a>(
    segments: &[ImageSegment<'a>],
    header: ImageSegment<'a>,
) -> Option<ImageSegment<'a>> {
    let bases = BaseAddresses::default().set_eh_frame_hdr(header.address);
    let parsed = EhFrameHdr::new(header.bytes, LittleEndian).parse(&bases, 8).ok()?;
    let address = match parsed.eh_frame_ptr() {
        gimli::Pointer::Direct(address) => address,
        gimli::Pointer::Indirect(_) => return None,
    };
    let bytes = segments.iter().find_map(|segment| segment.bytes_from(address))?;
    Some(ImageSegment { address, bytes, is_code: false })
}
