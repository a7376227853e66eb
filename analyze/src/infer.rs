//! Inference: from messages to [`Links`], the possible causes of each message. Each algorithm is a
//! file with a folder of the same name. It receives an [`InferenceInput`], implements the trait
//! [`Inference`] and is listed in [`algorithms`]. No algorithm depends on how its links are used.
//! [`known_causes`] is for traces with causes that their source recorded.

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
mod words;

pub use algorithms::ALGORITHMS;
pub use convolution::ConvolutionAlgorithm;
pub use inference::{AlgorithmEntry, AlgorithmFlags, AlgorithmSpec, Inference, read_flags};
pub use input::InferenceInput;
pub use known_causes::{CauseWriter, KnownCauses};

pub use crate::links::Links;
