//! Joining: the set of an event, and what it does to valid-intervals (Magpie, sections 3.2, 3.4).

use crate::accounting::Threads;
use crate::join::arena::NONE;
use crate::join::counts::StateCounts;
use crate::join::program::Program;
use crate::join::store::{Handle, Store};
use crate::schema::Mode;

/// What an event binds, with room that is used again for each event.
#[derive(Debug, Default)]
pub(crate) struct Joining {
    /// Values that the event binds, the strongest first.
    pub bounds: Vec<Bound>,
    /// Values whose intervals go on in the request that the event begins.
    carried: Vec<Handle>,
}

/// A value that an event binds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bound {
    /// The value.
    pub handle: Handle,
    /// What the event does to its interval.
    pub mode: Mode,
    /// Its live sector, or [`NONE`]; [`LEFT`] where it is left alone.
    pub sector: u32,
}

/// A sector that belongs to another request.
const LEFT: u32 = NONE - 1;

/// What the join works on.
pub(crate) struct Tables<'state> {
    pub program: &'state Program,
    pub store: &'state mut Store,
    pub threads: &'state mut Threads,
    /// Sets that were closed.
    pub closed: &'state mut Vec<u32>,
    pub counts: &'state mut StateCounts,
    /// Time of the event.
    pub now: i64,
}

impl Tables<'_> {
    fn find(&self, handle: Handle) -> Option<u32> {
        self.store.find(handle, self.threads)
    }

    fn set_of(&self, sector: u32) -> u32 {
        self.store.sectors.get(sector).set
    }

    fn has_seed(&self, set: u32) -> bool {
        self.store.sets.get(set).seeds > 0
    }

    /// Closes a sector; a set that has none any more is closed, unless it is `but`.
    fn close(&mut self, sector: u32, but: Option<u32>) {
        let leave = self.program.leave;
        let (set, is_closed) = self.store.close(sector, self.threads, self.now, leave);
        if is_closed && but != Some(set) {
            self.closed.push(set);
        }
    }
}

impl Joining {
    /// The set of an event; none where no live interval takes it.
    pub(crate) fn join(
        &mut self,
        tables: &mut Tables<'_>,
        affects: impl Iterator<Item = (u16, bool)>,
        is_seed: bool,
    ) -> Option<u32> {
        self.carry(tables, affects);
        let mut opens = !self.carried.is_empty() || is_seed;
        for bound in &mut self.bounds {
            bound.sector = tables.find(bound.handle).unwrap_or(NONE);
            opens |= matches!(bound.mode, Mode::Start | Mode::Basic);
        }
        let begins = self.end_what_starts(tables) && is_seed && tables.program.apart;
        let mut set = begins.then(|| tables.store.new_set(tables.now));
        let is_other =
            |bound: &&mut Bound| !matches!(bound.mode, Mode::Start | Mode::Claim | Mode::Note);
        for bound in self.bounds.iter_mut().filter(is_other) {
            if bound.sector != NONE {
                set = Some(joined(bound, set, is_seed, tables));
            }
        }
        let set = match set {
            None if !opens => return None,
            None => tables.store.new_set(tables.now),
            Some(set) => set,
        };
        Some(self.claimed(set, tables))
    }

    /// Closes the intervals of values that begin new ones, also for bounds of other modes that have
    /// the same value; whether there are such values.
    fn end_what_starts(&mut self, tables: &mut Tables<'_>) -> bool {
        let mut begins = false;
        for place in 0..self.bounds.len() {
            let Bound { mode, sector, .. } = self.bounds[place];
            if mode != Mode::Start {
                continue;
            }
            begins = true;
            if sector != NONE {
                tables.close(sector, None);
                let same = self.bounds.iter_mut().filter(|bound| bound.sector == sector);
                same.for_each(|bound| bound.sector = NONE);
            }
        }
        begins
    }

