//! Requests made by hand, in tables.

use std::path::Path;

use contexts::collect::CollectedContexts;
use contexts::identity::OperationIdentity;
use contexts::profile::{ProfileResult, profile_contexts};
use out_of_core::MemoryBudget;
use request_flow::tables::{ColumnSelection, RequestTables, RequestWriter};
use request_flow::{NameId, NameInterner, Request, Step};

/// A call: an operation at a node on a host, its own time, and sequential groups of concurrent
/// calls.
#[derive(Clone, Debug)]
pub(crate) struct CallSpec {
    pub(crate) node: String,
    pub(crate) operation: String,
    pub(crate) host: String,
    pub(crate) own: i64,
    pub(crate) groups: Vec<Vec<CallSpec>>,
}

/// A call of `operation` that makes these calls sequentially.
pub(crate) fn call(operation: &str, own: i64, calls: Vec<CallSpec>) -> CallSpec {
    let groups = calls.into_iter().map(|call| vec![call]).collect();
    let text = |text: &str| text.to_owned();
    CallSpec { node: text("n"), operation: text(operation), host: text("h"), own, groups }
}

impl CallSpec {
    pub(crate) fn on(self, host: &str) -> CallSpec {
        CallSpec { host: host.to_owned(), ..self }
    }

    /// Makes these calls concurrently, after the others.
    pub(crate) fn at_once(mut self, calls: Vec<CallSpec>) -> CallSpec {
        self.groups.push(calls);
        self
    }

    /// Adds its steps to a request, from `begin` on, and returns its end.
    fn add(
        &self,
        parent: Option<u32>,
        begin: i64,
        request: &mut Request,
        names: &mut NameInterner,
    ) -> i64 {
        let place = request.steps.len();
        let [node, operation, host] =
            [&self.node, &self.operation, &self.host].map(|name| names.intern(name));
        let step = Step { parent, host, begin: Some(begin), ..Step::new(node, operation) };
        request.push_step(step, []);
        let mut now = begin;
        for group in &self.groups {
            // They begin one after the other, and all end after the last has begun.
            let end = (0..)
                .zip(group)
                .map(|(number, call)| call.add(Some(place as u32), now + number, request, names));
            now = end.max().unwrap_or(now) + 1;
        }
        request.steps[place].end = Some(now + self.own);
        now + self.own
    }
}

/// Tables in a directory of their own.
pub(crate) struct RequestSet {
    pub(crate) names: NameInterner,
    pub(crate) requests: Vec<Request>,
}

impl RequestSet {
    pub(crate) fn new() -> RequestSet {
        RequestSet { names: NameInterner::default(), requests: Vec::new() }
    }

    /// Adds a request, and returns it for changes.
    pub(crate) fn add(&mut self, root: &CallSpec) -> &mut Request {
        let mut request = Request { probability: 1.0, ..Request::default() };
        root.add(None, 1_000_000 * self.requests.len() as i64, &mut request, &mut self.names);
        self.requests.push(request);
        self.requests.last_mut().unwrap()
    }

    pub(crate) fn name(&mut self, name: &str) -> NameId {
        self.names.intern(name)
    }

    fn write(&self, directory: &Path) -> RequestTables {
        let paths = ["requests.parquet", "steps.parquet"].map(|name| directory.join(name));
        let mut writer = RequestWriter::create(&paths[0], &paths[1]).unwrap();
        for request in &self.requests {
            writer.push_request(request.clone(), &self.names).unwrap();
        }
        writer.finish(&self.names).unwrap();
        RequestTables::open(
            &paths[0],
            &paths[1],
            ColumnSelection { hosts: true, ..ColumnSelection::default() },
        )
        .unwrap()
    }

    /// Profiles the requests with this memory for response times, and passes the results to `then`.
    pub(crate) fn with<T>(
        &self,
        by: OperationIdentity,
        memory: u64,
        then: impl FnOnce(&CollectedContexts<'_>, &ProfileResult) -> T,
    ) -> T {
        let directory = tempfile::tempdir().unwrap();
        let tables = self.write(directory.path());
        let budget = MemoryBudget::new(memory);
        let collected =
            CollectedContexts::read_requests(&tables, (by, None), &budget, directory.path(), &())
                .unwrap();
        let profiled = profile_contexts(&collected, &budget, &()).unwrap();
        then(&collected, &profiled)
    }

    pub(crate) fn profile(&self) -> contexts::result::Profile {
        self.with(OperationIdentity::Operation, u64::MAX, |_, profiled| profiled.profile.clone())
    }
}
