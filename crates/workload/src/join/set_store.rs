//! Store of sets: live sectors, the sets that they belong to, and the events of sets (Magpie,
//! section 3.4, Figure 7).

use events::Event;
use out_of_core::NameId;
use rustc_hash::FxHashMap;

use crate::accounting::{PendingUsage, ThreadAccounts};
use crate::demands::{Demands, WaitTimes};
use crate::join::ages::{AgeLink, AgeLists, AgeNode, SetAge};
use crate::join::arena::{Arena, NONE};

/// A live sector: the current valid-interval of a value of a join attribute.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LiveSector {
    /// Value that the sector belongs to.
    pub handle: ValueHandle,
    /// The set that the sector belongs to.
    pub set: u32,
    /// The previous sector in the list of its set, or [`NONE`].
    before: u32,
    /// The next sector in the list of its set, or [`NONE`].
    after: u32,
}

/// A join attribute and its value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ValueHandle {
    /// The join attribute.
    pub attribute: u16,
    /// Attribute, host and values as 64 bits.
    pub key: u64,
    /// Number of the thread, if the attribute is `thread`; otherwise [`NONE`].
    pub thread: u32,
}

/// The events that are joined so far: a request once one of them is a seed event, which begins a
/// request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EventSet {
    /// First event of the set's list.
    pub first: u32,
    last: u32,
    /// Number of the set's events.
    pub events: u32,
    /// First of the set's live sectors, which are a list.
    sectors: u32,
    /// Number of the live sectors.
    live_sectors: u32,
    /// Number of the set's seed events.
    pub seeds: u32,
    /// Order number and kind of the first seed event.
    pub seed: (u64, NameId),
    /// Order number of the first event that names the request, and the name.
    pub name: (u64, NameId),
    /// Whether the set contains an event that may be its last one.
    pub complete: bool,
    /// First of the set's [touches](SyncTouch), which are a list.
    pub touches: u32,
    last_touch: u32,
    /// Position of the set in the list of its age.
    link: AgeLink,
}

impl Default for EventSet {
    fn default() -> EventSet {
        EventSet {
            first: NONE,
            last: NONE,
            events: 0,
            sectors: NONE,
            live_sectors: 0,
            seeds: 0,
            seed: (u64::MAX, NameId::default()),
            name: (u64::MAX, NameId::default()),
            complete: false,
            touches: NONE,
            last_touch: NONE,
            link: AgeLink::default(),
        }
    }
}

/// An event of a set.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct EventNode {
    pub event: Event,
    /// Order number of the join, which increases.
    pub order: u64,
    /// The next event of the same set.
    pub next: u32,
    /// Whether the event blocks.
    pub is_wait: bool,
    /// Whether the event ends an interrupt and has the interrupt's processor time.
    pub is_interrupt: bool,
    /// Processor time since the previous event of the same thread, in nanoseconds.
    pub processor_ns: i64,
    /// Index of the event's [`EventExtras`], or [`NONE`].
    pub extras: u32,
}

/// Classification of an [`EventNode`].
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct EventOrigin {
    pub is_wait: bool,
    pub is_interrupt: bool,
}

/// Data that only a few events have.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct EventExtras {
    pub demands: Demands,
    pub waits: WaitTimes,
}

/// A touch: a record that an event has a value by which threads synchronise (SYNC in a schema).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SyncTouch {
    pub attribute: u16,
    pub key: u64,
    /// The event's order number.
    pub order: u64,
    pub next: u32,
}

/// Live sectors, sets and events.
#[derive(Debug, Default)]
pub(crate) struct SetStore {
    pub sectors: Arena<LiveSector>,
    pub sets: Arena<EventSet>,
    pub nodes: Arena<EventNode>,
    pub extras: Arena<EventExtras>,
    pub touches: Arena<SyncTouch>,
    /// Live sector by [`ValueHandle::key`], for attributes other than `thread`.
    sector_by_key: FxHashMap<u64, u32>,
    ages: AgeLists,
    /// Order number of the last added event.
    last_order: u64,
}

