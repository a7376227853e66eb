//! Programs to be patched, on any bytes.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| injector::patching::fuzz(bytes));
