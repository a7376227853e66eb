#![doc = include_str!("../README.md")]

mod names;
mod request;
mod siblings;
pub mod spans;
mod step;
pub mod tables;
mod tuning;

pub use names::{NameId, Names};
pub use request::{Parameters, Request, RequestBuilder};
pub use siblings::{Overlaps, Siblings, order_of};
pub use step::Step;
