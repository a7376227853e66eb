//! The protocol named by the variable `PROTOCOL`, on any bytes.
#![no_main]

use std::sync::LazyLock;

static PROTOCOL: LazyLock<&'static protocols::ProtocolSpec> = LazyLock::new(|| {
    let name = std::env::var("PROTOCOL").expect("PROTOCOL names a protocol, such as http");
    registry::find_entry(protocols::PROTOCOLS, &name).expect("there is no such protocol")
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| protocols::fuzz(&PROTOCOL, bytes));