    /// Closes what goes on in the request that the event begins.
    fn carry(&mut self, tables: &mut Tables<'_>, affects: impl Iterator<Item = (u16, bool)>) {
        self.carried.clear();
        for (attribute, _) in affects.filter(|(_, starts)| *starts) {
            for bound in self.bounds.iter().filter(|bound| bound.mode != Mode::Note) {
                let Some(sector) = tables.find(bound.handle) else { continue };
                let set = tables.set_of(sector);
                let mut next = tables.store.next_sector(set, None);
                while let Some(sector) = next {
                    next = tables.store.next_sector(set, Some(sector));
                    let handle = tables.store.sectors.get(sector).handle;
                    let is_bound = self.bounds.iter().any(|bound| bound.handle == handle);
                    if handle.attribute == attribute && !is_bound {
                        self.carried.push(handle);
                        tables.close(sector, None);
                    }
                }
            }
        }
    }

    /// Takes the intervals that the event claims into its set.
    fn claimed(&mut self, mut set: u32, tables: &mut Tables<'_>) -> u32 {
        for bound in self.bounds.iter_mut().filter(|bound| bound.mode == Mode::Claim) {
            if bound.sector == NONE {
                continue;
            }
            let other = tables.set_of(bound.sector);
            if other == set || !tables.has_seed(other) {
                set = tables.store.merge(set, other);
            } else {
                bound.sector = LEFT;
            }
        }
        set
    }

    /// Opens and closes intervals once the event is in its set, with that number in order.
    pub(crate) fn settle(
        &mut self,
        tables: &mut Tables<'_>,
        affects: impl Iterator<Item = (u16, bool)>,
        set: u32,
        order: u64,
    ) {
        let by_sync = |attribute: u16| {
            tables.program.synchronizes.get(usize::from(attribute)).copied().unwrap_or(false)
        };
        for bound in self.bounds.iter().filter(|bound| bound.sector != LEFT) {
            let Bound { handle, mode, sector } = *bound;
            let opens = matches!(mode, Mode::Start | Mode::Basic | Mode::Claim);
            if sector == NONE && opens && tables.find(handle).is_none() {
                tables.store.open(handle, set, tables.threads, tables.now);
            }
            if by_sync(handle.attribute) && (sector != NONE || mode != Mode::Live) {
                tables.store.touch(set, handle.attribute, handle.key, order);
            }
        }
        for handle in self.carried.drain(..) {
            if tables.store.find(handle, tables.threads).is_none() {
                tables.store.open(handle, set, tables.threads, tables.now);
            }
        }
        tables.store.used(set, tables.now);
        for bound in self.bounds.iter().filter(|bound| bound.mode == Mode::Stop) {
            if let Some(sector) = tables.find(bound.handle) {
                tables.close(sector, Some(set));
            }
        }
        for (attribute, _) in affects.filter(|(_, starts)| !starts) {
            let mut next = tables.store.next_sector(set, None);
            while let Some(sector) = next {
                next = tables.store.next_sector(set, Some(sector));
                if tables.store.sectors.get(sector).handle.attribute == attribute {
                    tables.close(sector, Some(set));
                }
            }
        }
        if tables.store.is_closed(set) {
            tables.closed.push(set);
        }
    }
}

/// The event's set, with the one of a live sector. Where both have a seed and the schema keeps such
/// sets apart, the sector leaves its set, or is left alone.
fn joined(bound: &mut Bound, set: Option<u32>, is_seed: bool, tables: &mut Tables<'_>) -> u32 {
    let other = tables.set_of(bound.sector);
    let Some(set) = set else { return other };
    let conflict = tables.program.apart
        && set != other
        && (is_seed || tables.has_seed(set))
        && tables.has_seed(other);
    if !conflict {
        return tables.store.merge(set, other);
    }
    tables.counts.conflicts += 1;
    match bound.mode {
        Mode::Live => bound.sector = LEFT,
        _ => {
            tables.close(bound.sector, None);
            bound.sector = if bound.mode == Mode::Stop { LEFT } else { NONE };
        }
    }
    set
}
