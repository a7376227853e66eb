//! The program's present environment.

use core::ffi::{CStr, c_char};

unsafe extern "C" {
    /// The variable of libc's.
    pub(crate) static mut environ: *mut *const c_char;
}

/// The program's present environment.
pub(crate) fn present() -> *const *const c_char {
    // SAFETY: a word that the program may change, as libc's own functions read it.
    unsafe { (&raw const environ).read() }
}

/// The value of the variable that begins with `name` (which ends with `=`).
pub(crate) fn find(strings: *const *const c_char, name: &[u8]) -> Option<&'static [u8]> {
    if strings.is_null() {
        return None;
    }
    for index in 0.. {
        // SAFETY: the array ends with a null pointer, and each string with a zero byte.
        let string = unsafe { *strings.add(index) };
        if string.is_null() {
            return None;
        }
        // SAFETY: as above.
        if let Some(value) = unsafe { CStr::from_ptr(string) }.to_bytes().strip_prefix(name) {
            return Some(value);
        }
    }
    None
}

/// What a preload list has between its entries.
pub(crate) fn separates(byte: &u8) -> bool {
    matches!(byte, b':' | b' ')
}
