//! Words of a library's data through which it calls functions.

use crate::c_library::objects::LoadedObject;
use crate::platform::raw::{self, PAGE};

/// Replaces a word of the library's data, and restores the protection of its page. No other thread
/// uses the library.
pub(super) fn replace_word(library: &LoadedObject, word: *mut usize, value: usize) {
    let page = word.addr() & !(PAGE - 1);
    // SAFETY: the library begins with its header.
    let constants = unsafe { library.constants_range() };
    let is_constant = constants.is_some_and(|[start, end]| (start..end).contains(&word.addr()));
    let writable = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a word by which the library calls one of its functions, read by this thread alone.
    unsafe {
        if !is_constant {
            word.write(value);
        } else if raw::protect_pages(page, PAGE, writable) {
            word.write(value);
            raw::protect_pages(page, PAGE, libc::PROT_READ);
        }
    }
}
