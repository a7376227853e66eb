//! Names of functions as the C library takes them, made when this is compiled.

use core::ffi::CStr;

/// Name with the zero byte that ends it.
pub(super) const fn c_name(name: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(name.as_bytes()) {
        Ok(name) => name,
        Err(_) => c"",
    }
}
