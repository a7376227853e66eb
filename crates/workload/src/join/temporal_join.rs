//! Temporal join as a stream: events in, requests out.

use events::EventBatch;
use out_of_core::NameInterner;

use crate::accounting::{ChargedShare, UsageSums};
use crate::join::ages::SetAge;
use crate::join::compile::compile_schema;
use crate::join::counts::JoinCounts;
use crate::join::emit::emit_request;
use crate::join::extract::extract_event;
use crate::join::extracted_event::ExtractedEvent;
use crate::join::join_state::JoinState;
use crate::join::program::{CompiledBegin, JoinProgram};
use crate::join::reorder_queue::{QueueOutcome, ReorderQueue};
use crate::join::seed_counts::SeedCounts;
use crate::joined_request::JoinedRequest;
use crate::schema::{BeginBy, EventSchema, SchemaError};
use crate::tuning::{EVENT_BYTES, MAX_KNOWN_THREADS};

/// Bounds of a join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JoinOptions {
    /// Time that an event waits for earlier ones, in nanoseconds.
    pub reorder_ns: i64,
    /// Time that a request or a set without a seed waits for its next event, in nanoseconds.
    pub timeout_ns: i64,
    /// Time that a request which may have ended still waits for a further event, in nanoseconds.
    pub linger_ns: i64,
    /// Limit of the bytes of events that are not emitted yet.
    pub memory_bytes: usize,
}

impl Default for JoinOptions {
    /// A second, as in the paper; a minute; a second; 64 MiB.
    fn default() -> JoinOptions {
        const SECOND: i64 = 1_000_000_000;
        JoinOptions {
            reorder_ns: SECOND,
            timeout_ns: 60 * SECOND,
            linger_ns: SECOND,
            memory_bytes: 64 << 20,
        }
    }
}

/// A running temporal join.
#[derive(Debug)]
pub struct TemporalJoin {
    program: JoinProgram,
    options: JoinOptions,
    queue: ReorderQueue,
    state: JoinState,
    shares: UsageSums,
    counts: JoinCounts,
    /// Event time at which the ages of sets are checked next, in nanoseconds since the Unix epoch.
    next_check: i64,
    /// Time of the last processed event, in nanoseconds since the Unix epoch.
    now: i64,
}

impl TemporalJoin {
    /// A join by `schema`. The batches that are pushed must have their names in `names`.
    ///
    /// # Errors
    /// The part of the schema that exceeds the join's bounds, with its line.
    pub fn new(
        schema: &EventSchema,
        options: JoinOptions,
        names: &mut NameInterner,
    ) -> Result<TemporalJoin, SchemaError> {
        Ok(TemporalJoin {
            program: compile_schema(schema, names)?,
            options,
            queue: ReorderQueue::new(options.reorder_ns),
            state: JoinState::default(),
            shares: UsageSums::default(),
            counts: JoinCounts::default(),
            next_check: i64::MIN,
            now: i64::MIN,
        })
    }

    /// Processes the events of a batch; completed requests are passed to `emitted`, in the order in
    /// which their last intervals were closed.
    pub fn push_batch(
        &mut self,
        batch: &EventBatch,
        names: &mut NameInterner,
        emitted: &mut dyn FnMut(JoinedRequest),
    ) {
        for place in 0..batch.len() {
            self.counts.events += 1;
            let Some(number) = self.program.kind_of(batch.event_at(place).kind) else { continue };
            let Some(kind) = self.program.kinds.get(usize::from(number)) else { continue };
            self.counts.known += 1;
            let item = extract_event(batch, place, number, kind, names);
            self.queue_event(item, emitted);
            while let Some(item) = self.queue.pop_ready() {
                self.process_event(item, emitted);
            }
        }
    }

    /// Advances the time to `now`, in nanoseconds since the Unix epoch, without an event, and
    /// processes the events that have waited for the delay.
    pub fn advance_to(&mut self, now: i64, emitted: &mut dyn FnMut(JoinedRequest)) {
        self.queue.advance_to(now);
        while let Some(item) = self.queue.pop_ready() {
            self.process_event(item, emitted);
        }
        self.enforce_limits(now.saturating_sub(self.options.reorder_ns), emitted);
    }

    /// Processes all waiting events, as no more will arrive, and emits open requests as not whole.
    pub fn finish(&mut self, emitted: &mut dyn FnMut(JoinedRequest)) {
        while let Some(item) = self.queue.pop_any() {
            self.process_event(item, emitted);
        }
        for age in [SetAge::Unseeded, SetAge::Complete, SetAge::Seeded] {
            while let Some((set, _)) = self.state.store.find_oldest(age) {
                self.end_set(set, age == SetAge::Complete, emitted);
            }
        }
    }

    /// Counts of the events so far by outcome.
    pub fn join_counts(&self) -> JoinCounts {
        let (queue, state) = (self.queue.counts, self.state.counts);
        JoinCounts {
            late: queue.late,
            doubled: queue.doubled,
            jumps: queue.jumps,
            joined: state.joined,
            unjoined: state.unjoined,
            conflicts: state.conflicts,
            forgotten: state.forgotten,
            marks_forgotten: self.state.marks.forgotten,
            ..self.counts
        }
    }

