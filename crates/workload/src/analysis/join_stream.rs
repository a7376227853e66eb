//! Stream of joined requests: batches of events in, requests in their canonical form out.

use events::EventBatch;
use out_of_core::{NameId, NameInterner};

use crate::analysis::processor_time::ProcessorTime;
use crate::analysis::request_source::{RequestRecord, SourceOutcome, SourceRequest};
use crate::canonical::{CanonicalRequest, canonicalize_recorded};
use crate::clusters::RequestFacts;
use crate::demands::WaitTimes;
use crate::join::{JoinOptions, TemporalJoin};
use crate::joined_request::JoinedRequest;
use crate::schema::{EventSchema, SchemaError};

/// A join that yields requests in their canonical form.
#[derive(Debug)]
pub struct JoinStream {
    join: TemporalJoin,
    emitted: Vec<JoinedRequest>,
    /// Role of all threads except the thread with the seed event.
    other_role: NameId,
}

/// Name of the role of all threads except the thread with the seed event.
const ANOTHER_THREAD: &str = "another thread";

impl JoinStream {
    /// A join by `schema`. The batches that are pushed must have their names in `names`.
    ///
    /// # Errors
    /// The part of the schema that exceeds the bounds of the join, with its line.
    pub fn new(
        schema: &EventSchema,
        options: JoinOptions,
        names: &mut NameInterner,
    ) -> Result<JoinStream, SchemaError> {
        let other_role = names.intern(ANOTHER_THREAD);
        Ok(JoinStream {
            join: TemporalJoin::new(schema, options, names)?,
            emitted: Vec::new(),
            other_role,
        })
    }

    /// Adds the events of a batch, and passes the completed requests to `each`. Returns `false` if
    /// `each` wants no more.
    ///
    /// # Errors
    /// Those of `each`.
    pub fn push_batch<E>(
        &mut self,
        batch: &EventBatch,
        names: &mut NameInterner,
        each: &mut dyn FnMut(&SourceRequest<'_>, &NameInterner) -> Result<bool, E>,
    ) -> Result<bool, E> {
        let emitted = &mut self.emitted;
        self.join.push_batch(batch, names, &mut |request| emitted.push(request));
        self.emit_joined(names, each)
    }

    /// Passes the remaining open requests to `each` at the end of the stream. Returns `false` if
    /// `each` wants no more.
    ///
    /// # Errors
    /// Those of `each`.
    pub fn finish<E>(
        &mut self,
        names: &NameInterner,
        each: &mut dyn FnMut(&SourceRequest<'_>, &NameInterner) -> Result<bool, E>,
    ) -> Result<bool, E> {
        let emitted = &mut self.emitted;
        self.join.finish(&mut |request| emitted.push(request));
        self.emit_joined(names, each)
    }

    /// Counts of the join so far.
    pub fn outcome(&self) -> SourceOutcome {
        let charged = self.join.charged_share();
        let processor = (charged.all_ns > 0).then_some(ProcessorTime {
            charged_ns: charged.requests_ns,
            relevant_ns: charged.relevant_ns,
            all_ns: Some(charged.all_ns),
        });
        let beginning = Some(self.join.seed_counts());
        SourceOutcome { join: Some(self.join.join_counts()), beginning, processor }
    }

    fn emit_joined<E>(
        &mut self,
        names: &NameInterner,
        each: &mut dyn FnMut(&SourceRequest<'_>, &NameInterner) -> Result<bool, E>,
    ) -> Result<bool, E> {
        for request in self.emitted.drain(..) {
            let facts = facts_of_request(&request);
            let canonical = canonical_form(&request, self.other_role);
            if !each(
                &SourceRequest { facts, canonical, record: RequestRecord::Joined(&request) },
                names,
            )? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// The canonical form of a request. The event with which another thread of a pool takes up work is
/// random, so its role does not depend on that event.
fn canonical_form(request: &JoinedRequest, other_role: NameId) -> CanonicalRequest {
    let seed = thread_of_seed(request);
    canonicalize_recorded(request, |event| match Some((event.host, event.thread)) == seed {
        true => request.seed,
        false => other_role,
    })
}

/// Host and thread of the seed event.
fn thread_of_seed(request: &JoinedRequest) -> Option<(NameId, i32)> {
    let seed = request.events.iter().find(|event| event.kind == request.seed);
    seed.map(|event| (event.host, event.thread))
}

/// Facts of a joined request for the model.
fn facts_of_request(request: &JoinedRequest) -> RequestFacts {
    let mut waits = WaitTimes::default();
    request.events.iter().for_each(|event| waits += event.waits);
    // The request begins with the first event of the thread that received it. Events of a worker
    // thread may be older: its part of the request reaches back to its previous response.
    let of_seed = thread_of_seed(request);
    let mut own = request.events.iter().filter(|event| Some((event.host, event.thread)) == of_seed);
    RequestFacts {
        number: request.number,
        name: request.name,
        begin: own.next().or(request.events.first()).map_or(0, |event| event.time),
        end: request.events.last().map_or(0, |event| event.time),
        demands: request.demands,
        waits,
    }
}
