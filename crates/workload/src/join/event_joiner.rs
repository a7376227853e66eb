//! Joining: finds the set of an event, and updates valid-intervals (Magpie, sections 3.2, 3.4).

use crate::accounting::ThreadAccounts;
use crate::join::arena::NONE;
use crate::join::counts::StateCounts;
use crate::join::program::JoinProgram;
use crate::join::set_store::{SetStore, ValueHandle};
use crate::schema::BindMode;

/// Joins events: finds the set of an event by its bound values, in buffers that are reused. An
/// interval is the time in which a value belongs to one set; the store calls it a live sector.
#[derive(Debug, Default)]
pub(crate) struct EventJoiner {
    /// Bound values, the strongest first.
    pub bounds: Vec<BoundValue>,
    /// Values whose intervals continue in the request that the event begins (AFFECT START).
    carried: Vec<ValueHandle>,
}

/// A value that an event binds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BoundValue {
    /// The bound value.
    pub handle: ValueHandle,
    /// Effect of the event on the value's interval.
    pub mode: BindMode,
    /// Live sector of the value, [`NONE`] if there is none, or [`FOREIGN_SECTOR`].
    pub sector: u32,
}

/// Stands for a sector that belongs to another request, so that the event leaves it unchanged.
const FOREIGN_SECTOR: u32 = NONE - 1;

/// Tables of the join.
pub(crate) struct JoinTables<'state> {
    pub program: &'state JoinProgram,
    pub store: &'state mut SetStore,
    pub threads: &'state mut ThreadAccounts,
    /// Numbers of closed sets.
    pub closed: &'state mut Vec<u32>,
    pub counts: &'state mut StateCounts,
    /// Time of the event, in nanoseconds since the Unix epoch.
    pub now: i64,
}

impl JoinTables<'_> {
    fn find_sector(&self, handle: ValueHandle) -> Option<u32> {
        self.store.find_sector(handle, self.threads)
    }

    fn set_of(&self, sector: u32) -> u32 {
        self.store.sectors.get(sector).set
    }

    fn has_seed(&self, set: u32) -> bool {
        self.store.sets.get(set).seeds > 0
    }

    /// Closes a sector, and its set if the set has no sector left and is not `except`.
    fn close_sector(&mut self, sector: u32, except: Option<u32>) {
        let leave = self.program.leave;
        let (set, is_closed) = self.store.close_sector(sector, self.threads, self.now, leave);
        if is_closed && except != Some(set) {
            self.closed.push(set);
        }
    }
}

impl EventJoiner {
    /// The set of an event; `None` if no live interval matches the event and it opens none.
    /// `affects` are the AFFECT lines of the event: the join attribute, and whether intervals
    /// start.
    pub(crate) fn join_event(
        &mut self,
        tables: &mut JoinTables<'_>,
        affects: impl Iterator<Item = (u16, bool)>,
        is_seed: bool,
    ) -> Option<u32> {
        self.close_carried_intervals(tables, affects);
        let mut opens = !self.carried.is_empty() || is_seed;
        for bound in &mut self.bounds {
            bound.sector = tables.find_sector(bound.handle).unwrap_or(NONE);
            opens |= matches!(bound.mode, BindMode::Start | BindMode::Basic);
        }
        let begins = self.end_started_intervals(tables) && is_seed && tables.program.apart;
        let mut set = begins.then(|| tables.store.new_set(tables.now));
        let is_other = |bound: &&mut BoundValue| {
            !matches!(bound.mode, BindMode::Start | BindMode::Claim | BindMode::Note)
        };
        for bound in self.bounds.iter_mut().filter(is_other) {
            if bound.sector != NONE {
                set = Some(merge_bound_set(bound, set, is_seed, tables));
            }
        }
        let set = match set {
            None if !opens => return None,
            None => tables.store.new_set(tables.now),
            Some(set) => set,
        };
        Some(self.claim_intervals(set, tables))
    }

    /// Closes the intervals of values that the event binds with START, also for bindings of other
    /// modes with the same value. Returns whether there are such values.
    fn end_started_intervals(&mut self, tables: &mut JoinTables<'_>) -> bool {
        let mut begins = false;
        for place in 0..self.bounds.len() {
            let BoundValue { mode, sector, .. } = self.bounds[place];
            if mode != BindMode::Start {
                continue;
            }
            begins = true;
            if sector != NONE {
                tables.close_sector(sector, None);
                let same = self.bounds.iter_mut().filter(|bound| bound.sector == sector);
                same.for_each(|bound| bound.sector = NONE);
            }
        }
        begins
    }