    /// Counts of the events that could begin a request.
    pub fn seed_counts(&self) -> SeedCounts {
        let JoinState { counts, marks, .. } = &self.state;
        let seed_requirements = &self.program.seed_requirements;
        seed_requirements
            .count_seeds(counts.could_begin, counts.without_process, |mark| marks.was_set(mark))
    }

    /// Processor time that the requests so far were charged with.
    pub fn charged_share(&self) -> ChargedShare {
        self.shares.charged_share(&self.state.threads)
    }

    /// Adds an event to the queue, and the synthetic events at its begin (BEGIN in the schema).
    fn queue_event(&mut self, item: ExtractedEvent, emitted: &mut dyn FnMut(JoinedRequest)) {
        let begins = self.program.kinds.get(usize::from(item.kind)).map(|kind| &kind.begins);
        let is_late = self.queue.is_late(&item);
        for begin in begins.into_iter().flatten().filter(|_| !is_late) {
            if let Some(synthetic) = self.synthetic_begin(begin, &item) {
                self.queue.push_synthetic(synthetic);
            }
        }
        match self.queue.push_event(item) {
            QueueOutcome::Taken | QueueOutcome::Late => {}
            QueueOutcome::Jump => {
                self.finish(emitted);
                self.queue.jump_back();
                self.next_check = i64::MIN;
                self.queue.push_event(item);
            }
        }
    }

    /// A synthetic event before one that is posted at its end; `None` if the begin is not known.
    fn synthetic_begin(
        &self,
        begin: &CompiledBegin,
        item: &ExtractedEvent,
    ) -> Option<ExtractedEvent> {
        let value = item.slot_value(begin.slot)?.cast_signed();
        let mut event = item.event;
        event.time = match begin.by {
            BeginBy::At => value,
            BeginBy::Before => event.time.saturating_sub(value.max(0)),
        };
        event.kind = self.program.kinds.get(usize::from(begin.kind))?.name;
        let mut synthetic = ExtractedEvent { event, kind: begin.kind, ..ExtractedEvent::default() };
        for (slot, from) in (0..).zip(&begin.slots) {
            if let Some(value) = from.and_then(|from| item.slot_value(from)) {
                synthetic.set_slot(slot, value);
            }
        }
        Some(synthetic)
    }

    fn process_event(&mut self, item: ExtractedEvent, emitted: &mut dyn FnMut(JoinedRequest)) {
        let now = item.event.time;
        self.now = now;
        if now >= self.next_check
            || self.state.store.nodes.len() * EVENT_BYTES > self.options.memory_bytes
        {
            self.enforce_limits(now, emitted);
        }
        self.state.process_event(&self.program, item);
        while let Some(set) = self.state.closed.pop() {
            self.emit_set(set, true, emitted);
        }
    }

    /// Ends sets that are too old or exceed the memory limit.
    fn enforce_limits(&mut self, now: i64, emitted: &mut dyn FnMut(JoinedRequest)) {
        let JoinOptions { timeout_ns, linger_ns, memory_bytes, .. } = self.options;
        self.next_check = now.saturating_add(timeout_ns.min(linger_ns) / 8);
        let bounds = [
            (SetAge::Unseeded, timeout_ns),
            (SetAge::Seeded, timeout_ns),
            (SetAge::Complete, linger_ns),
        ];
        for (age, bound) in bounds {
            while let Some((set, used)) = self.state.store.find_oldest(age)
                && used < now.saturating_sub(bound)
            {
                match age {
                    SetAge::Unseeded => self.counts.collected += 1,
                    SetAge::Seeded => self.counts.timed_out += 1,
                    SetAge::Complete => {}
                }
                self.end_set(set, age == SetAge::Complete, emitted);
            }
        }
        for age in [SetAge::Unseeded, SetAge::Complete, SetAge::Seeded] {
            while self.state.store.nodes.len() * EVENT_BYTES > memory_bytes
                && let Some((set, _)) = self.state.store.find_oldest(age)
            {
                match age {
                    SetAge::Unseeded => self.counts.collected += 1,
                    _ => self.counts.crowded_out += 1,
                }
                self.end_set(set, age == SetAge::Complete, emitted);
            }
        }
        let JoinState { threads, .. } = &mut self.state;
        if threads.len() > MAX_KNOWN_THREADS {
            let shares = &mut self.shares;
            threads.forget_silent(now.saturating_sub(timeout_ns), |thread| {
                shares.add_forgotten_thread(thread)
            });
        }
    }

    /// Closes all intervals of a set, and emits or removes it.
    fn end_set(&mut self, set: u32, whole: bool, emitted: &mut dyn FnMut(JoinedRequest)) {
        let JoinState { store, threads, .. } = &mut self.state;
        while let Some(sector) = store.next_sector(set, None) {
            store.close_sector(sector, threads, self.now, self.program.leave);
        }
        self.emit_set(set, whole, emitted);
    }

    /// Emits a set with a seed as a request; a set without a seed is removed.
    fn emit_set(&mut self, set: u32, whole: bool, emitted: &mut dyn FnMut(JoinedRequest)) {
        let store = &mut self.state.store;
        if store.sets.get(set).seeds == 0 {
            store.remove_set(set);
            return;
        }
        let mut request = emit_request(set, whole, &self.program, store, &mut self.shares);
        request.number = self.counts.requests;
        self.counts.requests += 1;
        emitted(request);
    }
}
