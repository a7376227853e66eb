//! The reader of logs on any bytes.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| socket_log::fuzz::log(bytes));
