//! Go version that built a file, from its `.go.buildinfo`.
//!
//! Its layout since Go 1.18: 14 bytes of magic, the size of a pointer, flags (2: the strings are
//! inline), then at 32 the version, preceded by its length as a varint.

use super::segment::ImageSegment;

const MAGIC: &[u8] = b"\xff Go buildinf:";
const IN_LINE: u8 = 2;

/// Version, such as `go1.27.3`. Without sections it is searched in the data, where the linker
/// aligns it to 16 bytes.
pub(super) fn go_version(
    section: Option<ImageSegment<'_>>,
    segments: &[ImageSegment<'_>],
) -> Option<String> {
    match section {
        Some(section) => read_version(section.bytes),
        None => segments.iter().filter(|segment| !segment.is_code).find_map(|segment| {
            memchr::memmem::find_iter(segment.bytes, MAGIC)
                .filter(|at| at % 16 == 0)
                .find_map(|at| read_version(segment.bytes.get(at..)?))
        }),
    }
}

/// Version in the bytes from the magic on; `None` if they are not in the layout since Go 1.18.
fn read_version(bytes: &[u8]) -> Option<String> {
    let flags = *bytes.strip_prefix(MAGIC)?.get(1)?;
    if flags & IN_LINE == 0 {
        return None;
    }
    // A version is shorter than 128 bytes, so its length is one byte.
    let (length, rest) = bytes.get(32..)?.split_first()?;
    let text = rest.get(..usize::from(*length))?;
    let text = std::str::from_utf8(text).ok()?;
    (*length < 128 && text.chars().all(|of| of.is_ascii_graphic() || of == ' '))
        .then(|| text.to_owned())
}
