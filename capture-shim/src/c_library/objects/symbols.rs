//! Objects in memory (the program, a library, the kernel's vDSO), and the symbols that they define.

#[cfg(not(feature = "injected"))]
use core::ffi::c_int;
use core::ffi::{CStr, c_char, c_void};
use core::mem::transmute;
use core::ptr;

#[cfg(not(feature = "injected"))]
use libc::Elf64_Rela;
use libc::{Elf64_Ehdr, Elf64_Phdr, Elf64_Sym};

/// Object in memory.
#[derive(Clone, Copy)]
pub(crate) struct LoadedObject {
    /// Load bias: the difference of addresses in memory and in the file.
    pub(super) base: usize,
    pub(super) dynamic: *const DynamicEntry,
    /// File of the object, as the linker lists it; null if it lists none.
    pub(super) file: *const c_char,
}

/// Entry of an object's dynamic section: kind and value.
pub(super) type DynamicEntry = [usize; 2];

/// Kinds of entries of a dynamic section (`DT_`).
pub(super) mod kind {
    pub(super) const NULL: usize = 0;
    pub(super) const HASH: usize = 4;
    pub(super) const STRINGS: usize = 5;
    pub(super) const SYMBOLS: usize = 6;
    #[cfg(not(feature = "injected"))]
    pub(super) const RELOCATIONS: usize = 7;
    #[cfg(not(feature = "injected"))]
    pub(super) const RELOCATION_BYTES: usize = 8;
    /// Relocations of called functions (`DT_JMPREL`).
    #[cfg(not(feature = "injected"))]
    pub(super) const CALLS: usize = 23;
    #[cfg(not(feature = "injected"))]
    pub(super) const CALL_BYTES: usize = 2;
    pub(in super::super) const DEBUG: usize = 21;
    pub(super) const GNU_HASH: usize = 0x6fff_fef5;
    pub(super) const VERSIONS: usize = 0x6fff_fff0;
}

/// Flag of a symbol version that is not the default: only programs that were linked with this
/// version get its symbols.
const HIDDEN: u16 = 0x8000;

/// Kinds of relocations by which a word gets the address of a symbol.
#[cfg(all(not(feature = "injected"), target_arch = "x86_64"))]
const ADDRESS_RELOCATIONS: [u32; 3] = [1, 6, 7];
#[cfg(target_arch = "aarch64")]
const ADDRESS_RELOCATIONS: [u32; 3] = [257, 1025, 1026];

/// Kinds of symbols: a thread-local variable (`STT_TLS`), and a function that returns the address
/// of the one to use on this processor (`STT_GNU_IFUNC`).
const THREAD_LOCAL: u8 = 6;
const CHOSEN_AT_LOAD: u8 = 10;

/// Program headers of an object: `count` of them from the address `table` on.
///
/// # Safety
/// The headers exist, and stay mapped as long as the result is used.
pub(super) unsafe fn program_headers(
    table: usize,
    count: usize,
) -> impl Iterator<Item = &'static Elf64_Phdr> {
    (0..count).map(move |index| {
        let address = table.wrapping_add(index * size_of::<Elf64_Phdr>());
        // SAFETY: the caller guarantees that this entry exists.
        unsafe { &*ptr::with_exposed_provenance::<Elf64_Phdr>(address) }
    })
}

impl LoadedObject {
    /// Object that the kernel has mapped by itself, at `address`; `None` if that is 0.
    pub(crate) fn kernel_object(address: usize) -> Option<LoadedObject> {
        let header: *const Elf64_Ehdr = ptr::with_exposed_provenance(address);
        // SAFETY: null, or an object in ELF format, mapped as a whole.
        let (table, count) = unsafe {
            let header = header.as_ref()?;
            (address.wrapping_add(header.e_phoff as usize), usize::from(header.e_phnum))
        };
        let (mut dynamic, mut base) = (None, None);
        // SAFETY: the object's table, which is mapped as long as the object is.
        for entry in unsafe { program_headers(table, count) } {
            match entry.p_type {
                libc::PT_LOAD if base.is_none() => {
                    let file = entry.p_vaddr.wrapping_sub(entry.p_offset);
                    base = Some(address.wrapping_sub(file as usize));
                }
                libc::PT_DYNAMIC => dynamic = Some(entry.p_vaddr as usize),
                _ => {}
            }
        }
        let base = base?;
        let dynamic = ptr::with_exposed_provenance(base.wrapping_add(dynamic?));
        Some(LoadedObject { base, dynamic, file: ptr::null() })
    }

