//! Logs with heads, and operation files, on any bytes.
#![no_main]

use std::sync::LazyLock;

static LOGS: LazyLock<std::path::PathBuf> = LazyLock::new(|| {
    let logs = std::env::temp_dir().join(format!("sockcap-fuzz-{}", std::process::id()));
    let _ = std::fs::create_dir_all(&logs);
    logs
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    protocols::operations::fuzz::log(bytes, &LOGS);
    protocols::operations::fuzz::file(bytes);
});
