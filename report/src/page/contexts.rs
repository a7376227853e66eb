//! The contexts of operations: as much of the profile of `contexts` as fits into a page. The page
//! shows how much of each part is left out.
//!
//! [`choice`] selects what is left out, [`shape`] and [`summary`] define the form of the rest, and
//! [`classes`] has the steps of the requests of trace-contexts.

mod choice;
mod classes;
mod commands;
mod shape;
mod summary;
#[cfg(test)]
mod tests;

use contexts::result::Profile;
use rustc_hash::{FxHashMap, FxHashSet};

pub use commands::MoreByCommand;

use crate::tuning::MAX_REQUEST_MESSAGES;
use shape::ContextsShape;
use summary::PathOfExample;

/// The relation of requests to path instances: by the number of the path, or by the number of the
/// path's first message.
#[derive(Clone, Debug)]
pub enum RequestsBy {
    /// Requests that were derived from paths.
    Path(FxHashMap<i64, i64>),
    /// Requests that paths were derived from.
    Message(FxHashMap<i64, i64>),
}

/// The contexts of a page, while the paths of its example requests are still being found.
#[derive(Debug)]
pub struct PageContexts {
    shape: ContextsShape,
    /// The paths of example requests, by the number of the request; `None` until they are seen.
    paths: FxHashMap<i64, Option<PathOfExample>>,
    requests: RequestsBy,
    /// Number of messages of paths that can still be kept for examples.
    room: usize,
}

impl PageContexts {
    /// The contexts of `profile`, without a relation of its requests to paths yet.
    pub fn from_profile(profile: &Profile, more: MoreByCommand) -> PageContexts {
        let shape = ContextsShape::from_profile(profile, more);
        let paths = shape.example_requests().map(|request| (request, None)).collect();
        let requests = RequestsBy::Path(FxHashMap::default());
        PageContexts { shape, paths, requests, room: MAX_REQUEST_MESSAGES }
    }

    /// The numbers of the example requests.
    pub fn example_requests(&self) -> FxHashSet<i64> {
        self.paths.keys().copied().collect()
    }

    /// Sets the relation of the example requests to paths.
    #[must_use]
    pub fn with_requests(self, requests: RequestsBy) -> PageContexts {
        PageContexts { requests, ..self }
    }

    /// Records that the path with the first message `root` belongs to the call pattern `pattern`,
    /// which the page has. Returns whether the page keeps the path as an example of the pattern:
    /// there is room for its messages. Of several paths of one request, the first counts.
    pub(super) fn record_path(
        &mut self,
        path: i64,
        root: i64,
        pattern: i64,
        messages: usize,
    ) -> bool {
        let request = match &self.requests {
            RequestsBy::Path(requests) => requests.get(&path),
            RequestsBy::Message(requests) => requests.get(&root),
        };
        let known = request.and_then(|request| self.paths.get_mut(request));
        let Some(known @ None) = known else { return false };
        *known = Some(PathOfExample { path, pattern });
        let left = self.room.checked_sub(messages);
        self.room = left.unwrap_or(self.room);
        left.is_some()
    }

    /// The contexts as JSON.
    ///
    /// # Errors
    /// When a value has no form in JSON. No value here is of that kind.
    pub(super) fn into_json(mut self) -> serde_json::Result<Vec<u8>> {
        self.shape.name_paths(&self.paths);
        serde_json::to_vec(&self.shape)
    }
}