    /// Header of the object, if its first segment begins with it, as in every library that is not
    /// linked to a fixed address.
    #[cfg(not(feature = "injected"))]
    pub(crate) fn elf_header(&self) -> *const Elf64_Ehdr {
        ptr::with_exposed_provenance(self.base)
    }

    /// Range that the dynamic linker has written and then made read-only (RELRO): its start and
    /// end; `None` if the object has none.
    ///
    /// # Safety
    /// The object begins with its header, and is mapped.
    #[cfg(not(feature = "injected"))]
    pub(crate) unsafe fn constants_range(&self) -> Option<[usize; 2]> {
        // SAFETY: as the caller guarantees.
        let (offset, count) =
            unsafe { ((*self.elf_header()).e_phoff, (*self.elf_header()).e_phnum) };
        let table = self.base.wrapping_add(offset as usize);
        // SAFETY: as the caller guarantees.
        let mut headers = unsafe { program_headers(table, count.into()) };
        let found = headers.find(|entry| entry.p_type == libc::PT_GNU_RELRO)?;
        let start = self.base.wrapping_add(found.p_vaddr as usize);
        Some([start, start.wrapping_add(found.p_memsz as usize)])
    }

    /// Value of the dynamic section's entry of this kind; 0 if there is none.
    pub(super) fn dynamic_value(&self, wanted: usize) -> usize {
        let mut entry = self.dynamic;
        loop {
            // SAFETY: the section ends with an entry of kind 0.
            let [kind, value] = unsafe { entry.read() };
            match kind {
                kind::NULL => return 0,
                _ if kind == wanted => return value,
                // SAFETY: not the last entry.
                _ => entry = unsafe { entry.add(1) },
            }
        }
    }

    /// Table that the dynamic section names; null if there is none.
    fn dynamic_table<T>(&self, wanted: usize) -> *const T {
        let value = self.dynamic_value(wanted);
        // Some linkers have replaced offsets by addresses.
        let is_offset = value != 0 && value < self.base;
        ptr::with_exposed_provenance(if is_offset { self.base + value } else { value })
    }

    /// Load bias: the difference of addresses in memory and in the file.
    #[cfg(not(feature = "injected"))]
    pub(crate) fn load_bias(&self) -> usize {
        self.base
    }

    /// Place of the value of the symbol `name` in the object's symbol table, and the protection
    /// (`PROT_`) of its page; `None` if the object does not define the symbol. The value is the
    /// symbol's address less the load bias.
    #[cfg(not(feature = "injected"))]
    pub(crate) fn symbol_value(&self, name: &CStr) -> Option<(*mut u64, c_int)> {
        let symbols: *const Elf64_Sym = self.dynamic_table(kind::SYMBOLS);
        let address = self.find_symbol(name).addr();
        let mut found = None;
        self.for_each_candidate(name, |index| {
            // SAFETY: indices of the object's own table.
            let value = unsafe { &raw const (*symbols.add(index)).st_value };
            // SAFETY: as before.
            let is_same = self.base.wrapping_add(unsafe { value.read() } as usize) == address;
            found = is_same.then_some(value);
            is_same
        });
        let value = found.filter(|_| address != 0)?;
        let flags = self.segment_flags(value.addr())?;
        let protection = [
            (libc::PF_R, libc::PROT_READ),
            (libc::PF_W, libc::PROT_WRITE),
            (libc::PF_X, libc::PROT_EXEC),
        ]
        .iter()
        .filter(|(flag, _)| flags & flag != 0)
        .fold(0, |all, (_, protection)| all | protection);
        Some((value.cast_mut(), protection))
    }

