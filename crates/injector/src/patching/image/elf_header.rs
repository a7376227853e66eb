//! Beginning of an ELF file: enough to identify the file, and to find the bytes of an address in
//! it, without reading the whole file.

use std::ops::Range;

use object::Endianness;
use object::elf::{self, FileHeader64};
use object::read::elf::{FileHeader, ProgramHeader};

/// Facts from the beginning of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ElfHeader {
    /// Build id.
    pub build_id: Option<Vec<u8>>,
    /// Addresses of loaded segments, as linked, and their offsets in the file.
    loads: Vec<(Range<u64>, u64)>,
}

impl ElfHeader {
    /// Parses the first bytes of a file; 64 KiB are sufficient. `None` if they are not the
    /// beginning of a program.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<ElfHeader> {
        let header = FileHeader64::<Endianness>::parse(bytes).ok()?;
        let endian = header.endian().ok()?;
        let headers = header.program_headers(endian, bytes).ok()?;
        let loaded = headers.iter().filter(|of| of.p_type(endian) == elf::PT_LOAD);
        let loads = loaded.map(|of| {
            let (address, length) = (of.p_vaddr(endian), of.p_filesz(endian));
            (address..address.saturating_add(length), of.p_offset(endian))
        });
        let build_id = headers.iter().find_map(|of| super::build_id(of, endian, bytes));
        let build_id = build_id.filter(|id| !id.is_empty()).map(<[u8]>::to_vec);
        Some(ElfHeader { build_id, loads: loads.collect() })
    }

    /// Offset in the file of the bytes at an address.
    #[must_use]
    pub fn file_offset(&self, address: u64) -> Option<u64> {
        let (addresses, offset) = self.loads.iter().find(|(of, _)| of.contains(&address))?;
        offset.checked_add(address - addresses.start)
    }
}
