//! The readers of logs and of switch files on any bytes.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    socket_log::fuzz::log(bytes);
    socket_log::fuzz::switches(bytes);
});
