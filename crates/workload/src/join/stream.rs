//! Stream: events in, requests out.

use events::Piece;
use out_of_core::Names;

use crate::accounting::{Charged, Shares};
use crate::join::ages::Age;
use crate::join::beginning::Beginning;
use crate::join::compile::compile;
use crate::join::counts::JoinCounts;
use crate::join::emit::emit;
use crate::join::extract::extract;
use crate::join::item::Item;
use crate::join::program::{Begin, Program};
use crate::join::queue::{Put, Queue};
use crate::join::state::State;
use crate::joined::JoinedRequest;
use crate::schema::{BeginBy, Schema, SchemaError};
use crate::tuning::{EVENT_BYTES, THREADS};

/// Bounds of a join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JoinOptions {
    /// How long an event waits for earlier ones, in nanoseconds.
    pub reorder_ns: i64,
    /// How long a request or a set without a seed waits for its next event, in nanoseconds.
    pub timeout_ns: i64,
    /// How long a request waits that may be over, in nanoseconds.
    pub linger_ns: i64,
    /// Bytes of the events that are not emitted yet.
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

/// A temporal join at work.
#[derive(Debug)]
pub struct Join {
    program: Program,
    options: JoinOptions,
    queue: Queue,
    state: State,
    shares: Shares,
    counts: JoinCounts,
    /// When ages are looked at next, as a time of events.
    look: i64,
    /// Time of the last event that was taken.
    now: i64,
}

impl Join {
    /// A join by `schema`. `names` are those of the pieces that will come.
    ///
    /// # Errors
    /// What of the schema is beyond the join's bounds, with its line.
    pub fn new(
        schema: &Schema,
        options: JoinOptions,
        names: &mut Names,
    ) -> Result<Join, SchemaError> {
        Ok(Join {
            program: compile(schema, names)?,
            options,
            queue: Queue::new(options.reorder_ns),
            state: State::default(),
            shares: Shares::default(),
            counts: JoinCounts::default(),
            look: i64::MIN,
            now: i64::MIN,
        })
    }

    /// Takes the events of a piece; requests that are over go to `emitted`, in the order in which
    /// their last intervals were closed.
    pub fn push(
        &mut self,
        piece: &Piece,
        names: &mut Names,
        emitted: &mut dyn FnMut(JoinedRequest),
    ) {
        for place in 0..piece.len() {
            self.counts.events += 1;
            let Some(number) = self.program.kind_of(piece.event(place).kind) else { continue };
            let Some(kind) = self.program.kinds.get(usize::from(number)) else { continue };
            self.counts.known += 1;
            let item = extract(piece, place, number, kind, names);
            self.put(item, emitted);
            while let Some(item) = self.queue.take() {
                self.take(item, emitted);
            }
        }
    }

    /// Time has come to `now`, in nanoseconds since the Unix epoch, though no event did: what
    /// waited for its time goes on.
    pub fn advance(&mut self, now: i64, emitted: &mut dyn FnMut(JoinedRequest)) {
        self.queue.advance(now);
        while let Some(item) = self.queue.take() {
            self.take(item, emitted);
        }
        self.bound(now.saturating_sub(self.options.reorder_ns), emitted);
    }

    /// All that came is taken, as if nothing more could come, and requests that are open are
    /// emitted as not whole.
    pub fn finish(&mut self, emitted: &mut dyn FnMut(JoinedRequest)) {
        while let Some(item) = self.queue.take_any() {
            self.take(item, emitted);
        }
        for age in [Age::Unseeded, Age::Complete, Age::Seeded] {
            while let Some((set, _)) = self.state.store.oldest(age) {
                self.end(set, age == Age::Complete, emitted);
            }
        }
    }

