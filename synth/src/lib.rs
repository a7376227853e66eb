//! Accuracy is measured, never claimed. Here are traces whose truth is known ([`maketrace`]) and
//! what may happen to a trace before anybody sees it: clocks that differ ([`skewer`]) and messages
//! that a sniffer drops ([`sniffer`]); and how well what was inferred agrees with the truth
//! ([`score`]), wherever that comes from ([`truth`]).

mod error;
pub mod made_import;
pub mod maketrace;
pub mod score;
pub mod skewer;
pub mod sniffer;
pub mod truth;
mod tuning;

pub use error::Error;