    /// Calls `visit` with each word of the object that the dynamic linker fills with the address of
    /// the symbol `name`.
    #[cfg(not(feature = "injected"))]
    pub(crate) fn for_each_binding(&self, name: &CStr, mut visit: impl FnMut(*mut usize)) {
        let symbols: *const Elf64_Sym = self.dynamic_table(kind::SYMBOLS);
        let strings: *const c_char = self.dynamic_table(kind::STRINGS);
        if symbols.is_null() || strings.is_null() {
            return;
        }
        for (table, size) in
            [(kind::RELOCATIONS, kind::RELOCATION_BYTES), (kind::CALLS, kind::CALL_BYTES)]
        {
            let table: *const Elf64_Rela = self.dynamic_table(table);
            let count = self.dynamic_value(size) / size_of::<Elf64_Rela>();
            for index in 0..if table.is_null() { 0 } else { count } {
                // SAFETY: an entry of the object's own table, and its symbol, whose name ends with
                // a zero byte.
                let (entry, own) = unsafe {
                    let entry = table.add(index).read();
                    let symbol = &*symbols.add((entry.r_info >> 32) as usize);
                    (entry, CStr::from_ptr(strings.add(symbol.st_name as usize)))
                };
                let is_address = ADDRESS_RELOCATIONS.contains(&(entry.r_info as u32));
                if is_address && entry.r_addend == 0 && own == name {
                    let word = self.base.wrapping_add(entry.r_offset as usize);
                    visit(ptr::with_exposed_provenance_mut(word));
                }
            }
        }
    }

    /// Whether an address is in the object's code.
    #[cfg(not(feature = "injected"))]
    pub(crate) fn contains_code(&self, address: usize) -> bool {
        self.segment_flags(address).is_some_and(|flags| flags & libc::PF_X != 0)
    }

    /// Whether the object has this text at an address, which may be any number.
    #[cfg(not(feature = "injected"))]
    pub(crate) fn has_text(&self, address: usize, text: &[u8]) -> bool {
        let last = address.wrapping_add(text.len()).wrapping_sub(1);
        let has_address =
            |address| self.segment_flags(address).is_some_and(|flags| flags & libc::PF_R != 0);
        // SAFETY: both ends are in readable segments, which are longer than a text.
        has_address(address)
            && has_address(last)
            && unsafe {
                core::slice::from_raw_parts(ptr::with_exposed_provenance::<u8>(address), text.len())
            } == text
    }

    /// Flags (`PF_`) of the segment that contains an address; `None` if there is none.
    #[cfg(not(feature = "injected"))]
    fn segment_flags(&self, address: usize) -> Option<u32> {
        // SAFETY: takes only numbers.
        let [table, count] =
            [libc::AT_PHDR, libc::AT_PHNUM].map(|kind| unsafe { libc::getauxval(kind) } as usize);
        // SAFETY: null, or a text of the linker.
        let is_program = self.file.is_null() || unsafe { *self.file } == 0;
        let (table, count) = if is_program {
            (table, count)
        } else {
            // SAFETY: a library begins with its header.
            let (offset, count) =
                unsafe { ((*self.elf_header()).e_phoff, (*self.elf_header()).e_phnum) };
            (self.base.wrapping_add(offset as usize), usize::from(count))
        };
        // SAFETY: the object's table, which is mapped as long as the object is.
        let mut headers = unsafe { program_headers(table, count) };
        let offset = address.wrapping_sub(self.base) as u64;
        let contains = |entry: &&Elf64_Phdr| {
            entry.p_type == libc::PT_LOAD
                && (entry.p_vaddr..entry.p_vaddr.wrapping_add(entry.p_memsz)).contains(&offset)
        };
        headers.find(contains).map(|entry| entry.p_flags)
    }

