//! Arena: things by number, whose places are used again.

/// Number that stands for none.
pub(crate) const NONE: u32 = u32::MAX;

/// Things by number, whose places are used again.
#[derive(Debug, Default)]
pub(crate) struct Arena<T> {
    things: Vec<T>,
    free: Vec<u32>,
}

impl<T: Copy + Default> Arena<T> {
    /// Puts a thing there; its number.
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

    /// Takes a thing away. Each number is given back once.
    pub(crate) fn remove(&mut self, number: u32) {
        self.free.push(number);
    }

    /// The thing of that number; an empty one where there is none.
    pub(crate) fn get(&self, number: u32) -> T {
        self.things.get(number as usize).copied().unwrap_or_default()
    }

    /// The thing of that number, to change it.
    pub(crate) fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        self.things.get_mut(number as usize)
    }

    /// Number of things.
    pub(crate) fn len(&self) -> usize {
        self.things.len() - self.free.len()
    }
}
