//! Function names as C strings, made at compile time.

use core::ffi::CStr;

/// Returns a name with its terminating zero byte.
pub(super) const fn c_name(name: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(name.as_bytes()) {
        Ok(name) => name,
        Err(_) => c"",
    }
}