impl SetStore {
    /// The live sector of a value; `None` if there is none.
    pub(crate) fn find_sector(&self, handle: ValueHandle, threads: &ThreadAccounts) -> Option<u32> {
        if handle.thread == NONE {
            return self.sector_by_key.get(&handle.key).copied();
        }
        threads.get(handle.thread).map(|thread| thread.sector).filter(|sector| *sector != NONE)
    }

    /// Opens a sector in a set. The value must not have one.
    pub(crate) fn open_sector(
        &mut self,
        handle: ValueHandle,
        set: u32,
        threads: &mut ThreadAccounts,
        now: i64,
    ) {
        let Some(of) = self.sets.get_mut(set) else { return };
        let after = of.sectors;
        let sector = self.sectors.add(LiveSector { handle, set, before: NONE, after });
        (of.sectors, of.live_sectors) = (sector, of.live_sectors + 1);
        if let Some(after) = self.sectors.get_mut(after) {
            after.before = sector;
        }
        match threads.get_mut(handle.thread) {
            Some(thread) => {
                thread.account_until(now);
                thread.sector = sector;
            }
            None => {
                self.sector_by_key.insert(handle.key, sector);
            }
        }
    }

    /// Closes a sector at the time `now`. If it is a thread's and the thread has usage that no
    /// event was charged with, an event of the kind `leave` is added for it. Returns the set of the
    /// sector, and whether the set has no live sector left.
    pub(crate) fn close_sector(
        &mut self,
        sector: u32,
        threads: &mut ThreadAccounts,
        now: i64,
        leave: NameId,
    ) -> (u32, bool) {
        let LiveSector { handle, set, before, after } = self.sectors.get(sector);
        match threads.get_mut(handle.thread) {
            Some(thread) => {
                thread.account_until(now);
                let pending = thread.take_pending();
                thread.sector = NONE;
                let event = Event {
                    time: now,
                    kind: leave,
                    host: thread.host,
                    processor: Event::NO_PROCESSOR,
                    process: thread.process,
                    thread: thread.id,
                };
                if pending != PendingUsage::default() {
                    self.append_event(
                        set,
                        event,
                        Demands::default(),
                        pending,
                        EventOrigin::default(),
                    );
                }
            }
            None => {
                self.sector_by_key.remove(&handle.key);
            }
        }
        match self.sectors.get_mut(before) {
            Some(before) => before.after = after,
            None => {
                if let Some(set) = self.sets.get_mut(set) {
                    set.sectors = after;
                }
            }
        }
        if let Some(after) = self.sectors.get_mut(after) {
            after.before = before;
        }
        self.sectors.remove(sector);
        let Some(of) = self.sets.get_mut(set) else { return (set, false) };
        of.live_sectors -= 1;
        (set, of.live_sectors == 0)
    }

    /// Makes a new set, and returns its number.
    pub(crate) fn new_set(&mut self, now: i64) -> u32 {
        let set = self.sets.add(EventSet::default());
        self.ages.add_new(&mut self.sets, set, now);
        set
    }

    /// Whether a set has no live sector.
    pub(crate) fn is_closed(&self, set: u32) -> bool {
        self.sets.get(set).live_sectors == 0
    }

    /// Iterates over the live sectors of a set: returns the first, or the one after `sector`.
    pub(crate) fn next_sector(&self, set: u32, sector: Option<u32>) -> Option<u32> {
        let next = match sector {
            None => self.sets.get(set).sectors,
            Some(sector) => self.sectors.get(sector).after,
        };
        (next != NONE).then_some(next)
    }

