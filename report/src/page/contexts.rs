//! The contexts of operations: the profile of `contexts`, as much of it as a page has room for. The
//! page says of everything that is left out how much it is.
//!
//! [`chosen`] says what is left out, [`shape`] and [`summary`] how the rest is written, and
//! [`classes`] what the requests of a trace-context do.

mod chosen;
mod classes;
mod commands;
mod shape;
mod summary;
#[cfg(test)]
mod tests;

use contexts::result::Profile;
use rustc_hash::FxHashMap;

pub use commands::MoreByCommand;

use crate::tuning::MAX_REQUEST_MESSAGES;
use shape::Shape;

/// The contexts of a page, while it is found out which paths its examples of requests are.
#[derive(Debug)]
pub struct PageContexts {
    shape: Shape,
    /// By the number of a path that an example is: the number of its pattern, once it was seen.
    patterns: FxHashMap<i64, Option<i64>>,
    /// Number of messages of paths that are still kept for the sake of examples.
    room: usize,
}

impl PageContexts {
    /// The contexts of `profile`. A request of it has the number of its path, as it has where
    /// requests were made of paths.
    pub fn of(profile: &Profile, more: MoreByCommand) -> PageContexts {
        let shape = Shape::of(profile, more);
        let patterns = shape.requests().map(|request| (request, None)).collect();
        PageContexts { shape, patterns, room: MAX_REQUEST_MESSAGES }
    }

    /// Takes down that the path is of that pattern, which the page has. Whether it is an example
    /// that the page shall keep, as there is room for its messages.
    pub(super) fn saw(&mut self, path: i64, pattern: i64, messages: usize) -> bool {
        let Some(known) = self.patterns.get_mut(&path) else { return false };
        *known = Some(pattern);
        let left = self.room.checked_sub(messages);
        self.room = left.unwrap_or(self.room);
        left.is_some()
    }

    /// The contexts as JSON.
    ///
    /// # Errors
    /// When a value has no form in JSON. None here is such a value.
    pub(super) fn json(mut self) -> serde_json::Result<Vec<u8>> {
        self.shape.name_patterns(&self.patterns);
        serde_json::to_vec(&self.shape)
    }
}
