//! The contexts of operations: the profile of `contexts`, as much of it as a page has room for. The
//! page says of everything that is left out how much it is.
//!
//! [`choice`] says what is left out, [`shape`] and [`summary`] how the rest is written, and
//! [`classes`] what the requests of a trace-context do.

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

/// What tells which request a path instance is: its number by that of the path, or by that of the
/// path's first message.
#[derive(Clone, Debug)]
pub enum RequestsBy {
    /// Requests that were made of paths.
    Path(FxHashMap<i64, i64>),
    /// Requests that paths were made of.
    Message(FxHashMap<i64, i64>),
}

/// The contexts of a page, while it is found out which paths its examples of requests are.
#[derive(Debug)]
pub struct PageContexts {
    shape: ContextsShape,
    /// By the number of a request that is an example: its path, once that was seen.
    paths: FxHashMap<i64, Option<PathOfExample>>,
    requests: RequestsBy,
    /// Number of messages of paths that are still kept for the sake of examples.
    room: usize,
}

impl PageContexts {
    /// The contexts of `profile`, whose requests are known by nothing yet.
    pub fn from_profile(profile: &Profile, more: MoreByCommand) -> PageContexts {
        let shape = ContextsShape::from_profile(profile, more);
        let paths = shape.example_requests().map(|request| (request, None)).collect();
        let requests = RequestsBy::Path(FxHashMap::default());
        PageContexts { shape, paths, requests, room: MAX_REQUEST_MESSAGES }
    }

    /// The numbers of the requests that are examples.
    pub fn example_requests(&self) -> FxHashSet<i64> {
        self.paths.keys().copied().collect()
    }

    /// The same with what the requests that are examples are known by.
    #[must_use]
    pub fn with_requests(self, requests: RequestsBy) -> PageContexts {
        PageContexts { requests, ..self }
    }

    /// Takes down that the path whose first message is `root` is of that pattern, which the page
    /// has. Whether it is an example that the page shall keep, as there is room for its messages.
    /// Of several paths of one request the first counts.
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
    /// When a value has no form in JSON. None here is such a value.
    pub(super) fn into_json(mut self) -> serde_json::Result<Vec<u8>> {
        self.shape.name_paths(&self.paths);
        serde_json::to_vec(&self.shape)
    }
}
