//! Arguments that several commands share, a file each, and the readers of single values.

mod data;
mod filter;
pub(crate) mod flags;
mod inference;
pub(crate) mod offers;
mod source;
mod to;
mod trust;
pub(crate) mod values;

pub(crate) use data::Data;
pub(crate) use filter::Filter;
pub(crate) use inference::Inference;
pub(crate) use source::SourceChoice;
pub(crate) use to::To;
pub(crate) use trust::{Trust, only_loopback};
