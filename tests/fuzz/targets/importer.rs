//! The importer named by the variable `IMPORTER`, on any bytes.
#![no_main]

use std::sync::LazyLock;

static FUZZ: LazyLock<fn(&[u8])> = LazyLock::new(|| {
    let name = std::env::var("IMPORTER").expect("IMPORTER names an importer, such as calls");
    registry::find_entry(importers::IMPORTERS, &name).expect("there is no such importer").fuzz
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| FUZZ(bytes));
