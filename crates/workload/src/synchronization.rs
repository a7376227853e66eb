//! Synchronization: which event of a request signals and with which event another thread continues
//! (Magpie, section 3.5).

use out_of_core::{NameId, NameInterner};

use crate::joined_request::{JoinedEvent, SyncEdge};

/// A SYNC statement: source, join attribute, destination.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SyncStatement {
    /// Kind of the event that signals.
    pub source: NameId,
    /// The join attribute whose value both threads share.
    pub attribute: u16,
    /// Kind of the event with which the other thread continues; [`NameInterner::UNKNOWN`] for any.
    pub destination: NameId,
}

impl SyncStatement {
    /// Whether another thread continues with an event of this kind.
    fn is_resumed_by(&self, kind: NameId) -> bool {
        self.destination == NameInterner::UNKNOWN || self.destination == kind
    }
}

/// A record that an event of a request has a value of a join attribute that a SYNC statement uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TouchedAt {
    pub attribute: u16,
    pub key: u64,
    /// Index of the event in its request.
    pub place: u32,
}

/// The synchronisations of a request's events, in the order of their sources. `touched` is sorted.
pub(crate) fn find_syncs(
    statements: &[SyncStatement],
    events: &[JoinedEvent],
    touched: &[TouchedAt],
) -> Vec<SyncEdge> {
    let mut syncs = Vec::new();
    for (source, event) in (0..).zip(events) {
        for statement in statements.iter().filter(|statement| statement.source == event.kind) {
            let found = sync_destinations(statement, source, events, touched);
            syncs.extend(found.map(|destination| SyncEdge { source, destination }));
        }
    }
    syncs.sort_unstable_by_key(|sync| (sync.source, sync.destination));
    syncs.dedup();
    syncs
}

/// The events with which other threads continue after the event `source`: one for each value that
/// they share with it.
fn sync_destinations<'request>(
    statement: &'request SyncStatement,
    source: u32,
    events: &'request [JoinedEvent],
    touched: &'request [TouchedAt],
) -> impl Iterator<Item = u32> + 'request {
    let attribute = statement.attribute;
    let of = |place: u32| {
        let has = move |touch: &&TouchedAt| touch.attribute == attribute && touch.place == place;
        touched.iter().filter(has).map(|touch| touch.key)
    };
    let own: Vec<u64> = of(source).collect();
    let keys = if own.is_empty() { shared_values(attribute, source, events, touched) } else { own };
    keys.into_iter()
        .filter_map(move |key| find_destination(statement, key, source, events, touched))
}

/// Values of a join attribute of the nearest event of the same thread that has any: the last one
/// before `source`, otherwise the first one after it.
fn shared_values(
    attribute: u16,
    source: u32,
    events: &[JoinedEvent],
    touched: &[TouchedAt],
) -> Vec<u64> {
    let thread = thread_at(events, source);
    let on_thread = |touch: &&TouchedAt| {
        touch.attribute == attribute && thread_at(events, touch.place) == thread
    };
    let places = touched.iter().filter(on_thread).map(|touch| touch.place);
    let distance = |place: &u32| (*place > source, place.abs_diff(source));
    let Some(nearest) = places.min_by_key(distance) else { return Vec::new() };
    let at = |touch: &&TouchedAt| touch.attribute == attribute && touch.place == nearest;
    touched.iter().filter(at).map(|touch| touch.key).collect()
}

/// The event with which another thread that shares a value with `source` continues: the first event
/// of the statement's kind on the other thread.
fn find_destination(
    statement: &SyncStatement,
    key: u64,
    source: u32,
    events: &[JoinedEvent],
    touched: &[TouchedAt],
) -> Option<u32> {
    let thread = thread_at(events, source);
    let from = TouchedAt { attribute: statement.attribute, key, place: source + 1 };
    let begin = touched.partition_point(|touch| *touch < from);
    let same = |touch: &&TouchedAt| touch.attribute == from.attribute && touch.key == key;
    let shares = touched
        .get(begin..)
        .unwrap_or_default()
        .iter()
        .take_while(same)
        .find(|touch| thread_at(events, touch.place) != thread)?
        .place;
    let other = thread_at(events, shares);
    (source + 1..=shares).find(|place| {
        thread_at(events, *place) == other
            && events.get(*place as usize).is_some_and(|event| statement.is_resumed_by(event.kind))
    })
}

fn thread_at(events: &[JoinedEvent], place: u32) -> Option<(NameId, i32)> {
    events.get(place as usize).map(|event| (event.host, event.thread))
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATEMENT: SyncStatement = SyncStatement {
        source: NameId::from_index(1),
        attribute: 5,
        destination: NameId::from_index(2),
    };

    fn event(kind: usize, thread: i32) -> JoinedEvent {
        let kind = NameId::from_index(kind);
        JoinedEvent { kind, thread, ..JoinedEvent::default() }
    }

    fn touch(key: u64, place: u32) -> TouchedAt {
        TouchedAt { attribute: 5, key, place }
    }

    #[test]
    fn the_first_destination_that_shares_the_value_is_matched() {
        // Thread 7 signals; 9 has another value; 8 continues, is preempted, and posts the value.
        let events = [event(1, 7), event(2, 9), event(3, 9), event(2, 8), event(2, 8), event(3, 8)];
        let mut touched = vec![touch(23, 0), touch(23, 5), touch(24, 2)];
        touched.sort_unstable();
        assert_eq!(
            find_syncs(&[STATEMENT], &events, &touched),
            [SyncEdge { source: 0, destination: 3 }]
        );
    }

    #[test]
    fn a_source_shares_the_value_of_the_event_before_it_on_its_thread() {
        let events = [event(4, 7), event(4, 9), event(1, 7), event(2, 8), event(4, 7)];
        let mut touched = vec![touch(23, 0), touch(24, 1), touch(23, 3), touch(25, 4)];
        touched.sort_unstable();
        assert_eq!(
            find_syncs(&[STATEMENT], &events, &touched),
            [SyncEdge { source: 2, destination: 3 }]
        );
    }

    #[test]
    fn a_thread_continues_with_its_first_event_if_any_matches() {
        let any = SyncStatement { destination: NameInterner::UNKNOWN, ..STATEMENT };
        let events = [event(3, 8), event(1, 7), event(2, 9), event(4, 8), event(3, 8)];
        let found = find_syncs(&[any], &events, &[touch(23, 1), touch(23, 4)]);
        assert_eq!(found, [SyncEdge { source: 1, destination: 3 }]);
    }

    #[test]
    fn a_thread_does_not_signal_itself() {
        let events = [event(1, 7), event(2, 7)];
        assert_eq!(find_syncs(&[STATEMENT], &events, &[touch(1, 0), touch(1, 1)]), []);
    }
}
