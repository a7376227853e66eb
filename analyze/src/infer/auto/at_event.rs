//! Values found for states at one event of the search. States are numbered one after the other, and
//! all that is known of one is forgotten with the next event. So a table by number, with the event
//! in which each entry was made, beats a map that has to be emptied.

/// Values found for states at the present event: by state, with the number of the event at which
/// each was found.
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
    /// Begins another event.
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
    fn what_was_found_is_forgotten_with_the_event() {
        let mut found = EventCache::default();
        found.set(3, 'a');
        assert_eq!((found.get(3), found.get(2), found.get(9)), (Some('a'), None, None));
        found.clear();
        assert_eq!(found.get(3), None);
        found.set(0, 'b');
        assert_eq!((found.get(0), found.get(3)), (Some('b'), None));
    }
}
