//! Facts of a process that has just executed its program: the auxiliary vector (`/proc/PID/auxv`),
//! its program headers, and where its heap begins.

use crate::maps::ImageExtent;

/// Tags of the auxiliary vector (`getauxval(3)`).
mod tag {
    pub(super) const PHDR: u64 = 3;
    pub(super) const PHNUM: u64 = 5;
    pub(super) const ENTRY: u64 = 9;
    pub(super) const SECURE: u64 = 23;
    pub(super) const HWCAP2: u64 = 26;
    pub(super) const SYSINFO_EHDR: u64 = 33;
}

/// Bit of `AT_HWCAP2` for programs' permission to read and set the GS base themselves.
const FSGSBASE: u64 = 2;
/// Size of a program header, in bytes.
pub(crate) const HEADER_BYTES: usize = 56;
/// Maximum number of program headers that are read; programs have about ten.
const MAX_HEADERS: u64 = 1000;

/// Entries of the auxiliary vector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct AuxiliaryVector {
    /// Address of the program headers.
    pub headers: u64,
    /// Number of program headers.
    pub header_count: u64,
    /// Address of the program's first instruction.
    pub entry: u64,
    /// Whether the kernel gave the program privileges that its user does not have.
    pub secure: bool,
    /// Whether programs may set the GS base themselves.
    pub fsgsbase: bool,
    /// Address of the vDSO; 0 if there is none.
    pub vdso: u64,
}

/// Parses an auxiliary vector: pairs of a tag and a value. `None` without an entry point or program
/// headers.
pub(crate) fn parse_auxiliary_vector(vector: &[u8]) -> Option<AuxiliaryVector> {
    let mut entries = AuxiliaryVector::default();
    for pair in vector.chunks_exact(16) {
        let (tag, value) = (read_word(pair, 0)?, read_word(pair, 8)?);
        match tag {
            0 => break,
            tag::PHDR => entries.headers = value,
            tag::PHNUM => entries.header_count = value,
            tag::ENTRY => entries.entry = value,
            tag::SECURE => entries.secure = value != 0,
            tag::HWCAP2 => entries.fsgsbase = value & FSGSBASE != 0,
            tag::SYSINFO_EHDR => entries.vdso = value,
            _ => {}
        }
    }
    let whole = entries.entry != 0 && entries.headers != 0;
    (whole && (1..=MAX_HEADERS).contains(&entries.header_count)).then_some(entries)
}

/// Mapped segment of the program's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProgramSegment {
    /// Address of the segment's first byte, as linked.
    pub start: u64,
    /// Size in the file, in bytes.
    pub file_bytes: u64,
    /// Size in memory, in bytes.
    pub bytes: u64,
    /// Whether the segment is executable.
    pub executable: bool,
}

/// Facts from the program headers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProgramHeaders {
    /// Mapped segments.
    pub segments: Vec<ProgramSegment>,
    /// Whether the program has an interpreter.
    pub interpreted: bool,
}

/// Parses program headers (`Elf64_Phdr`).
pub(crate) fn parse_program_headers(bytes: &[u8]) -> Option<ProgramHeaders> {
    let mut headers = ProgramHeaders::default();
    for header in bytes.chunks_exact(HEADER_BYTES) {
        // Type in the low half, flags in the high half.
        let first = read_word(header, 0)?;
        match first as u32 {
            1 => headers.segments.push(ProgramSegment {
                start: read_word(header, 16)?,
                file_bytes: read_word(header, 32)?,
                bytes: read_word(header, 40)?,
                executable: first >> 32 & 1 != 0,
            }),
            3 => headers.interpreted = true,
            _ => {}
        }
    }
    Some(headers)
}

impl ProgramHeaders {
    /// Ranges of addresses of executable segments in the process: from the first byte to after the
    /// last byte that is from the file.
    pub(crate) fn code_ranges(&self, bias: u64) -> impl Iterator<Item = (u64, u64)> {
        self.segments.iter().filter(|segment| segment.executable).map(move |segment| {
            let start = segment.start.wrapping_add(bias);
            (start, start.wrapping_add(segment.file_bytes))
        })
    }

    /// Addresses of the image in the process; `None` if it has no code.
    pub(crate) fn image_extent(&self, bias: u64, heap: u64) -> Option<ImageExtent> {
        let start = self.segments.iter().map(|s| s.start.wrapping_add(bias)).min()?;
        let code_end = self.code_ranges(bias).map(|(_, end)| end).max()?;
        (code_end > start).then_some(ImageExtent { start, code_end, heap })
    }
}

/// Entry point in an ELF header: the linked address of the first instruction. `None` if the header
/// is not that of a 64-bit program.
pub(crate) fn linked_entry(header: &[u8]) -> Option<u64> {
    const MAGIC_64: &[u8] = b"\x7fELF\x02";
    if header.starts_with(MAGIC_64) { read_word(header, 24) } else { None }
}

