//! Accuracy is measured, never claimed: how well what was inferred of a trace agrees with the truth about it
//! ([`score`]), wherever that truth comes from ([`truth`]).

mod error;
pub mod score;
pub mod truth;

pub use error::Error;
