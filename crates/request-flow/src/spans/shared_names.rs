//! Names that several threads give numbers to. Each thread has a cache of its own, so that it
//! seldom asks.

use std::sync::Mutex;

use out_of_core::workers::lock;
use rustc_hash::FxHashMap;

use out_of_core::{NameId, Names};

/// Names of all threads.
#[derive(Debug, Default)]
pub(super) struct SharedNames(Mutex<Names>);

/// Names that one thread has met.
#[derive(Debug, Default)]
pub(super) struct NameCache(FxHashMap<Box<str>, NameId>);

impl SharedNames {
    /// The number of `text`, from `cache` if it is there.
    pub(super) fn number(&self, text: &str, cache: &mut NameCache) -> NameId {
        if text.is_empty() {
            return Names::UNKNOWN;
        }
        if let Some(number) = cache.0.get(text) {
            return *number;
        }
        let number = lock(&self.0).number(text);
        cache.0.insert(text.into(), number);
        number
    }

    /// All names.
    pub(super) fn into_names(self) -> Names {
        self.0.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
