//! `sockcap import project5` on any bytes.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| importers::fuzz::project5(bytes));
