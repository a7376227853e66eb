//! Snippets that the preloaded library keeps of any bytes in any parts. Its source files are
//! included separately, as in its tests: with the library, this program's own reads would be
//! interposed.
#![no_main]

#[path = "../../../capture-shim/tests/it/heads.rs"]
#[allow(dead_code, reason = "tests use more of it")]
mod heads;
#[path = "../../../capture-shim/src/tuning.rs"]
#[allow(dead_code, reason = "figures of the whole library")]
mod tuning;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| heads::fuzz::any(bytes));
