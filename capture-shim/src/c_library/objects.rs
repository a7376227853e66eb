//! Objects that the dynamic linker has loaded (the program, its libraries), and the symbols that
//! they define, read from memory.
//!
//! The library cannot start with the linker's own functions (`dlsym` and related ones): before
//! glibc 2.34 they are in a separate library that a program need not have; since then they have
//! another version; other preloaded libraries interpose them; and glibc's search after a library
//! finds versions that no program gets ([decision
//! 0127](../../../docs/decisions/0127-the-library-finds-symbols-itself.md)).
//!
//! The list of objects is read as debuggers read it. It changes while a library is opened or
//! closed, so it is used only while the process has one thread.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr;

use symbols::{DynamicEntry, kind, program_headers};

mod symbols;

pub(crate) use symbols::LoadedObject;

/// Beginning of the linker's description of an object (`struct link_map`), in all libcs.
#[repr(C)]
struct LinkMap {
    /// Load bias: the difference of addresses in memory and in the file.
    base: usize,
    /// File of the object; empty for the program.
    file: *const c_char,
    dynamic: *const DynamicEntry,
    next: *const LinkMap,
}

/// Beginning of the linker's structure for debuggers (`struct r_debug`), in all libcs.
#[repr(C)]
struct LinkerDebug {
    version: c_int,
    /// First entry of the list of objects, which is the program.
    first: *const LinkMap,
}

impl LoadedObject {
    /// File of the object, as the linker lists it.
    pub(crate) fn file_path(&self) -> &'static CStr {
        // SAFETY: null, or the linker's own text, which lives as long as the object.
        if self.file.is_null() { c"" } else { unsafe { CStr::from_ptr(self.file) } }
    }

    /// Whether this is the library itself.
    fn is_own(&self) -> bool {
        self.base == own_range()[0]
    }
}

/// First address of this library, and the address after its last byte.
pub(crate) fn own_range() -> [usize; 2] {
    let (start, end): (usize, usize);
    // SAFETY: only takes two addresses that the linker defines.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        core::arch::asm!(
            ".hidden __ehdr_start",
            ".hidden _end",
            "lea {start}, [rip + __ehdr_start]",
            "lea {end}, [rip + _end]",
            start = out(reg) start,
            end = out(reg) end,
            options(pure, nomem, nostack, preserves_flags),
        );
        #[cfg(target_arch = "aarch64")]
        core::arch::asm!(
            ".hidden __ehdr_start",
            ".hidden _end",
            "adrp {start}, __ehdr_start",
            "add {start}, {start}, :lo12:__ehdr_start",
            "adrp {end}, _end",
            "add {end}, {end}, :lo12:_end",
            start = out(reg) start,
            end = out(reg) end,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    [start, end]
}

/// Whether `address` is in this library.
pub(crate) fn is_own(address: *const c_void) -> bool {
    let [start, end] = own_range();
    (start..end).contains(&address.addr())
}

/// All objects, in symbol search order.
pub(crate) fn loaded_objects() -> impl Iterator<Item = LoadedObject> {
    let mut next = first_link();
    core::iter::from_fn(move || {
        // SAFETY: null, or an entry of the linker's list.
        let link = unsafe { next.as_ref()? };
        next = link.next;
        Some(LoadedObject { base: link.base, dynamic: link.dynamic, file: link.file })
    })
    .filter(|object| !object.dynamic.is_null())
}

/// This library; `None` if the linker's list was not found.
pub(crate) fn own_object() -> Option<LoadedObject> {
    loaded_objects().find(LoadedObject::is_own)
}

/// Address of the symbol `name` in the first object after this library that defines it: what the
/// program would get without the library. Null if there is none.
pub(crate) fn next_definition(name: &CStr) -> *mut c_void {
    loaded_objects()
        .skip_while(|object| !object.is_own())
        .skip(1)
        .map(|object| object.find_symbol(name))
        .find(|address| !address.is_null())
        .unwrap_or(ptr::null_mut())
}

/// Address of the symbol `name` in the last object that defines it: libc's own, whatever precedes
/// it. Null if there is none.
pub(crate) fn last_definition(name: &CStr) -> *mut c_void {
    loaded_objects()
        .filter(|object| !object.is_own())
        .map(|object| object.find_symbol(name))
        .filter(|address| !address.is_null())
        .last()
        .unwrap_or(ptr::null_mut())
}

/// Last object that defines the symbol `name`, other than this library; `None` if there is none.
#[cfg(not(feature = "injected"))]
pub(crate) fn object_with_symbol(name: &CStr) -> Option<LoadedObject> {
    loaded_objects().filter(|object| !object.is_own() && !object.find_symbol(name).is_null()).last()
}

