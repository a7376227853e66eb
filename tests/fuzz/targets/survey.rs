//! The stored survey of a patched program, on any bytes.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| injector::patching::fuzz_kept(bytes));
