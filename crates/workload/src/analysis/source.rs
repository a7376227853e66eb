//! Source: where requests come from.

use out_of_core::{Names, PathError};
use request_flow::Request;

use crate::analysis::processor_time::ProcessorTime;
use crate::canonical::Canonical;
use crate::clusters::RequestFacts;
use crate::join::{Beginning, JoinCounts};
use crate::joined::JoinedRequest;

/// Whatever has requests.
pub trait Source {
    /// Gives each request to `each`, in the order of their numbers, until that says `false`. Names
    /// get their numbers from `names`.
    ///
    /// # Errors
    /// When a table cannot be read, or a schema is beyond the bounds of the join.
    fn for_each(
        &self,
        names: &mut Names,
        each: &mut dyn FnMut(&Found<'_>, &Names) -> Result<bool, PathError>,
    ) -> Result<Outcome, PathError>;
}

/// A request that was found.
#[derive(Clone, Debug)]
pub struct Found<'request> {
    /// What the model needs of it.
    pub facts: RequestFacts,
    /// Its canonical form.
    pub canonical: Canonical,
    /// The request as its source tells it.
    pub told: Told<'request>,
}

/// A request as its source tells it.
#[derive(Clone, Copy, Debug)]
pub enum Told<'request> {
    /// Joined events.
    Joined(&'request JoinedRequest),
    /// A tree of steps.
    Steps(&'request Request),
}

/// What is known when all requests were given.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// What became of events; `None` where requests are not joined from events.
    pub join: Option<JoinCounts>,
    /// What came of the events that could begin a request; `None` likewise.
    pub beginning: Option<Beginning>,
    /// Processor time, and how much of it requests were charged with; `None` where it is not known.
    pub processor: Option<ProcessorTime>,
}
