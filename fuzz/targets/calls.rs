//! `sockcap import calls` on any bytes.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| importers::fuzz::calls(bytes));
