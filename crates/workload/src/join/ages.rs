//! Ages: sets in the order of their last use, so that the oldest is found immediately.

use crate::join::arena::{Arena, NONE};

/// Kind of an event set, within which sets are compared by age.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum SetAge {
    /// Sets without a seed.
    #[default]
    Unseeded,
    /// Sets with a seed: requests.
    Seeded,
    /// Requests that may have ended.
    Complete,
}

/// Position of a set in the list of its age.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AgeLink {
    age: SetAge,
    /// The next older item of the list, or [`NONE`].
    older: u32,
    /// The next newer item of the list, or [`NONE`].
    newer: u32,
    /// Time of the item's last use, in nanoseconds since the Unix epoch.
    used: i64,
}

impl Default for AgeLink {
    fn default() -> AgeLink {
        AgeLink { age: SetAge::Unseeded, older: NONE, newer: NONE, used: 0 }
    }
}

/// An item with a position in the list of an age.
pub(crate) trait AgeNode: Copy + Default {
    /// Position of the node in the list.
    fn age_link(&mut self) -> &mut AgeLink;
}

/// The oldest and the newest item of each age.
#[derive(Debug)]
pub(crate) struct AgeLists {
    /// Oldest and newest item, by age; [`NONE`] if the list is empty.
    ends: [(u32, u32); 3],
}

impl Default for AgeLists {
    fn default() -> AgeLists {
        AgeLists { ends: [(NONE, NONE); 3] }
    }
}

impl AgeLists {
    /// Adds a new item without a seed.
    pub(crate) fn add_new<T: AgeNode>(&mut self, arena: &mut Arena<T>, number: u32, now: i64) {
        self.append_newest(arena, number, SetAge::Unseeded, now);
    }

    /// Records a use of an item, which then belongs to the given age.
    pub(crate) fn record_use<T: AgeNode>(
        &mut self,
        arena: &mut Arena<T>,
        number: u32,
        age: SetAge,
        now: i64,
    ) {
        let newest = self.list_ends(age).1;
        match arena.get_mut(number).map(AgeNode::age_link) {
            Some(link) if newest == number => link.used = now,
            _ => {
                self.remove(arena, number);
                self.append_newest(arena, number, age, now);
            }
        }
    }

    /// Removes an item.
    pub(crate) fn remove<T: AgeNode>(&mut self, arena: &mut Arena<T>, number: u32) {
        let Some(AgeLink { age, older, newer, .. }) =
            arena.get_mut(number).map(|of| *of.age_link())
        else {
            return;
        };
        match arena.get_mut(older) {
            Some(of) => of.age_link().newer = newer,
            None => self.list_ends(age).0 = newer,
        }
        match arena.get_mut(newer) {
            Some(of) => of.age_link().older = older,
            None => self.list_ends(age).1 = older,
        }
    }

    /// The item of this age that was unused for the longest time, and the time of its last use.
    pub(crate) fn find_oldest<T: AgeNode>(
        &self,
        arena: &Arena<T>,
        age: SetAge,
    ) -> Option<(u32, i64)> {
        let number = self.ends[age as usize].0;
        (number != NONE).then(|| (number, arena.get(number).age_link().used))
    }

    fn append_newest<T: AgeNode>(
        &mut self,
        arena: &mut Arena<T>,
        number: u32,
        age: SetAge,
        now: i64,
    ) {
        let (_, newest) = *self.list_ends(age);
        if let Some(of) = arena.get_mut(number) {
            *of.age_link() = AgeLink { age, older: newest, newer: NONE, used: now };
        }
        match arena.get_mut(newest) {
            Some(of) => of.age_link().newer = number,
            None => self.list_ends(age).0 = number,
        }
        self.list_ends(age).1 = number;
    }

    fn list_ends(&mut self, age: SetAge) -> &mut (u32, u32) {
        &mut self.ends[age as usize]
    }
}