    /// What became of the events so far.
    pub fn counts(&self) -> JoinCounts {
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

    /// What came of the events that could begin a request.
    pub fn beginning(&self) -> Beginning {
        let State { counts, marks, .. } = &self.state;
        let asked = &self.program.asked;
        asked.came(counts.could_begin, counts.without_process, |mark| marks.was_put(mark))
    }

    /// How much processor time the requests so far were charged with.
    pub fn charged(&self) -> Charged {
        self.shares.charged(&self.state.threads)
    }

    /// Puts an event into the queue, and a synthetic one at its begin.
    fn put(&mut self, item: Item, emitted: &mut dyn FnMut(JoinedRequest)) {
        let begins = self.program.kinds.get(usize::from(item.kind)).map(|kind| &kind.begins);
        let is_late = self.queue.is_late(&item);
        for begin in begins.into_iter().flatten().filter(|_| !is_late) {
            if let Some(synthetic) = self.synthetic(begin, &item) {
                self.queue.put_synthetic(synthetic);
            }
        }
        match self.queue.put(item) {
            Put::Taken | Put::Late => {}
            Put::Jump => {
                self.finish(emitted);
                self.queue.jump();
                self.look = i64::MIN;
                self.queue.put(item);
            }
        }
    }

    /// A synthetic event before one that is posted at its end; none where that does not say when.
    fn synthetic(&self, begin: &Begin, item: &Item) -> Option<Item> {
        let value = item.value(begin.slot)?.cast_signed();
        let mut event = item.event;
        event.time = match begin.by {
            BeginBy::At => value,
            BeginBy::Before => event.time.saturating_sub(value.max(0)),
        };
        event.kind = self.program.kinds.get(usize::from(begin.kind))?.name;
        let mut synthetic = Item { event, kind: begin.kind, ..Item::default() };
        for (slot, from) in (0..).zip(&begin.slots) {
            if let Some(value) = from.and_then(|from| item.value(from)) {
                synthetic.set(slot, value);
            }
        }
        Some(synthetic)
    }

    fn take(&mut self, item: Item, emitted: &mut dyn FnMut(JoinedRequest)) {
        let now = item.event.time;
        self.now = now;
        if now >= self.look
            || self.state.store.nodes.len() * EVENT_BYTES > self.options.memory_bytes
        {
            self.bound(now, emitted);
        }
        self.state.take(&self.program, item);
        while let Some(set) = self.state.closed.pop() {
            self.emit(set, true, emitted);
        }
    }

    /// Ends what is too old or too much.
    fn bound(&mut self, now: i64, emitted: &mut dyn FnMut(JoinedRequest)) {
        let JoinOptions { timeout_ns, linger_ns, memory_bytes, .. } = self.options;
        self.look = now.saturating_add(timeout_ns.min(linger_ns) / 8);
        let bounds =
            [(Age::Unseeded, timeout_ns), (Age::Seeded, timeout_ns), (Age::Complete, linger_ns)];
        for (age, bound) in bounds {
            while let Some((set, used)) = self.state.store.oldest(age)
                && used < now.saturating_sub(bound)
            {
                match age {
                    Age::Unseeded => self.counts.collected += 1,
                    Age::Seeded => self.counts.timed_out += 1,
                    Age::Complete => {}
                }
                self.end(set, age == Age::Complete, emitted);
            }
        }
        for age in [Age::Unseeded, Age::Complete, Age::Seeded] {
            while self.state.store.nodes.len() * EVENT_BYTES > memory_bytes
                && let Some((set, _)) = self.state.store.oldest(age)
            {
                match age {
                    Age::Unseeded => self.counts.collected += 1,
                    _ => self.counts.crowded_out += 1,
                }
                self.end(set, age == Age::Complete, emitted);
            }
        }
        let State { threads, .. } = &mut self.state;
        if threads.len() > THREADS {
            let shares = &mut self.shares;
            threads.forget(now.saturating_sub(timeout_ns), |thread| shares.forget(thread));
        }
    }

    /// Closes all intervals of a set, and ends it.
    fn end(&mut self, set: u32, whole: bool, emitted: &mut dyn FnMut(JoinedRequest)) {
        let State { store, threads, .. } = &mut self.state;
        while let Some(sector) = store.next_sector(set, None) {
            store.close(sector, threads, self.now, self.program.leave);
        }
        self.emit(set, whole, emitted);
    }

    /// Emits a set that has a seed; others are taken away.
    fn emit(&mut self, set: u32, whole: bool, emitted: &mut dyn FnMut(JoinedRequest)) {
        let store = &mut self.state.store;
        if store.sets.get(set).seeds == 0 {
            store.remove(set);
            return;
        }
        let mut request = emit(set, whole, &self.program, store, &mut self.shares);
        request.number = self.counts.requests;
        self.counts.requests += 1;
        emitted(request);
    }
}
