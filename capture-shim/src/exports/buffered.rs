//! Buffered files of libc: replaces the functions by which they read, write and close, in the two
//! function tables (vtables) that all of them share.
//!
//! A `printf` or `fgets` calls the kernel from within libc, past every symbol. But glibc's files
//! reach their own `read` through a table, which glibc exports (`_IO_file_jumps`) together with the
//! functions in it. Words of the tables are replaced only if they are the addresses of these
//! functions, and while the process has one thread. If anything differs from the known layout,
//! nothing is changed, and the transfers of buffered files are not seen, as under musl.

use core::ffi::{CStr, c_int, c_void};
use core::ptr;

use libc::{FILE, ssize_t};

use crate::c_library::objects;
use crate::hooks::stdio::{self, CLOSE, LibcFileFunction, READ, WRITE};
use crate::platform::raw::{self, PAGE};

/// Size of an entry of a table, in bytes.
const WORD: usize = size_of::<usize>();
/// Number of entries of a table.
const ENTRIES: usize = 21;

/// Replaced function of files: its index in a table, its name, and its replacement.
struct ReplacedFunction {
    place: usize,
    name: &'static CStr,
    own: &'static LibcFileFunction,
    entry: *const c_void,
}

/// Functions that are replaced.
fn replaced_functions() -> [ReplacedFunction; 3] {
    [
        ReplacedFunction {
            place: 14,
            name: c"_IO_file_read",
            own: &READ,
            entry: read as *const c_void,
        },
        ReplacedFunction {
            place: 15,
            name: c"_IO_file_write",
            own: &WRITE,
            entry: write as *const c_void,
        },
        ReplacedFunction {
            place: 17,
            name: c"_IO_file_close",
            own: &CLOSE,
            entry: close as *const c_void,
        },
    ]
}

/// Replacement of `_IO_file_read`.
///
/// # Safety
/// As for libc's function.
unsafe extern "C" fn read(file: *mut FILE, buffer: *mut c_void, size: ssize_t) -> ssize_t {
    // SAFETY: libc's own call is passed on unchanged.
    unsafe { stdio::file_read(file, buffer, size) }
}

/// Replacement of `_IO_file_write`.
///
/// # Safety
/// As for libc's function.
unsafe extern "C" fn write(file: *mut FILE, buffer: *const c_void, size: ssize_t) -> ssize_t {
    // SAFETY: libc's own call is passed on unchanged.
    unsafe { stdio::file_write(file, buffer, size) }
}

/// Replacement of `_IO_file_close`.
///
/// # Safety
/// As for libc's function.
unsafe extern "C" fn close(file: *mut FILE) -> c_int {
    // SAFETY: libc's own call is passed on unchanged.
    unsafe { stdio::file_close(file) }
}

/// Replaces the functions if the layout of this libc's files is known.
pub(super) fn follow_files() {
    let tables =
        [c"_IO_file_jumps", c"_IO_wfile_jumps"].map(|name| objects::last_definition(name).addr());
    let output = objects::last_definition(c"_IO_2_1_stdout_");
    let functions = replaced_functions().map(|replaced| objects::last_definition(replaced.name));
    if tables.contains(&0) || output.is_null() || functions.contains(&ptr::null_mut()) {
        return;
    }
    let Some(constants) = objects::object_with_symbol(c"_IO_file_jumps").and_then(constants_of)
    else {
        return;
    };
    let is_known = |table: usize| {
        let is_whole = table.is_multiple_of(WORD)
            && table >= constants[0]
            && table.saturating_add(ENTRIES * WORD) <= constants[1];
        // SAFETY: within the range that the dynamic linker has written and made read-only.
        let word = |place: usize| unsafe {
            ptr::with_exposed_provenance::<usize>(table + place * WORD).read()
        };
        is_whole
            && replaced_functions()
                .iter()
                .zip(functions)
                .all(|(a, own)| word(a.place) == own.addr())
    };
    // SAFETY: a file of libc's, which has the same size in every version.
    let has_table = unsafe { stdio::table_of(output.cast()) } == tables[0];
    if !has_table || !tables.into_iter().all(is_known) {
        return;
    }
    for (replaced, own) in replaced_functions().iter().zip(functions) {
        replaced.own.set_function(own);
    }
    if replace_entries(tables) {
        stdio::follow_tables(tables);
    }
}

/// Range of the pages of an object that the dynamic linker has written and then made read-only;
/// `None` if there are none, or the object does not begin with its header.
fn constants_of(object: objects::LoadedObject) -> Option<[usize; 2]> {
    let header = object.elf_header();
    // SAFETY: just found readable; an ELF magic number means the object's header.
    let is_header =
        raw::is_readable(header) && unsafe { (*header).e_ident.starts_with(b"\x7fELF") };
    if !is_header {
        return None;
    }
    // SAFETY: the table follows the header in the same segment.
    let [start, end] = unsafe { object.constants_range() }?;
    Some([start & !(PAGE - 1), end & !(PAGE - 1)])
}

/// Writes the replacements into both tables, whose pages are read-only again afterwards. Returns
/// whether the kernel permitted it.
fn replace_entries(tables: [usize; 2]) -> bool {
    let first = tables[0].min(tables[1]) & !(PAGE - 1);
    let end = (tables[0].max(tables[1]) + ENTRIES * WORD).next_multiple_of(PAGE);
    // The tables are adjacent in every version.
    if end - first > 4 * PAGE {
        return false;
    }
    // SAFETY: pages of libc's constants. Other threads, if there were any, would find each word
    // either old or new.
    unsafe {
        if !raw::protect_pages(first, end - first, libc::PROT_READ | libc::PROT_WRITE) {
            return false;
        }
        for table in tables {
            for ReplacedFunction { place, entry, .. } in replaced_functions() {
                let word: *mut usize = ptr::with_exposed_provenance_mut(table + place * WORD);
                word.write_volatile(entry.expose_provenance());
            }
        }
        raw::protect_pages(first, end - first, libc::PROT_READ);
    }
    true
}
