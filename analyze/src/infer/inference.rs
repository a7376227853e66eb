//! The interface of an algorithm: its description ([`AlgorithmEntry`]) and its code
//! ([`Inference`]).

use std::fmt;

use registry::{AnyFlag, EntryHelp, FlagValues, RegistryEntry};

use super::input::InferenceInput;
use crate::links::Links;
use crate::options::{Algorithm, Options};
use crate::warnings::PathWarning;

/// The registry entry of an algorithm.
#[derive(Clone, Copy)]
pub struct AlgorithmEntry {
    /// The name, which is also used in `analysis.json`, and the help.
    pub about: EntryHelp,
    /// The flags. Several algorithms may share some.
    pub flags: &'static [&'static dyn AnyFlag],
    /// Sets the options of the flags that were given; the others are unchanged.
    pub apply: fn(&FlagValues, &mut Options),
    /// Begins an inference without prior knowledge.
    pub begin: fn() -> Box<dyn Inference>,
}

impl AlgorithmEntry {
    /// The algorithm by which options refer to it.
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
    /// The possible parents of every message of a batch. The batches of a trace come in order, so
    /// an algorithm may use what it learned from earlier ones.
    fn infer_links(&mut self, input: &InferenceInput<'_>) -> Links;

    /// Returns whether the algorithm looks for calls. If not, the ids of calls, which pair
    /// responses with requests, need not be read.
    fn looks_for_calls(&self) -> bool {
        true
    }

    /// The messages of the last batch with causes known from hand-offs between threads, in order.
    fn messages_linked_by_handoff(&self) -> &[u32] {
        &[]
    }

    /// Warnings about everything that was inferred so far.
    fn warnings(&self) -> Vec<PathWarning> {
        Vec::new()
    }
}
