//! Default options of AddressSanitizer's runtime library.
//!
//! A program compiled with `-fsanitize=address` loads the runtime as a library, and the runtime
//! ends the program if it is not the first of all libraries. Preloaded ones precede it. The check
//! is needless here: the runtime's functions still precede libc's, and the hooks precede both. The
//! runtime calls this function before it reads the environment, so a program's own options take
//! precedence, and its children are given no others.

use core::ffi::{CStr, c_char};

/// Options by which the runtime does not check its place among the libraries.
const OPTIONS: &CStr = c"verify_asan_link_order=0";

/// Returns the options. A program that defines this function itself takes precedence.
#[unsafe(no_mangle)]
extern "C" fn __asan_default_options() -> *const c_char {
    OPTIONS.as_ptr()
}
