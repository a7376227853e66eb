//! Announcements of execs, and the description of a process for injection, on any bytes.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    injector::fuzz::announcement(bytes);
    injector::fuzz::process(bytes);
});
