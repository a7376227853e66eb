#![doc = include_str!("../README.md")]

mod about;
mod entry;
mod flag;
mod given;
pub mod values;

pub use about::About;
pub use entry::{Entry, faults, find, refusal, union};
pub use flag::{AnyFlag, Choice, Flag, Offer, Spec, Values};
pub use given::{Given, Refused};
