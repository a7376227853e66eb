//! An ELF file for x86-64, as far as patching needs it: its loaded segments, whether it loads
//! preloaded libraries, and its metadata.
//!
//! No byte is trusted: offsets outside the file, overlapping segments, and wrong lengths read as
//! nothing.

mod elf_header;
mod frames;
mod go;
mod segment;

use std::ops::Range;

use object::Endianness;
use object::elf::{self, FileHeader64};
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader, Sym};
use serde::{Deserialize, Serialize};

pub use elf_header::ElfHeader;
pub(crate) use segment::ImageSegment;

use crate::patching::error::PatchError;

/// End of the addresses of programs. Segments beyond it cannot be loaded.
const ADDRESS_END: u64 = 1 << 47;

/// How an image is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LoadMethod {
    /// The image names an interpreter, and so loads preloaded libraries. A Go program of this kind
    /// still makes its own system calls without libc.
    Interpreted,
    /// Nothing but the image itself is loaded.
    Alone,
}

/// A parsed ELF file that borrows its bytes.
#[derive(Clone, Debug)]
pub struct ElfImage<'a> {
    pub(crate) segments: Vec<ImageSegment<'a>>,
    /// Address ranges of functions that the file records, in order.
    pub(crate) functions: Vec<Range<u64>>,
    /// Address ranges of functions that unwind records describe, in order.
    unwound: Vec<Range<u64>>,
    span: Range<u64>,
    load: LoadMethod,
    is_fixed: bool,
    entry: u64,
    build_id: Option<&'a [u8]>,
    go_version: Option<String>,
}

impl<'a> ElfImage<'a> {
    /// Parses the bytes of a whole file.
    ///
    /// # Errors
    ///
    /// If the bytes are not an ELF file, or not one for x86-64.
    pub fn parse(file: &'a [u8]) -> Result<Self, PatchError> {
        let wrong = |error: object::Error| PatchError::NotElf(error.to_string());
        let header = FileHeader64::<Endianness>::parse(file).map_err(wrong)?;
        let endian = header.endian().map_err(wrong)?;
        let kind = header.e_type(endian);
        if header.e_machine(endian) != elf::EM_X86_64
            || !header.is_little_endian()
            || ![elf::ET_EXEC, elf::ET_DYN].contains(&kind)
        {
            return Err(PatchError::Machine);
        }
        let headers = header.program_headers(endian, file).map_err(wrong)?;
        let (mut segments, mut begin, mut end) = (Vec::new(), u64::MAX, 0);
        let (mut load, mut frames_header) = (LoadMethod::Alone, None);
        for segment in headers {
            let address = segment.p_vaddr(endian);
            match segment.p_type(endian) {
                elf::PT_LOAD => {
                    let bytes = segment.data(endian, file).unwrap_or_default();
                    let length = segment.p_memsz(endian).max(bytes.len() as u64);
                    let Some(last) = address.checked_add(length).filter(|end| *end <= ADDRESS_END)
                    else {
                        continue;
                    };
                    begin = begin.min(address);
                    end = end.max(last);
                    let is_code = segment.p_flags(endian).contains(elf::PF_X);
                    segments.push(ImageSegment { address, bytes, is_code });
                }
                elf::PT_INTERP => load = LoadMethod::Interpreted,
                elf::PT_GNU_EH_FRAME => {
                    frames_header = segment.data(endian, file).ok().map(|bytes| ImageSegment {
                        address,
                        bytes,
                        is_code: false,
                    });
                }
                _ => {}
            }
        }
        let sections = header.sections(endian, file).unwrap_or_default();
        let section = |name: &[u8]| {
            let (_, section) = sections.section_by_name(endian, name)?;
            let bytes = section.data(endian, file).ok()?;
            Some(ImageSegment { address: section.sh_addr(endian), bytes, is_code: false })
        };
        let mut unwound = frames::function_ranges(&segments, frames_header, section(b".eh_frame"));
        unwound.sort_unstable_by_key(|function| (function.start, function.end));
        let mut functions = unwound.clone();
        if let Ok(symbols) = sections.symbols(endian, file, elf::SHT_SYMTAB) {
            for symbol in symbols.iter().filter(|symbol| symbol.st_type() == elf::STT_FUNC) {
                let begin = symbol.st_value(endian);
                let end = begin.saturating_add(symbol.st_size(endian));
                if begin != 0 {
                    functions.push(begin..end);
                }
            }
        }
        functions.sort_unstable_by_key(|function| (function.start, function.end));
        functions.dedup();
        let build_id = headers.iter().find_map(|segment| build_id(segment, endian, file));
        let go_version = go::go_version(section(b".go.buildinfo"), &segments);
        Ok(Self {
            segments,
            functions,
            unwound,
            span: begin.min(end)..end,
            load,
            is_fixed: kind == elf::ET_EXEC,
            entry: header.e_entry(endian),
            build_id,
            go_version,
        })
    }

    /// Addresses from the first loaded byte to after the last, as linked.
    #[must_use]
    pub fn address_span(&self) -> Range<u64> {
        self.span.clone()
    }

    /// How the image is loaded, by which it is known whether a preloaded library is.
    #[must_use]
    pub fn load_method(&self) -> LoadMethod {
        self.load
    }

    /// Whether the image is loaded at the addresses that it was linked for (`ET_EXEC`).
    #[must_use]
    pub fn is_fixed(&self) -> bool {
        self.is_fixed
    }

    /// Address of the first instruction, as linked.
    #[must_use]
    pub fn entry_point(&self) -> u64 {
        self.entry
    }

    /// Build id by the linker (or by Go's), which serves as the key of cached plans.
    #[must_use]
    pub fn build_id(&self) -> Option<&'a [u8]> {
        self.build_id
    }

    /// Go version with which the image was built (`go1.27.3`), if it is a Go program. Stripped
    /// files have it, too.
    #[must_use]
    pub fn go_version(&self) -> Option<&str> {
        self.go_version.as_deref()
    }

    /// Whether unwind records describe the function at an address.
    pub(crate) fn has_unwind_record(&self, address: u64) -> bool {
        let after = self.unwound.partition_point(|function| function.start <= address);
        after
            .checked_sub(1)
            .and_then(|last| self.unwound.get(last))
            .is_some_and(|of| of.contains(&address))
    }

    /// The loaded code.
    pub(crate) fn code_segments(&self) -> impl Iterator<Item = ImageSegment<'a>> + '_ {
        self.segments.iter().copied().filter(|segment| segment.is_code)
    }
}

fn build_id<'a>(
    segment: &elf::ProgramHeader64<Endianness>,
    endian: Endianness,
    file: &'a [u8],
) -> Option<&'a [u8]> {
    let mut notes = segment.notes(endian, file).ok()??;
    while let Ok(Some(note)) = notes.next() {
        let of_gnu = note.name() == b"GNU" && note.n_type(endian) == elf::NT_GNU_BUILD_ID;
        let of_go = note.name() == b"Go" && note.n_type(endian) == elf::NoteType(4);
        if of_gnu || of_go {
            return Some(note.desc());
        }
    }
    None
}
