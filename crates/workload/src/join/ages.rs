//! Ages: sets in the order of their last use, so that the oldest is found at once.

use crate::join::arena::{Arena, NONE};

/// What kind of sets are compared by age.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Age {
    /// They have no seed.
    #[default]
    Unseeded,
    /// Requests.
    Seeded,
    /// Requests that may be over.
    Complete,
}

/// Place of a set among the others of its age.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    age: Age,
    older: u32,
    newer: u32,
    /// When it was last used.
    used: i64,
}

impl Default for Link {
    fn default() -> Link {
        Link { age: Age::Unseeded, older: NONE, newer: NONE, used: 0 }
    }
}

/// What has a place among others.
pub(crate) trait Aged: Copy + Default {
    /// Its place.
    fn link(&mut self) -> &mut Link;
}

/// The oldest and the newest of each age.
#[derive(Debug)]
pub(crate) struct Ages {
    ends: [(u32, u32); 3],
}

impl Default for Ages {
    fn default() -> Ages {
        Ages { ends: [(NONE, NONE); 3] }
    }
}

impl Ages {
    /// A new one without a seed.
    pub(crate) fn add<T: Aged>(&mut self, arena: &mut Arena<T>, number: u32, now: i64) {
        self.append(arena, number, Age::Unseeded, now);
    }

    /// It was used, and is of that age now.
    pub(crate) fn used<T: Aged>(&mut self, arena: &mut Arena<T>, number: u32, age: Age, now: i64) {
        let newest = self.ends(age).1;
        match arena.get_mut(number).map(Aged::link) {
            Some(link) if newest == number => link.used = now,
            _ => {
                self.remove(arena, number);
                self.append(arena, number, age, now);
            }
        }
    }

    /// It is taken away.
    pub(crate) fn remove<T: Aged>(&mut self, arena: &mut Arena<T>, number: u32) {
        let Some(Link { age, older, newer, .. }) = arena.get_mut(number).map(|of| *of.link())
        else {
            return;
        };
        match arena.get_mut(older) {
            Some(of) => of.link().newer = newer,
            None => self.ends(age).0 = newer,
        }
        match arena.get_mut(newer) {
            Some(of) => of.link().older = older,
            None => self.ends(age).1 = older,
        }
    }

    /// The one of that age that was unused for the longest time, and since when.
    pub(crate) fn oldest<T: Aged>(&self, arena: &Arena<T>, age: Age) -> Option<(u32, i64)> {
        let number = self.ends[age as usize].0;
        (number != NONE).then(|| (number, arena.get(number).link().used))
    }

    fn append<T: Aged>(&mut self, arena: &mut Arena<T>, number: u32, age: Age, now: i64) {
        let (_, newest) = *self.ends(age);
        if let Some(of) = arena.get_mut(number) {
            *of.link() = Link { age, older: newest, newer: NONE, used: now };
        }
        match arena.get_mut(newest) {
            Some(of) => of.link().newer = number,
            None => self.ends(age).0 = number,
        }
        self.ends(age).1 = number;
    }

    fn ends(&mut self, age: Age) -> &mut (u32, u32) {
        &mut self.ends[age as usize]
    }
}
