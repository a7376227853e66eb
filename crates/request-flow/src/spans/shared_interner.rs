//! Interner of names shared by several threads. Each thread has a cache of its own, so that it
//! seldom takes the lock.

use std::sync::Mutex;

use out_of_core::workers::lock_mutex;
use rustc_hash::FxHashMap;

use out_of_core::{NameId, NameInterner};

/// Names of all threads.
#[derive(Debug, Default)]
pub(super) struct SharedInterner(Mutex<NameInterner>);

/// Names that one thread has used.
#[derive(Debug, Default)]
pub(super) struct InternerCache(FxHashMap<Box<str>, NameId>);

impl SharedInterner {
    /// Returns the number of `text`, from `cache` if possible.
    pub(super) fn intern(&self, text: &str, cache: &mut InternerCache) -> NameId {
        if text.is_empty() {
            return NameInterner::UNKNOWN;
        }
        if let Some(number) = cache.0.get(text) {
            return *number;
        }
        let number = lock_mutex(&self.0).intern(text);
        cache.0.insert(text.into(), number);
        number
    }

    /// Returns all names.
    pub(super) fn into_names(self) -> NameInterner {
        self.0.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
