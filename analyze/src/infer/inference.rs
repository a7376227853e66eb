//! What an algorithm has to offer: what it says of itself ([`AlgorithmEntry`]), and its code
//! ([`Inference`]).

use super::input::Input;
use crate::doubts::Doubt;
use crate::links::Links;

/// An algorithm as the list of all of them has it.
#[derive(Clone, Copy, Debug)]
pub struct AlgorithmEntry {
    /// The name on the command line, in the configuration and in `analysis.json`.
    pub name: &'static str,
    /// What it is, in one line without a full stop.
    pub summary: &'static str,
    /// Begins an inference that knows nothing yet.
    pub begin: fn() -> Box<dyn Inference>,
}

/// The inference of the links of one trace.
pub trait Inference {
    /// The possible parents of every message of a stretch. The stretches of a trace come in their
    /// order, so an algorithm may use what it learned from those before.
    fn infer(&mut self, input: &Input<'_>) -> Links;

    /// Whether the algorithm looks for calls. If not, the ids of calls need not be read, nor what
    /// tells which answer is whose.
    fn looks_for_calls(&self) -> bool {
        true
    }

    /// Doubts about all that was inferred so far.
    fn doubts(&self) -> Vec<Doubt> {
        Vec::new()
    }
}
