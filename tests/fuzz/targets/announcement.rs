//! Announcements of execs, and what is known of a process that is injected into, on any bytes.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    injector::fuzz::announcement(bytes);
    injector::fuzz::process(bytes);
});
