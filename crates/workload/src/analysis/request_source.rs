//! Source of requests.

use out_of_core::{NameInterner, PathError};
use request_flow::Request;

use crate::analysis::processor_time::ProcessorTime;
use crate::canonical::CanonicalRequest;
use crate::clusters::RequestFacts;
use crate::join::{JoinCounts, SeedCounts};
use crate::joined_request::JoinedRequest;

/// A source of requests.
pub trait RequestSource {
    /// Passes each request to `each`, in the order of their numbers, until `each` returns `false`.
    /// Names are interned in `names`.
    ///
    /// # Errors
    /// If a table cannot be read, or a schema exceeds the bounds of the join.
    fn for_each(
        &self,
        names: &mut NameInterner,
        each: &mut dyn FnMut(&SourceRequest<'_>, &NameInterner) -> Result<bool, PathError>,
    ) -> Result<SourceOutcome, PathError>;
}

/// A request of a source.
#[derive(Clone, Debug)]
pub struct SourceRequest<'request> {
    /// Facts of the request for the model.
    pub facts: RequestFacts,
    /// Canonical form of the request.
    pub canonical: CanonicalRequest,
    /// The request as the source recorded it.
    pub record: RequestRecord<'request>,
}

/// A request as its source recorded it.
#[derive(Clone, Copy, Debug)]
pub enum RequestRecord<'request> {
    /// Joined events.
    Joined(&'request JoinedRequest),
    /// A tree of steps.
    Steps(&'request Request),
}

/// Results after all requests were read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SourceOutcome {
    /// Counts of events by outcome; `None` if requests are not joined from events.
    pub join: Option<JoinCounts>,
    /// Counts of the events that could begin a request, by outcome; `None` if requests are not
    /// joined from events.
    pub beginning: Option<SeedCounts>,
    /// Processor time, and the part of it that was charged to requests; `None` if it is not known.
    pub processor: Option<ProcessorTime>,
}
