//! From messages to [`Links`]: which message may have caused which. Every algorithm is a module
//! here behind the one trait [`Inference`], and none knows what is done with its links.

mod auto;
mod call_links;
pub mod convolution;
mod linking;
mod nesting;
mod span;

use message_trace::{MessageTrace, Progress};

pub use auto::Auto;
pub use convolution::Convolution;
pub use linking::Linking;
pub use nesting::Nesting;

use crate::doubts::Doubt;
pub use crate::links::Links;
use crate::naming::Naming;
use crate::options::{Algorithm, Options};

/// An algorithm that infers links from a message trace.
pub trait Inference {
    /// For every message of `trace`, which must be sorted, its possible parents. Of a trace in
    /// stretches each is inferred by itself, in order, and the algorithm may know what it learned
    /// of those before.
    fn infer(
        &mut self,
        trace: &MessageTrace,
        naming: &Naming,
        options: &Options,
        progress: &dyn Progress,
    ) -> Links;

    /// Whether it looks for calls: if not, the ids of calls need not be read, nor what tells which
    /// answer is whose.
    fn looks_for_calls(&self) -> bool {
        true
    }

    /// What the algorithm is not sure of as a whole, in all that it inferred so far.
    fn doubts(&self) -> Vec<Doubt> {
        Vec::new()
    }
}

impl Algorithm {
    /// The algorithm itself.
    pub fn inference(self) -> Box<dyn Inference> {
        match self {
            Algorithm::Auto => Box::new(Auto::default()),
            Algorithm::Linking => Box::new(Linking),
            Algorithm::Nesting => Box::new(Nesting),
            Algorithm::Convolution => Box::new(Convolution),
        }
    }
}