    /// Closes the intervals that continue in the request that the event begins.
    fn close_carried_intervals(
        &mut self,
        tables: &mut JoinTables<'_>,
        affects: impl Iterator<Item = (u16, bool)>,
    ) {
        self.carried.clear();
        for (attribute, _) in affects.filter(|(_, starts)| *starts) {
            for bound in self.bounds.iter().filter(|bound| bound.mode != BindMode::Note) {
                let Some(sector) = tables.find_sector(bound.handle) else { continue };
                let set = tables.set_of(sector);
                let mut next = tables.store.next_sector(set, None);
                while let Some(sector) = next {
                    next = tables.store.next_sector(set, Some(sector));
                    let handle = tables.store.sectors.get(sector).handle;
                    let is_bound = self.bounds.iter().any(|bound| bound.handle == handle);
                    if handle.attribute == attribute && !is_bound {
                        self.carried.push(handle);
                        tables.close_sector(sector, None);
                    }
                }
            }
        }
    }

    /// Moves the intervals that the event claims (CLAIM) into its set, unless they belong to
    /// another request. Returns the number of the set after merges.
    fn claim_intervals(&mut self, mut set: u32, tables: &mut JoinTables<'_>) -> u32 {
        for bound in self.bounds.iter_mut().filter(|bound| bound.mode == BindMode::Claim) {
            if bound.sector == NONE {
                continue;
            }
            let other = tables.set_of(bound.sector);
            if other == set || !tables.has_seed(other) {
                set = tables.store.merge_sets(set, other);
            } else {
                bound.sector = FOREIGN_SECTOR;
            }
        }
        set
    }

    /// Opens and closes intervals after the event was added to its set with the order number
    /// `order`.
    pub(crate) fn apply_bindings(
        &mut self,
        tables: &mut JoinTables<'_>,
        affects: impl Iterator<Item = (u16, bool)>,
        set: u32,
        order: u64,
    ) {
        let by_sync = |attribute: u16| {
            tables.program.synchronizes.get(usize::from(attribute)).copied().unwrap_or(false)
        };
        for bound in self.bounds.iter().filter(|bound| bound.sector != FOREIGN_SECTOR) {
            let BoundValue { handle, mode, sector } = *bound;
            let opens = matches!(mode, BindMode::Start | BindMode::Basic | BindMode::Claim);
            if sector == NONE && opens && tables.find_sector(handle).is_none() {
                tables.store.open_sector(handle, set, tables.threads, tables.now);
            }
            if by_sync(handle.attribute) && (sector != NONE || mode != BindMode::Live) {
                tables.store.touch_value(set, handle.attribute, handle.key, order);
            }
        }
        for handle in self.carried.drain(..) {
            if tables.store.find_sector(handle, tables.threads).is_none() {
                tables.store.open_sector(handle, set, tables.threads, tables.now);
            }
        }
        tables.store.record_use(set, tables.now);
        for bound in self.bounds.iter().filter(|bound| bound.mode == BindMode::Stop) {
            if let Some(sector) = tables.find_sector(bound.handle) {
                tables.close_sector(sector, Some(set));
            }
        }
        for (attribute, _) in affects.filter(|(_, starts)| !starts) {
            let mut next = tables.store.next_sector(set, None);
            while let Some(sector) = next {
                next = tables.store.next_sector(set, Some(sector));
                if tables.store.sectors.get(sector).handle.attribute == attribute {
                    tables.close_sector(sector, Some(set));
                }
            }
        }
        if tables.store.is_closed(set) {
            tables.closed.push(set);
        }
    }
}

/// The event's set after merging it with the set of the live sector of `bound`. If both have a seed
/// and the schema keeps such sets apart, the sets are not merged: the sector is closed, or left
/// unchanged if the event only joins it (LIVE).
fn merge_bound_set(
    bound: &mut BoundValue,
    set: Option<u32>,
    is_seed: bool,
    tables: &mut JoinTables<'_>,
) -> u32 {
    let other = tables.set_of(bound.sector);
    let Some(set) = set else { return other };
    let conflict = tables.program.apart
        && set != other
        && (is_seed || tables.has_seed(set))
        && tables.has_seed(other);
    if !conflict {
        return tables.store.merge_sets(set, other);
    }
    tables.counts.conflicts += 1;
    match bound.mode {
        BindMode::Live => bound.sector = FOREIGN_SECTOR,
        _ => {
            tables.close_sector(bound.sector, None);
            bound.sector = if bound.mode == BindMode::Stop { FOREIGN_SECTOR } else { NONE };
        }
    }
    set
}
