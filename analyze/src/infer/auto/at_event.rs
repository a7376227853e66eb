//! Cache of values of states at one event of the search. States are numbered consecutively, and all
//! entries expire with the next event. So a table indexed by state that stores the event of each
//! entry beats a map that has to be cleared.

/// Values computed for states at the current event: by state, with the number of the event at which
/// each was computed.
#[derive(Debug)]
pub(super) struct EventCache<T> {
    event: u32,
    of: Vec<(u32, Option<T>)>,
}

impl<T> Default for EventCache<T> {
    fn default() -> EventCache<T> {
        EventCache { event: 1, of: Vec::new() }
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

    pub(super) fn get(&self, state: u32) -> Option<T> {
        self.of
            .get(state as usize)
            .filter(|(event, _)| *event == self.event)
            .and_then(|(_, found)| *found)
    }

    pub(super) fn set(&mut self, state: u32, found: T) {
        if self.of.len() <= state as usize {
            self.of.resize(state as usize + 1, (0, None));
        }
        self.of[state as usize] = (self.event, Some(found));
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
