//! Places at which causes are sought: each has its arriving and departing messages, both by time on
//! one clock. A place is a node or, for an untraced node, one peer's view of it
//! ([`super::untraced`]).

use std::ops::Range;

use message_trace::{MessageId, MessageTrace};

use super::untraced::RoundTrips;
use crate::naming::Naming;
use crate::options::Options;

/// A message at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PlaceEvent {
    /// Time at which it arrived or departed: nanoseconds, common clock.
    pub(super) time: i64,
    /// The message.
    pub(super) message: MessageId,
}

/// The events of a whole trace by place, those of each place by time.
pub(super) struct PlaceEvents {
    arrivals: Vec<PlaceEvent>,
    /// Index of the first arrival at each place, and the end of the last.
    arrivals_of: Vec<usize>,
    departures: Vec<PlaceEvent>,
    /// Index of the first departure from each place, and the end of the last.
    departures_of: Vec<usize>,
}

/// Departures of one place in their order, and all arrivals there.
pub(super) struct DepartureChunk<'places> {
    pub(super) arrivals: &'places [PlaceEvent],
    pub(super) departures: &'places [PlaceEvent],
}

/// Arrivals at a place before a departure, from the latest back.
#[derive(Clone, Copy)]
pub(super) struct EarlierArrivals<'places> {
    arrivals: &'places [PlaceEvent],
    departure: PlaceEvent,
}

/// Stored as the place of a message that arrives nowhere, and so causes nothing, or that departs
/// from nowhere, and so has no cause.
const NOWHERE: u32 = u32::MAX;

impl PlaceEvents {
    pub(super) fn from_trace(
        trace: &MessageTrace,
        naming: &Naming,
        options: &Options,
    ) -> PlaceEvents {
        let mut rounds = RoundTrips::new(naming);
        let (mut arrival, mut departure) = (Vec::new(), Vec::new());
        arrival.reserve_exact(trace.len());
        departure.reserve_exact(trace.len());
        for message in trace.ids() {
            arrival.push(rounds.arrival(trace, message).unwrap_or((NOWHERE, 0)));
            let client =
                options.clients_start_paths && naming.nodes()[naming.src(message) as usize].client;
            let found = if client { None } else { rounds.departure(trace, message) };
            departure.push(found.unwrap_or((NOWHERE, 0)));
        }
        let (arrivals, arrivals_of) = group_by_place(&arrival, rounds.place_count());
        let (departures, departures_of) = group_by_place(&departure, rounds.place_count());
        PlaceEvents { arrivals, arrivals_of, departures, departures_of }
    }

    /// Number of departures at all places.
    pub(super) fn departure_count(&self) -> usize {
        self.departures.len()
    }

    /// The departures with indices in `range`, as one chunk for each place.
    pub(super) fn chunks(&self, range: Range<usize>) -> impl Iterator<Item = DepartureChunk<'_>> {
        let first =
            self.departures_of.partition_point(|bound| *bound <= range.start).saturating_sub(1);
        let places = first..self.arrivals_of.len() - 1;
        let end = range.end;
        places.take_while(move |place| self.departures_of[*place] < end).filter_map(move |place| {
            let start = self.departures_of[place].max(range.start);
            let end = self.departures_of[place + 1].min(range.end);
            let arrivals = &self.arrivals[self.arrivals_of[place]..self.arrivals_of[place + 1]];
            (start < end)
                .then(|| DepartureChunk { arrivals, departures: &self.departures[start..end] })
        })
    }
}

impl<'places> DepartureChunk<'places> {
    /// Each departure with the arrivals before it or at the same time.
    pub(super) fn departures_with_arrivals(
        &self,
    ) -> impl Iterator<Item = (PlaceEvent, EarlierArrivals<'places>)> + '_ {
        let first = self.departures.first().map_or(i64::MIN, |departure| departure.time);
        let mut until = self.arrivals.partition_point(|arrival| arrival.time <= first);
        self.departures.iter().map(move |departure| {
            while self.arrivals.get(until).is_some_and(|arrival| arrival.time <= departure.time) {
                until += 1;
            }
            (
                *departure,
                EarlierArrivals { arrivals: &self.arrivals[..until], departure: *departure },
            )
        })
    }
}

impl<'places> EarlierArrivals<'places> {
    /// The arrivals within `window` before the departure, the latest first, each with its delay. A
    /// message that a node sends to itself does not come before itself. At the same time as the
    /// departure only arrivals that precede it in the trace count: with clocks too coarse to order
    /// them, the response to a message would otherwise be its cause, and both would form a cycle.
    pub(super) fn within_window(
        &self,
        window: i64,
    ) -> impl Iterator<Item = (PlaceEvent, i64)> + use<'places> {
        let departure = self.departure;
        self.arrivals
            .iter()
            .rev()
            .map(move |arrival| (*arrival, departure.time.saturating_sub(arrival.time)))
            .take_while(move |(_, delay)| *delay <= window)
            .filter(move |(arrival, delay)| match delay {
                0 => arrival.message < departure.message,
                _ => arrival.message != departure.message,
            })
    }
}

#[cfg(test)]
impl<'events> EarlierArrivals<'events> {
    /// The `arrivals`, sorted by time and none later, before `departure`.
    pub(super) fn new(
        arrivals: &'events [PlaceEvent],
        departure: PlaceEvent,
    ) -> EarlierArrivals<'events> {
        EarlierArrivals { arrivals, departure }
    }
}

/// Sorts events, given as place and time of each message, by place and then time, equal times by
/// message. Also returns the index of the first event of each place, and the end of the last.
fn group_by_place(events: &[(u32, i64)], places: usize) -> (Vec<PlaceEvent>, Vec<usize>) {
    let mut bounds = vec![0; places + 1];
    for (place, _) in events.iter().filter(|(place, _)| *place != NOWHERE) {
        bounds[*place as usize + 1] += 1;
    }
    for place in 0..places {
        bounds[place + 1] += bounds[place];
    }
    let mut next = bounds.clone();
    let mut sorted =
        vec![PlaceEvent { time: 0, message: MessageId::from_index(0) }; bounds[places]];
    for (message, (place, time)) in
        MessageId::ids().zip(events).filter(|(_, (place, _))| *place != NOWHERE)
    {
        sorted[next[*place as usize]] = PlaceEvent { time: *time, message };
        next[*place as usize] += 1;
    }
    for place in 0..places {
        // Nearly in order already, since the trace is sorted by time.
        sorted[bounds[place]..bounds[place + 1]].sort_by_key(|event| event.time);
    }
    (sorted, bounds)
}
