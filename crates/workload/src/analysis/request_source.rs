//! Source: where requests come from.

use out_of_core::{NameInterner, PathError};
use request_flow::Request;

use crate::analysis::processor_time::ProcessorTime;
use crate::canonical::CanonicalRequest;
use crate::clusters::RequestFacts;
use crate::join::{JoinCounts, SeedCounts};
use crate::joined_request::JoinedRequest;

/// Whatever has requests.
pub trait RequestSource {
    /// Gives each request to `each`, in the order of their numbers, until that says `false`. Names
    /// get their numbers from `names`.
    ///
    /// # Errors
    /// When a table cannot be read, or a schema is beyond the bounds of the join.
    fn for_each(
        &self,
        names: &mut NameInterner,
        each: &mut dyn FnMut(&SourceRequest<'_>, &NameInterner) -> Result<bool, PathError>,
    ) -> Result<SourceOutcome, PathError>;
}

/// A request that was found.
#[derive(Clone, Debug)]
pub struct SourceRequest<'request> {
    /// What the model needs of it.
    pub facts: RequestFacts,
    /// Its canonical form.
    pub canonical: CanonicalRequest,
    /// The request as its source tells it.
    pub record: RequestRecord<'request>,
}

/// A request as its source tells it.
#[derive(Clone, Copy, Debug)]
pub enum RequestRecord<'request> {
    /// Joined events.
    Joined(&'request JoinedRequest),
    /// A tree of steps.
    Steps(&'request Request),
}

/// What is known when all requests were given.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SourceOutcome {
    /// What became of events; `None` where requests are not joined from events.
    pub join: Option<JoinCounts>,
    /// What came of the events that could begin a request; `None` likewise.
    pub beginning: Option<SeedCounts>,
    /// Processor time, and how much of it requests were charged with; `None` where it is not known.
    pub processor: Option<ProcessorTime>,
}
