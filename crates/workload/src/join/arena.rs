//! Arena: items by number, with reuse of numbers.

/// Number that stands for no item.
pub(crate) const NONE: u32 = u32::MAX;

/// Items by number, with reuse of numbers.
#[derive(Debug, Default)]
pub(crate) struct Arena<T> {
    things: Vec<T>,
    free: Vec<u32>,
}

impl<T: Copy + Default> Arena<T> {
    /// Adds an item and returns its number.
    pub(crate) fn add(&mut self, thing: T) -> u32 {
        if let Some(number) = self.free.pop()
            && let Some(place) = self.things.get_mut(number as usize)
        {
            *place = thing;
            return number;
        }
        self.things.push(thing);
        (self.things.len() - 1) as u32
    }

    /// Removes an item. Each number must be given back only once.
    pub(crate) fn remove(&mut self, number: u32) {
        self.free.push(number);
    }

    /// The item with this number; a default item if there is none.
    pub(crate) fn get(&self, number: u32) -> T {
        self.things.get(number as usize).copied().unwrap_or_default()
    }

    /// The item with this number, to be changed.
    pub(crate) fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        self.things.get_mut(number as usize)
    }

    /// Number of items.
    pub(crate) fn len(&self) -> usize {
        self.things.len() - self.free.len()
    }
}