    /// Address of the symbol `name`, of the version that newly linked programs get; null if the
    /// object does not define it.
    pub(crate) fn find_symbol(&self, name: &CStr) -> *mut c_void {
        let symbols: *const Elf64_Sym = self.dynamic_table(kind::SYMBOLS);
        let strings: *const c_char = self.dynamic_table(kind::STRINGS);
        let versions: *const u16 = self.dynamic_table(kind::VERSIONS);
        if symbols.is_null() || strings.is_null() {
            return ptr::null_mut();
        }
        let mut found = ptr::null_mut();
        self.for_each_candidate(name, |index| {
            // SAFETY: indices of the object's own table, and names end with a zero byte.
            let symbol = unsafe { &*symbols.add(index) };
            // SAFETY: a symbol's name lies in the string table and ends with a zero byte.
            let own = unsafe { CStr::from_ptr(strings.add(symbol.st_name as usize)) };
            // SAFETY: each symbol has a version.
            let is_hidden = !versions.is_null() && unsafe { *versions.add(index) } & HIDDEN != 0;
            let kind = symbol.st_info & 15;
            let is_defined = symbol.st_shndx != 0 && symbol.st_value != 0 && kind != THREAD_LOCAL;
            if own != name || !is_defined || is_hidden {
                return false;
            }
            let address = self.base.wrapping_add(symbol.st_value as usize);
            found = ptr::with_exposed_provenance_mut(address);
            if kind == CHOSEN_AT_LOAD {
                // SAFETY: a symbol of this type is a function that returns the address. If it has
                // an argument, the argument is the kernel's processor capabilities.
                found = unsafe {
                    let choose =
                        transmute::<*mut c_void, extern "C" fn(usize) -> *mut c_void>(found);
                    choose(libc::getauxval(libc::AT_HWCAP) as usize)
                };
            }
            true
        });
        found
    }

    /// Calls `look` with the indices of symbols that may have this name, until it returns true.
    /// Uses the GNU hash table.
    fn for_each_candidate(&self, name: &CStr, mut look: impl FnMut(usize) -> bool) {
        let table: *const u32 = self.dynamic_table(kind::GNU_HASH);
        if table.is_null() {
            return self.for_each_sysv_candidate(name, look);
        }
        let hash = name
            .to_bytes()
            .iter()
            .fold(5381u32, |hash, byte| hash.wrapping_mul(33).wrapping_add(u32::from(*byte)));
        // SAFETY: the table has the GNU format: four words, a filter of 64-bit words, the first
        // symbol of each bucket, and a hash for each symbol, in which the lowest bit ends a bucket.
        unsafe {
            let [buckets, first, filter, _] = table.cast::<[u32; 4]>().read();
            if buckets == 0 {
                return;
            }
            let bucket = table.add(4 + 2 * filter as usize);
            let chain = bucket.add(buckets as usize);
            let mut index = bucket.add((hash % buckets) as usize).read();
            while index >= first {
                let own = chain.add((index - first) as usize).read();
                if own | 1 == hash | 1 && look(index as usize) || own & 1 != 0 {
                    return;
                }
                index += 1;
            }
        }
    }

    /// Calls `look` for each candidate as [`Self::for_each_candidate`], by the older SysV hash
    /// table.
    fn for_each_sysv_candidate(&self, name: &CStr, mut look: impl FnMut(usize) -> bool) {
        let table: *const u32 = self.dynamic_table(kind::HASH);
        if table.is_null() {
            return;
        }
        let hash = name.to_bytes().iter().fold(0u32, |hash, byte| {
            let hash = (hash << 4).wrapping_add(u32::from(*byte));
            (hash ^ (hash >> 24 & 0xf0)) & 0x0fff_ffff
        });
        // SAFETY: the table has the SysV format: two counts, the first symbol of each bucket, and
        // the next symbol of each symbol, 0 for none.
        unsafe {
            let [buckets, _] = table.cast::<[u32; 2]>().read();
            if buckets == 0 {
                return;
            }
            let bucket = table.add(2);
            let chain = bucket.add(buckets as usize);
            let mut index = bucket.add((hash % buckets) as usize).read();
            while index != 0 && !look(index as usize) {
                index = chain.add(index as usize).read();
            }
        }
    }
}
