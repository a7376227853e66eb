//! The interface of an algorithm: its description ([`AlgorithmSpec`]) and its code
//! ([`Inference`]).

use std::fmt::Debug;

use clap::{ArgMatches, Error, FromArgMatches};
use message_trace::MessageId;
use registry::Spec;

use super::input::InferenceInput;
use crate::links::Links;
use crate::options::{Algorithm, Options};
use crate::warnings::PathWarning;

/// The registry entry of an algorithm.
pub type AlgorithmSpec = Spec<AlgorithmEntry>;

/// The part of a registry entry that only algorithms have.
#[derive(Clone, Copy)]
pub struct AlgorithmEntry {
    /// Reads the flags that were given: [`read_flags`] of the type that declares them.
    pub read_flags: fn(&ArgMatches) -> Result<Box<dyn AlgorithmFlags>, Error>,
    /// Begins an inference without prior knowledge.
    pub begin: fn() -> Box<dyn Inference>,
}

/// The values of an algorithm's flags.
pub trait AlgorithmFlags: Debug + Send + Sync {
    /// Sets the options of the flags that were given; the others are unchanged.
    fn apply_to(&self, options: &mut Options);
}

/// Reads the flags that `F` declares.
///
/// # Errors
/// When `given` is the command line of a command without these flags.
pub fn read_flags<F>(given: &ArgMatches) -> Result<Box<dyn AlgorithmFlags>, Error>
where
    F: AlgorithmFlags + FromArgMatches + 'static,
{
    Ok(Box::new(F::from_arg_matches(given)?))
}

/// The algorithm by which options refer to the entry.
impl From<&AlgorithmSpec> for Algorithm {
    fn from(spec: &AlgorithmSpec) -> Algorithm {
        Algorithm::from_name(spec.about.name)
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
    fn messages_linked_by_handoff(&self) -> &[MessageId] {
        &[]
    }

    /// The messages of the last batch with causes that rare words show, in order.
    fn messages_linked_by_words(&self) -> &[MessageId] {
        &[]
    }

    /// Warnings about everything that was inferred so far.
    fn warnings(&self) -> Vec<PathWarning> {
        Vec::new()
    }
}
