//! The beginning of an ELF file: enough to know the file again, and to find the bytes of an address
//! in it, without reading it whole.

use std::ops::Range;

use object::Endianness;
use object::elf::{self, FileHeader64};
use object::read::elf::{FileHeader, ProgramHeader};

/// What the beginning of a file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ElfHeader {
    /// What the linker knows the file by.
    pub build_id: Option<Vec<u8>>,
    /// Addresses of what is loaded, as linked, and where in the file it begins.
    loads: Vec<(Range<u64>, u64)>,
}

impl ElfHeader {
    /// Looks at the first bytes of a file: 64 KiB have what is asked for. `None` where they are no
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

    /// Where in the file the bytes of an address are.
    #[must_use]
    pub fn file_offset(&self, address: u64) -> Option<u64> {
        let (addresses, offset) = self.loads.iter().find(|(of, _)| of.contains(&address))?;
        offset.checked_add(address - addresses.start)
    }
}
