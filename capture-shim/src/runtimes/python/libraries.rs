//! Libraries with extension modules, which are followed as they are loaded: one is found by the
//! address of its data, and the words through which it calls exported functions are replaced.

use core::ffi::CStr;

use crate::c_library::objects::LoadedObject;
use crate::platform::raw::{self, PAGE};
use crate::runtimes::words::replace_word;

/// Maximum number of pages before a library's data in which its header is searched for.
const MAX_PAGES: usize = 4096;

/// Library with data at an address; `None` if no header is found before it.
pub(super) fn library_at(address: usize) -> Option<LoadedObject> {
    let page = address & !(PAGE - 1);
    let header = (0..MAX_PAGES).map(|pages| page - pages * PAGE).find(|page| {
        let start: *const [u8; 4] = core::ptr::with_exposed_provenance(*page);
        // SAFETY: it is readable.
        raw::is_readable(start) && unsafe { start.read() } == *b"\x7fELF"
    })?;
    LoadedObject::kernel_object(header)
}

/// Address of the exported function `name` that the library calls; 0 if it calls none.
pub(super) fn bound_function(library: &LoadedObject, name: &CStr) -> usize {
    let mut function = 0;
    // SAFETY: a word of the library, which the dynamic linker has written.
    library.for_each_binding(name, |word| function = unsafe { word.read() });
    function
}

/// Has the library call `hook` in place of the exported function `name`.
pub(super) fn replace_binding(library: &LoadedObject, name: &CStr, hook: usize) {
    library.for_each_binding(name, |word| replace_word(library, word, hook));
}
