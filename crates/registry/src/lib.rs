#![doc = include_str!("../README.md")]

mod about;
mod entry;
mod flag;
mod flag_values;
mod spec;
pub mod values;

pub use about::EntryHelp;
pub use entry::{find_entry, refusal_of_flags, registry_faults, union_of_flags};
pub use flag::{AnyFlag, Flag, FlagChoice, FlagSpec, ValueOffer, ValueSyntax};
pub use flag_values::{FlagValues, RefusedValue};
pub use spec::Spec;
