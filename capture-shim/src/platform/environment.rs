//! Current environment of the program.

use core::ffi::{CStr, c_char};

unsafe extern "C" {
    /// Libc's own variable.
    pub(crate) static mut environ: *mut *const c_char;
}

/// Array of the environment's strings.
pub(crate) fn present_environment() -> *const *const c_char {
    // SAFETY: a word that the program may change, as libc's own functions read it.
    unsafe { (&raw const environ).read() }
}

/// Replaces the array of the environment's strings.
///
/// # Safety
/// The process has one thread. The array and its strings stay as long as the process, and a null
/// pointer ends the array.
pub(crate) unsafe fn replace_environment(strings: *mut *const c_char) {
    // SAFETY: as the caller guarantees.
    unsafe { (&raw mut environ).write(strings) };
}

/// Value of the variable that begins with `name` (which ends with `=`); `None` if there is none.
pub(crate) fn find_variable(strings: *const *const c_char, name: &[u8]) -> Option<&'static [u8]> {
    if strings.is_null() {
        return None;
    }
    for index in 0.. {
        // SAFETY: the array ends with a null pointer, and each string with a zero byte.
        let string = unsafe { *strings.add(index) };
        if string.is_null() {
            return None;
        }
        // SAFETY: a string of the environment ends with a zero byte.
        if let Some(value) = unsafe { CStr::from_ptr(string) }.to_bytes().strip_prefix(name) {
            return Some(value);
        }
    }
    None
}

/// Whether `byte` separates two entries of a preload list.
pub(crate) fn is_list_separator(byte: &u8) -> bool {
    matches!(byte, b':' | b' ')
}
