//! Default options of AddressSanitizer's runtime library.
//!
//! A program that was compiled with `-fsanitize=address` loads the runtime as a library, and the
//! runtime ends the program where it does not come first among all libraries. Preloaded ones come
//! before it. It does not have to: its functions stand before libc's as ever, and those here before
//! both. The runtime asks for this function before it looks at the environment, so a program's own
//! options count, and none of its children is given others.

use core::ffi::{CStr, c_char};

/// Options by which the runtime does not look at its place among the libraries.
const OPTIONS: &CStr = c"verify_asan_link_order=0";

/// Gives the options. A program that has a function of this name is asked itself.
#[unsafe(no_mangle)]
extern "C" fn __asan_default_options() -> *const c_char {
    OPTIONS.as_ptr()
}
