//! The functions that make names of paths, labels and statements, on any text.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| protocols::fuzz_names(bytes));
