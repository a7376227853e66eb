//! The library's layer of this name, as far as it needs no library.

#[allow(dead_code, reason = "instructions that other parts use")]
#[path = "../../src/platform/processor.rs"]
pub(crate) mod processor;
