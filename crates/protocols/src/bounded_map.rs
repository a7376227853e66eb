//! Bounded map that keeps facts of earlier messages for later ones: the oldest entry is evicted
//! first.

use std::collections::VecDeque;

/// Small map that keeps the latest entries.
#[derive(Debug)]
pub(crate) struct BoundedMap<K, V> {
    entries: VecDeque<(K, V)>,
    capacity: usize,
}

impl<K: PartialEq, V> BoundedMap<K, V> {
    /// Creates a map for at most `room` values.
    pub(crate) fn new(room: usize) -> BoundedMap<K, V> {
        BoundedMap { entries: VecDeque::new(), capacity: room }
    }

    /// Inserts a value, in place of one with an equal key.
    pub(crate) fn insert(&mut self, key: K, value: V) {
        self.remove(&key);
        if self.entries.len() >= self.capacity {
            self.entries.pop_front();
        }
        self.entries.push_back((key, value));
    }

    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        self.entries.iter().find(|entry| entry.0 == *key).map(|entry| &entry.1)
    }

    pub(crate) fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.entries.iter_mut().find(|entry| entry.0 == *key).map(|entry| &mut entry.1)
    }

    pub(crate) fn remove(&mut self, key: &K) -> Option<V> {
        let position = self.entries.iter().position(|entry| entry.0 == *key)?;
        self.entries.remove(position).map(|entry| entry.1)
    }

    /// Key of the only entry; `None` if there are none or several.
    pub(crate) fn only_key(&self) -> Option<&K> {
        self.entries.front().filter(|_| self.entries.len() == 1).map(|entry| &entry.0)
    }

    /// Key of the latest entry.
    pub(crate) fn latest_key(&self) -> Option<&K> {
        self.entries.back().map(|entry| &entry.0)
    }

    /// Removes and returns all entries, the oldest first.
    pub(crate) fn drain_entries(&mut self) -> impl Iterator<Item = (K, V)> + '_ {
        self.entries.drain(..)
    }
}
