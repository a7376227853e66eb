//! Flow numbers of one log, each mapped to an index.

use rustc_hash::FxHashMap;

use crate::indices::{OptionalIndex, TableIndex};
use crate::tuning::FLOW_TABLE_LIMIT;

/// Indices of a log's flow numbers. Numbers count up from 1, so a table finds most.
pub(crate) struct FlowPlaces<T> {
    table: Vec<OptionalIndex<T>>,
    /// Indices of numbers that were beyond the table when they came: a damaged record may contain
    /// any number.
    others: FxHashMap<u32, T>,
    /// Number of flow numbers with an index.
    count: u32,
}

impl<T> Default for FlowPlaces<T> {
    fn default() -> FlowPlaces<T> {
        FlowPlaces { table: Vec::new(), others: FxHashMap::default(), count: 0 }
    }
}

impl<T: TableIndex> FlowPlaces<T> {
    /// The index of `number`; if the number has no index yet, `new` provides it.
    #[inline]
    pub(crate) fn get_or_insert(&mut self, number: u32, new: impl FnOnce() -> T) -> T {
        if let Some(place) = self.get(number) {
            return place;
        }
        let place = new();
        self.count = self.count.saturating_add(1);
        let at = number as usize;
        if number >= FLOW_TABLE_LIMIT.max(self.count.saturating_mul(2)) {
            self.others.insert(number, place);
            return place;
        }
        if at >= self.table.len() {
            self.table.resize(at + 1, OptionalIndex::NONE);
        }
        self.table[at] = OptionalIndex::some(place);
        place
    }

    /// The index of `number`; `None` if the number has no index.
    #[inline]
    pub(crate) fn get(&self, number: u32) -> Option<T> {
        match self.table.get(number as usize).and_then(|place| place.get()) {
            Some(place) => Some(place),
            None if self.others.is_empty() => None,
            None => self.others.get(&number).copied(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_has_an_index() {
        let mut places = FlowPlaces::<u32>::default();
        assert_eq!(places.get_or_insert(7, || 1), 1);
        assert_eq!(places.get_or_insert(7, || 2), 1);
        assert_eq!(places.get_or_insert(u32::MAX, || 3), 3);
        assert_eq!((places.get(7), places.get(6), places.get(u32::MAX)), (Some(1), None, Some(3)));
        assert_eq!((places.get(8), places.get(u32::MAX - 1)), (None, None));
    }

    #[test]
    fn numbers_that_count_up_are_in_the_table() {
        let mut places = FlowPlaces::<u32>::default();
        assert_eq!(places.get_or_insert(FLOW_TABLE_LIMIT + 5, || 7), 7);
        for number in 0..FLOW_TABLE_LIMIT + 10 {
            let place = places.get_or_insert(number, || number + 100);
            assert_eq!(place, if number == FLOW_TABLE_LIMIT + 5 { 7 } else { number + 100 });
        }
        assert_eq!(
            (places.others.len(), places.get(FLOW_TABLE_LIMIT + 9)),
            (1, Some(FLOW_TABLE_LIMIT + 109))
        );
    }
}
