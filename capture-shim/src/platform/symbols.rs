//! Functions in the symbol table of the program's own file. Most programs of Debian have no such
//! table; programs built by cargo have one unless it was stripped.
//!
//! The file is mapped, read once, and unmapped. Its contents are trusted only if the program in
//! memory begins with the same bytes, and nothing outside of the file is ever read.

use core::ptr;

use super::raw;

/// The running program, with the contents of its file.
pub(crate) struct ProgramImage<'a> {
    file: &'a [u8],
    /// Load bias: the difference of addresses in memory and in the file.
    bias: usize,
}

/// Range of addresses that the dynamic linker has written and then made read-only (RELRO).
#[derive(Clone, Copy)]
pub(crate) struct ConstantsRange {
    /// First address.
    pub(crate) start: usize,
    /// End of the pages that are read-only as a whole.
    pub(crate) protected_end: usize,
    /// End of the range.
    pub(crate) end: usize,
}

/// Length of the file header, in bytes.
const HEADER: usize = 64;
/// Length of an entry of the segment table, in bytes.
const SEGMENT: usize = 56;
/// Length of an entry of the section table, in bytes.
const SECTION: usize = 64;
/// Length of a symbol, in bytes.
const SYMBOL: usize = 24;
/// Kind of the segment that the dynamic linker writes and then makes read-only (`PT_GNU_RELRO`).
const CONSTANTS: u32 = 0x6474_e552;
/// Kind of the section that contains the symbol table.
const SYMBOL_TABLE: u32 = 2;
/// Kind of a function symbol.
const FUNCTION: u8 = 2;

/// Calls `look` with the running program, if its file can be read and matches it.
pub(crate) fn with_program(look: impl FnOnce(&ProgramImage)) {
    let flags = libc::O_RDONLY | libc::O_CLOEXEC;
    let Ok(file) = raw::open(c"/proc/self/exe", flags, 0) else { return };
    let length = file.size();
    let Some(memory) = file.map_to_read(length) else { return };
    // SAFETY: the mapping is that long. The file of a running program cannot be written.
    let bytes = unsafe { core::slice::from_raw_parts(memory, length) };
    if let Some(program) = ProgramImage::new(bytes) {
        look(&program);
    }
    // SAFETY: nothing of it is used any more.
    unsafe { raw::unmap_memory(memory, length) };
}

