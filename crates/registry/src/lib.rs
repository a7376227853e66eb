#![doc = include_str!("../README.md")]

mod about;
mod annotations;
mod entry;
mod spec;
pub mod values;

pub use about::EntryHelp;
pub use annotations::{Refusal, ShownDefault, show_defaults};
pub use entry::{find_entry, is_given, refusal_of_flags, registry_faults, union_of_flags};
pub use spec::{Spec, no_flags};
