//! Both sides' readers of the wire, and the collector's store, on any bytes.
#![no_main]

use std::sync::LazyLock;

static HOSTS: LazyLock<std::path::PathBuf> = LazyLock::new(|| {
    let hosts = std::env::temp_dir().join(format!("sockcap-fuzz-{}", std::process::id()));
    let _ = std::fs::create_dir_all(&hosts);
    hosts
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| collector::fuzz::wire(bytes, &HOSTS));
