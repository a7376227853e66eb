//! Blob from a shared library that needs no dynamic linker: its segments as laid out in memory, and
//! the addresses of its symbols. The library relocates itself.

use std::collections::HashMap;

use object::read::elf::{ElfFile64, ProgramHeader};
use object::{Endianness, Object, ObjectSymbol, elf};

use crate::blob::{Blob, DetachInfo, HookOffsets, KillSwitch};
use crate::outcome::Error;

/// Size of a page, in bytes.
const PAGE: u64 = 4096;
/// Maximum size of a library in memory, in bytes: it has to fit below a program's usual address.
const MAX_MEMORY: u64 = 3 << 20;

/// Library as a blob.
#[derive(Clone, Debug)]
pub struct BlobLibrary {
    /// The blob.
    pub blob: Blob,
    symbols: HashMap<String, u64>,
}

impl BlobLibrary {
    /// Parses a shared library. `initialise` and `null_slot` are its symbols for the blob's first
    /// function and for the target of the GS base.
    ///
    /// # Errors
    /// If the bytes are not a library for x86-64 that is linked for address 0, need other
    /// libraries, or lack one of the symbols.
    pub fn parse(bytes: &[u8], initialise: &str, null_slot: &str) -> Result<BlobLibrary, Error> {
        let unreadable = |_| Error::Blob("it is not a readable library");
        let file = ElfFile64::<Endianness>::parse(bytes).map_err(unreadable)?;
        if file.elf_header().e_machine.get(file.endian()) != elf::EM_X86_64 {
            return Err(Error::Blob("it is for another machine"));
        }
        if file.imports().map_err(unreadable)?.next().is_some() {
            return Err(Error::Blob("it needs other libraries"));
        }
        let mut blob = lay_out_blob(&file, bytes)?;
        let named = file.dynamic_symbols().filter(|symbol| symbol.is_definition());
        let symbols: HashMap<String, u64> = named
            .filter_map(|symbol| Some((symbol.name().ok()?.to_owned(), symbol.address())))
            .collect();
        let find = |name: &str| symbols.get(name).copied().filter(|at| *at < blob.memory);
        let missing = Error::Blob("it lacks a symbol for its beginning");
        let (Some(begin), Some(slot)) = (find(initialise), find(null_slot)) else {
            return Err(missing);
        };
        (blob.initialise, blob.null_slot) = (Some(begin), slot);
        Ok(BlobLibrary { blob, symbols })
    }

    /// Makes the blob removable. `function` is the symbol of [`DetachInfo::function`], `waiting`
    /// that of 13 constant words of 8 bytes, the fields of [`HookOffsets`] in their order.
    ///
    /// # Errors
    /// If the library lacks one of the symbols.
    pub fn with_detach(mut self, function: &str, waiting: &str) -> Result<BlobLibrary, Error> {
        let missing = || Error::Blob("it lacks a symbol for its end");
        let function = self.symbol_offset(function).ok_or_else(missing)?;
        let at = self.symbol_offset(waiting).ok_or_else(missing)? as usize;
        let bytes = self.blob.image.get(at..at + 8 * HookOffsets::WORDS).ok_or_else(missing)?;
        let mut words = [0; HookOffsets::WORDS];
        for (word, bytes) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *word = u64::from_le_bytes(*bytes);
        }
        self.blob.ending = Some(DetachInfo {
            function,
            waiting: HookOffsets::from_words(words),
            mapped: None,
            switch: None,
        });
        Ok(self)
    }

    /// Sets the symbol by which memory is found that the blob has mapped itself:
    /// [`DetachInfo::mapped`].
    ///
    /// # Errors
    /// If the library lacks the symbol, or is not removable.
    pub fn with_mapped_list(mut self, symbol: &str) -> Result<BlobLibrary, Error> {
        let at = self.symbol_offset(symbol).filter(|at| at.saturating_add(16) <= self.blob.memory);
        let (Some(at), Some(ending)) = (at, &mut self.blob.ending) else {
            return Err(Error::Blob("it lacks the list of its mappings"));
        };
        ending.mapped = Some(at);
        Ok(self)
    }

    /// Sets the symbol by which hooks are switched off if the blob cannot be removed:
    /// [`DetachInfo::switch`].
    ///
    /// # Errors
    /// If the library lacks the symbol, or is not removable.
    pub fn with_kill_switch(mut self, symbol: &str) -> Result<BlobLibrary, Error> {
        let bytes = 8 * KillSwitch::WORDS as u64;
        let at =
            self.symbol_offset(symbol).filter(|at| at.saturating_add(bytes) <= self.blob.memory);
        let (Some(at), Some(ending)) = (at, &mut self.blob.ending) else {
            return Err(Error::Blob("it lacks a switch"));
        };
        ending.switch = Some(at);
        Ok(self)
    }

    /// Offset of a symbol in the blob.
    #[must_use]
    pub fn symbol_offset(&self, name: &str) -> Option<u64> {
        self.symbols.get(name).copied()
    }
}

/// Lays out the segments of a library as in memory.
fn lay_out_blob(file: &ElfFile64, bytes: &[u8]) -> Result<Blob, Error> {
    let endian = file.endian();
    let mut blob = Blob::default();
    let mut data = Vec::new();
    for header in file.elf_program_headers() {
        match header.p_type(endian) {
            elf::PT_LOAD => {}
            elf::PT_TLS => return Err(Error::Blob("it has thread-local variables")),
            _ => continue,
        }
        let start = header.p_vaddr(endian);
        let end = start.checked_add(header.p_memsz(endian)).filter(|end| *end <= MAX_MEMORY);
        let (Some(end), Ok(content)) = (end, header.data(endian, bytes)) else {
            return Err(Error::Blob("its segments lie outside of its memory"));
        };
        let content_end = start as usize + content.len();
        if content_end as u64 > end {
            return Err(Error::Blob("its segments lie outside of its memory"));
        }
        blob.memory = blob.memory.max(end.next_multiple_of(PAGE));
        if blob.image.len() < content_end {
            blob.image.resize(content_end, 0);
        }
        if let Some(place) = blob.image.get_mut(start as usize..content_end) {
            place.copy_from_slice(content);
        }
        let pages = start - start % PAGE..end.next_multiple_of(PAGE);
        let flags = header.p_flags(endian).0;
        if flags & elf::PF_X.0 == 0 {
            data.push((pages, flags & elf::PF_W.0 != 0));
        } else if blob.code.is_empty() && flags & elf::PF_W.0 == 0 {
            blob.code = pages;
        } else {
            return Err(Error::Blob("it has several code segments, or a writable one"));
        }
    }
    let shares = |(pages, written): &(std::ops::Range<u64>, bool)| {
        *written && pages.start < blob.code.end && blob.code.start < pages.end
    };
    if blob.code.is_empty() || data.iter().any(shares) {
        return Err(Error::Blob("it has no pages that are of code only"));
    }
    Ok(blob)
}
