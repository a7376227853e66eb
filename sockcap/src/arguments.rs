//! Arguments shared by several commands, one file each, and the parsers of single values.

pub(crate) mod completion_candidates;
mod data;
mod destination;
mod filter;
mod inference;
mod source;
mod trust;
pub(crate) mod values;

pub(crate) use data::DataArguments;
pub(crate) use destination::DestinationArguments;
pub(crate) use filter::FilterArguments;
pub(crate) use inference::InferenceArguments;
pub(crate) use source::SourceChoice;
pub(crate) use trust::{TrustArguments, require_loopback};