/// Address at which the heap begins, from the text of `/proc/PID/stat`.
pub(crate) fn parse_heap_start(stat: &str) -> Option<u64> {
    const START_BRK: usize = 47;
    stat_field(stat, START_BRK)?.parse().ok()
}

/// Start time of a process in ticks of the kernel, from the text of `/proc/PID/stat`. `None` if it
/// has ended and was not waited for.
pub(crate) fn running_since(stat: &str) -> Option<u64> {
    const STATE: usize = 3;
    let has_ended = ["Z", "X"].contains(&stat_field(stat, STATE)?);
    (!has_ended).then(|| start_time(stat))?
}

/// Start time in ticks of the kernel, as by [`running_since`], of a process that may have ended or
/// lost its first thread.
pub(crate) fn start_time(stat: &str) -> Option<u64> {
    const START_TIME: usize = 22;
    stat_field(stat, START_TIME)?.parse().ok()
}

/// Field of `/proc/PID/stat` by its number; the first one after the program's name is 3.
fn stat_field(stat: &str, number: usize) -> Option<&str> {
    const AFTER_NAME: usize = 3;
    // The name may contain blanks and brackets itself.
    let (_, rest) = stat.rsplit_once(") ")?;
    rest.split(' ').nth(number - AFTER_NAME).map(str::trim)
}

/// Little-endian number at an offset.
fn read_word(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn vector(pairs: &[(u64, u64)]) -> Vec<u8> {
        pairs
            .iter()
            .flat_map(|(tag, value)| [tag.to_le_bytes(), value.to_le_bytes()].concat())
            .collect()
    }

    #[test]
    fn the_vector_is_read_to_its_end() {
        let bytes =
            vector(&[(3, 0x40_0040), (5, 9), (9, 0x40_1000), (26, 2), (33, 7), (0, 0), (23, 1)]);
        let expected = AuxiliaryVector {
            headers: 0x40_0040,
            header_count: 9,
            entry: 0x40_1000,
            secure: false,
            fsgsbase: true,
            vdso: 7,
        };
        assert_eq!(parse_auxiliary_vector(&bytes), Some(expected));
        let other = vector(&[(3, 1), (5, 1), (9, 1), (23, 1), (26, 1), (0, 0)]);
        let other = parse_auxiliary_vector(&other).unwrap();
        assert!(other.secure && !other.fsgsbase);
        assert_eq!(parse_auxiliary_vector(&vector(&[(3, 1), (5, 1), (0, 0), (9, 1)])), None);
        assert_eq!(parse_auxiliary_vector(&vector(&[(3, 1), (5, 1 << 20), (9, 1)])), None);
    }

    #[test]
    fn the_vector_of_this_process_is_read() {
        let entries = parse_auxiliary_vector(&std::fs::read("/proc/self/auxv").unwrap()).unwrap();
        assert!(entries.entry != 0 && entries.vdso != 0 && !entries.secure);
    }

    fn header(kind: u32, flags: u32, start: u64, file: u64, memory: u64) -> Vec<u8> {
        let words = [u64::from(kind) | u64::from(flags) << 32, 0, start, start, file, memory, 4096];
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn headers_locate_the_code() {
        let bytes = [
            header(1, 4, 0x40_0000, 0x500, 0x500),
            header(3, 4, 0x40_0200, 0x1c, 0x1c),
            header(1, 5, 0x40_1000, 0x2345, 0x2345),
            header(1, 6, 0x40_5000, 0x100, 0x9000),
        ]
        .concat();
        let headers = parse_program_headers(&bytes).unwrap();
        assert!(headers.interpreted);
        assert_eq!(headers.code_ranges(0x1000).collect::<Vec<_>>(), [(0x40_2000, 0x40_4345)]);
        let extent = headers.image_extent(0x1000, 5);
        assert_eq!(extent, Some(ImageExtent { start: 0x40_1000, code_end: 0x40_4345, heap: 5 }));
    }

    #[test]
    fn the_heap_is_the_47th_field() {
        let fields: Vec<String> = (4..=52).map(|number| number.to_string()).collect();
        assert_eq!(parse_heap_start(&format!("7 (a ) b) S {}\n", fields.join(" "))), Some(47));
        assert_eq!(parse_heap_start("7 (a) S 1 2"), None);
        let own = std::fs::read_to_string("/proc/self/stat").unwrap();
        assert!(parse_heap_start(&own).unwrap() > 0x1000);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = parse_auxiliary_vector(&bytes);
            let _ = linked_entry(&bytes);
            if let Some(headers) = parse_program_headers(&bytes) {
                let _ = headers.image_extent(u64::MAX, 0);
            }
            let _ = parse_heap_start(&String::from_utf8_lossy(&bytes));
        }
    }
}
