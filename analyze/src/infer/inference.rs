//! What an algorithm has to offer: what it says of itself ([`AlgorithmEntry`]), and its code
//! ([`Inference`]).

use std::fmt;

use registry::{AnyFlag, EntryHelp, FlagValues, RegistryEntry};

use super::input::InferenceInput;
use crate::links::Links;
use crate::options::{Algorithm, Options};
use crate::warnings::PathWarning;

/// An algorithm as the list of all of them has it.
#[derive(Clone, Copy)]
pub struct AlgorithmEntry {
    /// The name, which is also that in `analysis.json`, and the help.
    pub about: EntryHelp,
    /// The flags. Several algorithms may share some.
    pub flags: &'static [&'static dyn AnyFlag],
    /// Sets what the user gave of the flags; what was not given stays.
    pub apply: fn(&FlagValues, &mut Options),
    /// Begins an inference that knows nothing yet.
    pub begin: fn() -> Box<dyn Inference>,
}

impl AlgorithmEntry {
    /// The algorithm, as options name it.
    pub fn algorithm(&self) -> Algorithm {
        Algorithm::from_name(self.about.name)
    }
}

impl RegistryEntry for AlgorithmEntry {
    fn about(&self) -> &EntryHelp {
        &self.about
    }

    fn flags(&self) -> &'static [&'static dyn AnyFlag] {
        self.flags
    }
}

impl fmt::Debug for AlgorithmEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.about.name)
    }
}

/// The inference of the links of one trace.
pub trait Inference {
    /// The possible parents of every message of a stretch. The stretches of a trace come in their
    /// order, so an algorithm may use what it learned from those before.
    fn infer_links(&mut self, input: &InferenceInput<'_>) -> Links;

    /// Whether the algorithm looks for calls. If not, the ids of calls need not be read, nor what
    /// tells which answer is whose.
    fn looks_for_calls(&self) -> bool {
        true
    }

    /// The messages of the last stretch whose causes are known by hand-offs between threads, in
    /// order.
    fn messages_linked_by_handoff(&self) -> &[u32] {
        &[]
    }

    /// Doubts about all that was inferred so far.
    fn warnings(&self) -> Vec<PathWarning> {
        Vec::new()
    }
}