/// Whether no object before this library defines the symbol `name`.
pub(crate) fn is_first_with(name: &CStr) -> bool {
    loaded_objects()
        .find(|object| object.is_own() || !object.find_symbol(name).is_null())
        .is_none_or(|first| first.is_own())
}

/// First entry of the linker's list, which is the program; null if it is not found.
fn first_link() -> *const LinkMap {
    // SAFETY: null, or the linker's structure for debuggers, which lives as long as the process.
    let first_entry =
        |debug: *const LinkerDebug| unsafe { debug.as_ref() }.map(|debug| debug.first);
    first_entry(debug_from_program())
        .or_else(|| first_entry(debug_from_symbol()))
        .unwrap_or(ptr::null())
}

/// Code of the program itself: the start of its first segment that can be read and executed, and
/// the address after its end; `None` if the program's headers do not contain it.
#[cfg(not(feature = "injected"))]
pub(crate) fn program_code() -> Option<[usize; 2]> {
    // SAFETY: takes only numbers.
    let [table, count] =
        [libc::AT_PHDR, libc::AT_PHNUM].map(|kind| unsafe { libc::getauxval(kind) } as usize);
    // SAFETY: the program's table, which the kernel has mapped.
    let mut headers = unsafe { program_headers(table, count) };
    let base = headers.find(|entry| entry.p_type == libc::PT_PHDR)?;
    let base = table.wrapping_sub(base.p_vaddr as usize);
    const CODE: u32 = libc::PF_R | libc::PF_X;
    let code =
        headers.find(|entry| entry.p_type == libc::PT_LOAD && entry.p_flags & CODE == CODE)?;
    let start = base.wrapping_add(code.p_vaddr as usize);
    Some([start, start.wrapping_add(code.p_filesz as usize)])
}

/// The dynamic linker's structure for debuggers, found by the program's own dynamic section; null
/// if the section does not name it.
fn debug_from_program() -> *const LinkerDebug {
    program_object().map_or(ptr::null(), |program| {
        ptr::with_exposed_provenance(program.dynamic_value(kind::DEBUG))
    })
}

/// The program, by the headers that the kernel has mapped; `None` if it has no dynamic section.
pub(crate) fn program_object() -> Option<LoadedObject> {
    // SAFETY: takes only numbers.
    let [table, count] =
        [libc::AT_PHDR, libc::AT_PHNUM].map(|kind| unsafe { libc::getauxval(kind) } as usize);
    let (mut dynamic, mut base) = (None, None);
    // SAFETY: the program's table, which the kernel has mapped.
    for entry in unsafe { program_headers(table, count) } {
        match entry.p_type {
            libc::PT_PHDR => base = Some(table.wrapping_sub(entry.p_vaddr as usize)),
            libc::PT_DYNAMIC => dynamic = Some(entry.p_vaddr as usize),
            _ => {}
        }
    }
    let (base, dynamic) = (base?, dynamic?);
    let dynamic = ptr::with_exposed_provenance(base.wrapping_add(dynamic));
    Some(LoadedObject { base, dynamic, file: ptr::null() })
}

/// The dynamic linker's structure for debuggers, found by its symbol in glibc and in musl; null if
/// neither exists. The symbols are weak, so that no libc needs to have them.
fn debug_from_symbol() -> *const LinkerDebug {
    let (glibc, musl): (*const LinkerDebug, *const *const LinkerDebug);
    // SAFETY: only takes two addresses that the dynamic linker has filled in.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        core::arch::asm!(
            ".weak _r_debug",
            ".weak _dl_debug_addr",
            "mov {glibc}, qword ptr [rip + _r_debug@GOTPCREL]",
            "mov {musl}, qword ptr [rip + _dl_debug_addr@GOTPCREL]",
            glibc = out(reg) glibc,
            musl = out(reg) musl,
            options(pure, readonly, nostack, preserves_flags),
        );
        #[cfg(target_arch = "aarch64")]
        core::arch::asm!(
            ".weak _r_debug",
            ".weak _dl_debug_addr",
            "adrp {glibc}, :got:_r_debug",
            "ldr {glibc}, [{glibc}, :got_lo12:_r_debug]",
            "adrp {musl}, :got:_dl_debug_addr",
            "ldr {musl}, [{musl}, :got_lo12:_dl_debug_addr]",
            glibc = out(reg) glibc,
            musl = out(reg) musl,
            options(pure, readonly, nostack, preserves_flags),
        );
        if !glibc.is_null() || musl.is_null() { glibc } else { *musl }
    }
}
