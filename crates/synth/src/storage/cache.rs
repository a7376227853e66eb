//! A cache that evicts the least recently used key.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

/// A cache of keys.
#[derive(Debug, Default)]
pub(super) struct LruCache {
    /// Maximum number of keys.
    capacity: usize,
    /// The time of the last use of each key.
    last_use: FxHashMap<u64, u64>,
    /// All uses, the oldest first; uses of keys that were used again later are skipped.
    uses: VecDeque<(u64, u64)>,
    /// Number of uses so far, which serves as the time.
    now: u64,
}

impl LruCache {
    /// An empty cache with a capacity of `capacity` keys.
    pub(super) fn new(capacity: usize) -> LruCache {
        LruCache { capacity, ..LruCache::default() }
    }

    /// Marks a key as used last, caches it, and returns whether it was cached before.
    pub(super) fn use_key(&mut self, key: u64) -> bool {
        self.now += 1;
        let was_cached = self.last_use.insert(key, self.now).is_some();
        self.uses.push_back((key, self.now));
        while self.last_use.len() > self.capacity {
            let Some((key, time)) = self.uses.pop_front() else { break };
            if self.last_use.get(&key) == Some(&time) {
                self.last_use.remove(&key);
            }
        }
        while self.uses.front().is_some_and(|(key, time)| self.last_use.get(key) != Some(time)) {
            self.uses.pop_front();
        }
        was_cached
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_key_is_evicted() {
        let mut cache = LruCache::new(2);
        let hits: Vec<bool> = [1, 2, 1, 3, 1, 2, 3].map(|key| cache.use_key(key)).to_vec();
        assert_eq!(hits, [false, false, true, false, true, false, false]);
        assert_eq!(cache.last_use.len(), 2);
    }
}
