//! Reorder queue: sorts events by time, within a bounded delay (Magpie, section 3.4).

use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};

use crate::join::extracted_event::ExtractedEvent;
use crate::tuning::{MAX_CONSECUTIVE_LATE, MAX_QUEUED_EVENTS};

/// Events that wait until no earlier ones can arrive. Events in order go through a plain queue, the
/// others through a heap.
#[derive(Debug)]
pub(crate) struct ReorderQueue {
    ordered: VecDeque<QueuedEvent>,
    unordered: BinaryHeap<QueuedEvent>,
    /// Time that an event waits for earlier ones, in nanoseconds.
    delay: i64,
    /// Latest time of an event that was added, in nanoseconds since the Unix epoch.
    newest: i64,
    /// Time of the last released event, in nanoseconds since the Unix epoch.
    last_released: i64,
    /// Number of events that were added.
    arrivals: u64,
    late_in_a_row: u32,
    /// Released events that have the time `last_released`, to recognise duplicates.
    same_time: Vec<ExtractedEvent>,
    /// Counts of rejected events.
    pub(crate) counts: QueueCounts,
}

/// Events that were rejected because of their time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct QueueCounts {
    /// Events that arrived when later ones had been released.
    pub(crate) late: u64,
    /// Duplicate events.
    pub(crate) doubled: u64,
    /// How often the clock jumped back.
    pub(crate) jumps: u64,
}

/// Result of adding an event to the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QueueOutcome {
    /// The event was queued.
    Taken,
    /// The event is late, and was dropped.
    Late,
    /// Too many consecutive events were late: the clock must have jumped back. All queued events
    /// must be released, and [`jump_back`](ReorderQueue::jump_back) called, before this one can be
    /// added.
    Jump,
}

#[derive(Clone, Copy, Debug)]
struct QueuedEvent {
    item: ExtractedEvent,
    /// Position in the order of arrival, which decides between events of the same time.
    arrival: u64,
}

impl ReorderQueue {
    /// A queue in which events wait `delay` nanoseconds.
    pub(crate) fn new(delay: i64) -> ReorderQueue {
        ReorderQueue {
            ordered: VecDeque::new(),
            unordered: BinaryHeap::new(),
            delay,
            newest: i64::MIN,
            last_released: i64::MIN,
            arrivals: 0,
            late_in_a_row: 0,
            same_time: Vec::new(),
            counts: QueueCounts::default(),
        }
    }

    /// Whether an event that is later than this one has been released.
    pub(crate) fn is_late(&self, item: &ExtractedEvent) -> bool {
        item.event.time < self.last_released
    }

    /// Adds an event to the queue.
    pub(crate) fn push_event(&mut self, item: ExtractedEvent) -> QueueOutcome {
        let time = item.event.time;
        if self.is_late(&item) {
            self.late_in_a_row += 1;
            if self.late_in_a_row >= MAX_CONSECUTIVE_LATE {
                return QueueOutcome::Jump;
            }
            self.counts.late += 1;
            return QueueOutcome::Late;
        }
        self.late_in_a_row = 0;
        self.arrivals += 1;
        let waiting = QueuedEvent { item, arrival: self.arrivals };
        self.newest = self.newest.max(time);
        match self.ordered.back() {
            Some(last) if last.item.event.time > time => self.unordered.push(waiting),
            _ => self.ordered.push_back(waiting),
        }
        QueueOutcome::Taken
    }

    /// Advances the time: no event before `now`, less the delay, will arrive.
    pub(crate) fn advance_to(&mut self, now: i64) {
        self.newest = self.newest.max(now);
    }

    /// Restarts at an earlier time, after all events were released.
    pub(crate) fn jump_back(&mut self) {
        self.counts.jumps += 1;
        (self.last_released, self.newest, self.late_in_a_row) = (i64::MIN, i64::MIN, 0);
    }

    /// Adds a synthetic event to the queue. If later events have been released, it gets the time of
    /// the last of them: a thread that waited longer than the queue's delay still waits then.
    pub(crate) fn push_synthetic(&mut self, mut item: ExtractedEvent) {
        item.event.time = item.event.time.max(self.last_released);
        self.arrivals += 1;
        self.unordered.push(QueuedEvent { item, arrival: self.arrivals });
    }

    /// The oldest event, if it has waited for the delay so that no earlier one can arrive; `None`
    /// otherwise. Duplicates are dropped.
    pub(crate) fn pop_ready(&mut self) -> Option<ExtractedEvent> {
        self.pop_until(self.newest.saturating_sub(self.delay))
    }

    /// The oldest event, regardless of earlier ones that may arrive.
    pub(crate) fn pop_any(&mut self) -> Option<ExtractedEvent> {
        self.pop_until(i64::MAX)
    }

    /// The oldest event that is not later than `until`; if the queue is full, the oldest event.
    fn pop_until(&mut self, until: i64) -> Option<ExtractedEvent> {
        loop {
            let ordered = self.ordered.front();
            let other = self.unordered.peek();
            let from_unordered = match (ordered, other) {
                (Some(one), Some(other)) => other.cmp(one) == Ordering::Greater,
                (None, Some(_)) => true,
                (_, None) => false,
            };
            let first = if from_unordered { other } else { ordered }?;
            if first.item.event.time > until && self.len() <= MAX_QUEUED_EVENTS {
                return None;
            }
            let taken =
                if from_unordered { self.unordered.pop() } else { self.ordered.pop_front() }?;
            if !self.is_duplicate(&taken.item) {
                return Some(taken.item);
            }
            self.counts.doubled += 1;
        }
    }

    fn is_duplicate(&mut self, item: &ExtractedEvent) -> bool {
        if self.last_released != item.event.time {
            self.last_released = item.event.time;
            self.same_time.clear();
        }
        if self.same_time.contains(item) {
            return true;
        }
        if self.same_time.len() < MAX_SAME_TIME {
            self.same_time.push(*item);
        }
        false
    }

    fn len(&self) -> usize {
        self.ordered.len() + self.unordered.len()
    }
}

/// Maximum number of events with the same time among which duplicates are found.
const MAX_SAME_TIME: usize = 16;

impl Ord for QueuedEvent {
    /// The older one is the greater one, as the heap returns the greatest.
    fn cmp(&self, other: &QueuedEvent) -> Ordering {
        let key = |waiting: &QueuedEvent| (waiting.item.event.time, waiting.arrival);
        key(other).cmp(&key(self))
    }
}

impl PartialOrd for QueuedEvent {
    fn partial_cmp(&self, other: &QueuedEvent) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for QueuedEvent {
    fn eq(&self, other: &QueuedEvent) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for QueuedEvent {}
