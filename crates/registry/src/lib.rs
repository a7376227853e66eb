#![doc = include_str!("../README.md")]

mod about;
mod entry;
mod flag;
mod flag_values;
pub mod values;

pub use about::EntryHelp;
pub use entry::{RegistryEntry, find_entry, refusal_of_flags, registry_faults, union_of_flags};
pub use flag::{AnyFlag, Flag, FlagChoice, FlagSpec, ValueOffer, ValueSyntax};
pub use flag_values::{FlagValues, RefusedValue};