impl<'a> ProgramImage<'a> {
    /// Program with this file; `None` if the file's header differs from that in memory.
    fn new(file: &'a [u8]) -> Option<ProgramImage<'a>> {
        let unbiased = ProgramImage { file, bias: 0 };
        let is_known = file.get(..6)? == b"\x7fELF\x02\x01";
        // SAFETY: takes only a number.
        let table = unsafe { libc::getauxval(libc::AT_PHDR) } as usize;
        let offset = unbiased.word_at(32)?;
        let first = unbiased.find_segment(libc::PT_LOAD, |start| start == 0)?;
        let bias = table.wrapping_sub(offset).wrapping_sub(first.address);
        let header = bias.wrapping_add(first.address);
        if !is_known || table == 0 || !raw::is_readable(header as *const [u8; HEADER]) {
            return None;
        }
        // SAFETY: it is readable, and the program is not changed while this one thread runs.
        let in_memory = unsafe { ptr::with_exposed_provenance::<[u8; HEADER]>(header).read() };
        (file.get(..HEADER)? == in_memory).then_some(ProgramImage { file, bias })
    }

    /// Calls `visit` with the name and the address of each function in the symbol table. The name
    /// is followed by a zero byte and other names. Returns `None` if the file is malformed.
    pub(crate) fn for_each_function(&self, mut visit: impl FnMut(&[u8], usize)) -> Option<()> {
        let (sections, count) = (self.word_at(40)?, usize::from(self.u16_at(60)?));
        let section = |index: usize| sections.checked_add(index.checked_mul(SECTION)?);
        for index in 0..count {
            let symbols = section(index)?;
            if self.u32_at(symbols + 4)? != SYMBOL_TABLE {
                continue;
            }
            let names = section(self.u32_at(symbols + 40)? as usize)?;
            let [symbols, names] = [symbols, names].map(|at| {
                Some((self.word_at(at.checked_add(24)?)?, self.word_at(at.checked_add(32)?)?))
            });
            let (symbols, names) = (self.bytes_in(symbols?)?, self.bytes_in(names?)?);
            for symbol in symbols.chunks_exact(SYMBOL) {
                let [a, b, c, d, info, _, _, _, address @ ..] = symbol else { continue };
                let address = address.first_chunk::<8>().map(|bytes| u64::from_le_bytes(*bytes))?;
                let name = names.get(u32::from_le_bytes([*a, *b, *c, *d]) as usize..)?;
                if info & 15 == FUNCTION && address != 0 {
                    visit(name, self.bias.wrapping_add(address as usize));
                }
            }
        }
        Some(())
    }

    /// Range of constants that the dynamic linker has written; `None` if the program has none.
    pub(crate) fn constants_range(&self) -> Option<ConstantsRange> {
        let segment = self.find_segment(CONSTANTS, |_| true)?;
        let start = self.bias.wrapping_add(segment.address);
        let end = start.checked_add(segment.length)?;
        Some(ConstantsRange { start, protected_end: end & !(raw::PAGE - 1), end })
    }

    /// Start and end of the program's memory.
    pub(crate) fn memory_range(&self) -> Option<[usize; 2]> {
        let (table, count) = (self.word_at(32)?, usize::from(self.u16_at(56)?));
        let mut extent = [usize::MAX, 0];
        for index in 0..count {
            let segment = self.segment_at(table.checked_add(index * SEGMENT)?)?;
            if segment.kind == libc::PT_LOAD {
                let start = self.bias.wrapping_add(segment.address);
                extent = [extent[0].min(start), extent[1].max(start.checked_add(segment.length)?)];
            }
        }
        (extent[0] < extent[1]).then_some(extent)
    }

    /// First segment of a kind for whose file offset `is_at` returns true.
    fn find_segment(&self, kind: u32, is_at: impl Fn(usize) -> bool) -> Option<FileSegment> {
        let (table, count) = (self.word_at(32)?, usize::from(self.u16_at(56)?));
        (0..count)
            .map_while(|index| self.segment_at(table.checked_add(index * SEGMENT)?))
            .find(|segment| segment.kind == kind && is_at(segment.offset))
    }

    /// Segment that the entry of the segment table at `at` describes.
    fn segment_at(&self, at: usize) -> Option<FileSegment> {
        Some(FileSegment {
            kind: self.u32_at(at)?,
            offset: self.word_at(at.checked_add(8)?)?,
            address: self.word_at(at.checked_add(16)?)?,
            length: self.word_at(at.checked_add(40)?)?,
        })
    }

    fn bytes_in(&self, (start, length): (usize, usize)) -> Option<&'a [u8]> {
        self.file.get(start..start.checked_add(length)?)
    }

    fn word_at(&self, at: usize) -> Option<usize> {
        let bytes = self.file.get(at..)?.first_chunk::<8>()?;
        Some(u64::from_le_bytes(*bytes) as usize)
    }

    fn u32_at(&self, at: usize) -> Option<u32> {
        Some(u32::from_le_bytes(*self.file.get(at..)?.first_chunk::<4>()?))
    }

    fn u16_at(&self, at: usize) -> Option<u16> {
        Some(u16::from_le_bytes(*self.file.get(at..)?.first_chunk::<2>()?))
    }
}

/// Segment of the file, as an entry of the segment table describes it.
struct FileSegment {
    kind: u32,
    /// Offset in the file, in bytes.
    offset: usize,
    /// Address before the load bias is added.
    address: usize,
    /// Length in memory, in bytes.
    length: usize,
}
