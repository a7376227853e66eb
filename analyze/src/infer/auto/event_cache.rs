//! Cache of values that are computed for states of requests at one event of the search. States are
//! numbered consecutively, and all entries expire with the next event. So a table indexed by state
//! that stores the event of each entry beats a map that has to be cleared.

/// Values computed for states at the current event.
#[derive(Debug)]
pub(super) struct EventCache<T> {
    /// Number of the current event.
    event: u32,
    /// For each state the event at which its value was computed, and the value.
    entries: Vec<(u32, Option<T>)>,
}

impl<T> Default for EventCache<T> {
    fn default() -> EventCache<T> {
        EventCache { event: 1, entries: Vec::new() }
    }
}

impl<T: Copy> EventCache<T> {
    /// Begins another event, which invalidates all entries.
    pub(super) fn clear(&mut self) {
        if self.event == u32::MAX {
            *self = EventCache::default();
        }
        self.event += 1;
    }

    /// The value of a state, if it was computed at the current event.
    pub(super) fn get(&self, state: u32) -> Option<T> {
        self.entries
            .get(state as usize)
            .filter(|(event, _)| *event == self.event)
            .and_then(|(_, found)| *found)
    }

    pub(super) fn set(&mut self, state: u32, found: T) {
        if self.entries.len() <= state as usize {
            self.entries.resize(state as usize + 1, (0, None));
        }
        self.entries[state as usize] = (self.event, Some(found));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cached_values_expire_with_the_event() {
        let mut found = EventCache::default();
        found.set(3, 'a');
        assert_eq!((found.get(3), found.get(2), found.get(9)), (Some('a'), None, None));
        found.clear();
        assert_eq!(found.get(3), None);
        found.set(0, 'b');
        assert_eq!((found.get(0), found.get(3)), (Some('b'), None));
    }
}
