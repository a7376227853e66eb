//! Arena: items by number, with reuse of numbers.

/// Number that stands for no item.
pub(crate) const NONE: u32 = u32::MAX;

/// Items by number, with reuse of numbers.
#[derive(Debug, Default)]
pub(crate) struct Arena<T> {
    items: Vec<T>,
    /// Numbers of removed items, which are given to new items.
    free: Vec<u32>,
}

impl<T: Copy + Default> Arena<T> {
    /// Adds an item and returns its number.
    pub(crate) fn add(&mut self, item: T) -> u32 {
        if let Some(number) = self.free.pop()
            && let Some(place) = self.items.get_mut(number as usize)
        {
            *place = item;
            return number;
        }
        self.items.push(item);
        (self.items.len() - 1) as u32
    }

    /// Removes an item. An item must be removed only once.
    pub(crate) fn remove(&mut self, number: u32) {
        self.free.push(number);
    }

    /// The item with this number; a default item if there is none.
    pub(crate) fn get(&self, number: u32) -> T {
        self.items.get(number as usize).copied().unwrap_or_default()
    }

    /// The item with this number, to be changed.
    pub(crate) fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        self.items.get_mut(number as usize)
    }

    /// Number of items.
    pub(crate) fn len(&self) -> usize {
        self.items.len() - self.free.len()
    }
}
