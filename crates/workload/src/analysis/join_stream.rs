//! Stream of joined requests: pieces of events in, requests in their canonical form out.

use events::Piece;
use out_of_core::{NameId, Names};

use crate::analysis::processor_time::ProcessorTime;
use crate::analysis::source::{Found, Outcome, Told};
use crate::canonical::{Canonical, of_recorded};
use crate::clusters::RequestFacts;
use crate::demands::Waits;
use crate::join::{Join, JoinOptions};
use crate::joined::JoinedRequest;
use crate::schema::{Schema, SchemaError};

/// A join whose requests come out in their canonical form.
#[derive(Debug)]
pub struct JoinStream {
    join: Join,
    emitted: Vec<JoinedRequest>,
    /// Role of all threads but the one with the seed event.
    another: NameId,
}

/// Name of that role.
const ANOTHER_THREAD: &str = "another thread";

impl JoinStream {
    /// A join by `schema`. `names` are those of the pieces that will come.
    ///
    /// # Errors
    /// What of the schema is beyond the bounds of the join, with its line.
    pub fn new(
        schema: &Schema,
        options: JoinOptions,
        names: &mut Names,
    ) -> Result<JoinStream, SchemaError> {
        let another = names.number(ANOTHER_THREAD);
        Ok(JoinStream { join: Join::new(schema, options, names)?, emitted: Vec::new(), another })
    }

    /// Takes the events of a piece, and gives the requests that are over to `each`. `false` where
    /// that wants no more.
    ///
    /// # Errors
    /// Those of `each`.
    pub fn push<E>(
        &mut self,
        piece: &Piece,
        names: &mut Names,
        each: &mut dyn FnMut(&Found<'_>, &Names) -> Result<bool, E>,
    ) -> Result<bool, E> {
        let emitted = &mut self.emitted;
        self.join.push(piece, names, &mut |request| emitted.push(request));
        self.give(names, each)
    }

    /// Gives the requests that are still open to `each`: nothing more comes.
    ///
    /// # Errors
    /// Those of `each`.
    pub fn finish<E>(
        &mut self,
        names: &Names,
        each: &mut dyn FnMut(&Found<'_>, &Names) -> Result<bool, E>,
    ) -> Result<bool, E> {
        let emitted = &mut self.emitted;
        self.join.finish(&mut |request| emitted.push(request));
        self.give(names, each)
    }

    /// What is known so far.
    pub fn outcome(&self) -> Outcome {
        let charged = self.join.charged();
        let processor = (charged.all_ns > 0).then_some(ProcessorTime {
            charged_ns: charged.requests_ns,
            relevant_ns: charged.relevant_ns,
            all_ns: Some(charged.all_ns),
        });
        let beginning = Some(self.join.beginning());
        Outcome { join: Some(self.join.counts()), beginning, processor }
    }

    fn give<E>(
        &mut self,
        names: &Names,
        each: &mut dyn FnMut(&Found<'_>, &Names) -> Result<bool, E>,
    ) -> Result<bool, E> {
        for request in self.emitted.drain(..) {
            let facts = facts(&request);
            let canonical = canonical(&request, self.another);
            if !each(&Found { facts, canonical, told: Told::Joined(&request) }, names)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// The canonical form of a request. With which event another thread of a pool takes something up is
/// chance, so that its role is not that event's.
fn canonical(request: &JoinedRequest, another: NameId) -> Canonical {
    let seed = thread_of_seed(request);
    of_recorded(request, |event| match Some((event.host, event.thread)) == seed {
        true => request.seed,
        false => another,
    })
}

/// Host and thread of the seed event.
fn thread_of_seed(request: &JoinedRequest) -> Option<(NameId, i32)> {
    let seed = request.events.iter().find(|event| event.kind == request.seed);
    seed.map(|event| (event.host, event.thread))
}

/// What the model needs of a joined request.
fn facts(request: &JoinedRequest) -> RequestFacts {
    let mut waits = Waits::default();
    request.events.iter().for_each(|event| waits += event.waits);
    // A worker's part may reach back to its last answer, which is before this request.
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