    /// Merges two sets, and returns the remaining one.
    pub(crate) fn merge_sets(&mut self, one: u32, other: u32) -> u32 {
        if one == other {
            return one;
        }
        let (stays, goes) = if self.sets.get(one).live_sectors >= self.sets.get(other).live_sectors
        {
            (one, other)
        } else {
            (other, one)
        };
        let gone = self.sets.get(goes);
        self.ages.remove(&mut self.sets, goes);
        let (mut sector, mut last) = (gone.sectors, NONE);
        while let Some(of) = self.sectors.get_mut(sector) {
            of.set = stays;
            (last, sector) = (sector, of.after);
        }
        let mut set = self.sets.get(stays);
        if let Some(of) = self.sectors.get_mut(last) {
            of.after = set.sectors;
            if let Some(of) = self.sectors.get_mut(set.sectors) {
                of.before = last;
            }
            set.sectors = gone.sectors;
        }
        match self.nodes.get_mut(set.last) {
            Some(node) => node.next = gone.first,
            None => set.first = gone.first,
        }
        if gone.last != NONE {
            set.last = gone.last;
        }
        match self.touches.get_mut(set.last_touch) {
            Some(touch) => touch.next = gone.touches,
            None => set.touches = gone.touches,
        }
        if gone.last_touch != NONE {
            set.last_touch = gone.last_touch;
        }
        (set.seed, set.name) = (set.seed.min(gone.seed), set.name.min(gone.name));
        set.seeds += gone.seeds;
        set.events += gone.events;
        set.live_sectors += gone.live_sectors;
        set.complete |= gone.complete;
        if let Some(place) = self.sets.get_mut(stays) {
            *place = set;
        }
        self.sets.remove(goes);
        stays
    }

    /// Appends an event to a set, and returns its order number.
    pub(crate) fn append_event(
        &mut self,
        set: u32,
        event: Event,
        demands: Demands,
        pending: PendingUsage,
        what: EventOrigin,
    ) -> u64 {
        self.last_order += 1;
        let extras = EventExtras { demands, waits: pending.waits };
        let extras = if extras == EventExtras::default() { NONE } else { self.extras.add(extras) };
        let processor_ns = pending.processor_ns;
        let order = self.last_order;
        let EventOrigin { is_wait, is_interrupt } = what;
        let node =
            EventNode { event, order, next: NONE, is_wait, is_interrupt, processor_ns, extras };
        let node = self.nodes.add(node);
        let Some(of) = self.sets.get_mut(set) else { return order };
        of.events += 1;
        match self.nodes.get_mut(of.last) {
            Some(last) => last.next = node,
            None => of.first = node,
        }
        of.last = node;
        order
    }

    /// Records that the event with the order number `order` has a value of a join attribute.
    pub(crate) fn touch_value(&mut self, set: u32, attribute: u16, key: u64, order: u64) {
        let touch = self.touches.add(SyncTouch { attribute, key, order, next: NONE });
        let Some(of) = self.sets.get_mut(set) else { return };
        match self.touches.get_mut(of.last_touch) {
            Some(last) => last.next = touch,
            None => of.touches = touch,
        }
        of.last_touch = touch;
    }

    /// Records a use of a set at `now`, which may change its age.
    pub(crate) fn record_use(&mut self, set: u32, now: i64) {
        let of = self.sets.get(set);
        self.ages.record_use(&mut self.sets, set, age_of(&of), now);
    }

    /// The set of this age that was unused for the longest time, and the time of its last use.
    pub(crate) fn find_oldest(&self, age: SetAge) -> Option<(u32, i64)> {
        self.ages.find_oldest(&self.sets, age)
    }

    /// Removes the events of a set.
    pub(crate) fn clear_events(&mut self, set: u32) {
        let Some(of) = self.sets.get_mut(set) else { return };
        let (mut node, mut touch) = (of.first, of.touches);
        (of.first, of.last, of.touches, of.last_touch, of.events) = (NONE, NONE, NONE, NONE, 0);
        while node != NONE {
            let EventNode { next, extras, .. } = self.nodes.get(node);
            if extras != NONE {
                self.extras.remove(extras);
            }
            self.nodes.remove(node);
            node = next;
        }
        while touch != NONE {
            let next = self.touches.get(touch).next;
            self.touches.remove(touch);
            touch = next;
        }
    }

    /// Removes a set without live sectors.
    pub(crate) fn remove_set(&mut self, set: u32) {
        self.clear_events(set);
        self.ages.remove(&mut self.sets, set);
        self.sets.remove(set);
    }
}

impl AgeNode for EventSet {
    fn age_link(&mut self) -> &mut AgeLink {
        &mut self.link
    }
}

fn age_of(set: &EventSet) -> SetAge {
    match set {
        EventSet { seeds: 0, .. } => SetAge::Unseeded,
        EventSet { complete: false, .. } => SetAge::Seeded,
        _ => SetAge::Complete,
    }
}
