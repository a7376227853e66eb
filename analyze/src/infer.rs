//! Inference: from messages to [`Links`], which message may have caused which. Each algorithm is a
//! file with a folder beside it. It takes an [`InferenceInput`], is behind the trait [`Inference`],
//! and is listed in [`algorithms`]. None knows what is done with its links. [`known_causes`] is for
//! traces whose source tells the causes.

mod algorithms;
mod auto;
mod call_links;
pub mod convolution;
mod flags;
mod inference;
mod input;
mod known_causes;
mod linking;
mod nesting;
mod span;
mod traced_links;

pub use algorithms::ALGORITHMS;
pub use convolution::ConvolutionAlgorithm;
pub use inference::{AlgorithmEntry, Inference};
pub use input::InferenceInput;
pub use known_causes::{CauseWriter, KnownCauses};

pub use crate::links::Links;
