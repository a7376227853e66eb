//! Gathering: events of threads, and the messages that they handled, as entries of timelines.

use events::{Event, EventReader, Piece, Value};
use out_of_core::{DataPath, MemoryPool, NameId, Names, PathError, SpillableVec};
use rustc_hash::FxHashMap;

use super::entry::{Call, Entry, NO_THREAD, Sched, What};
use super::kinds::{Kind, Kinds};
use super::timelines::{Thread, Timelines};

/// Entries in the making.
pub(super) struct Gathering {
    entries: SpillableVec<Entry>,
    threads: Vec<Gathered>,
    /// Thread by host, process and id.
    numbers: FxHashMap<(NameId, i32, i32), u32>,
    hosts: Names,
}

/// What is known of a thread while its events come.
#[derive(Clone, Copy, Default)]
struct Gathered {
    process: (NameId, i32),
    id: i32,
    /// Whether it was seen in events.
    is_recorded: bool,
    /// How it was before the first event of the scheduler; `None` before that came.
    before: Option<Sched>,
    /// When its last call ended.
    call_end: i64,
}

impl Gathering {
    /// Nothing yet. Entries are in the memory of `pool`.
    pub(super) fn new(pool: &MemoryPool) -> Gathering {
        Gathering {
            entries: SpillableVec::new(pool),
            threads: Vec::new(),
            numbers: FxHashMap::default(),
            hosts: Names::default(),
        }
    }

    /// Takes the events of the table at `path`.
    ///
    /// # Errors
    /// When it cannot be read, or a temporary file cannot be written.
    pub(super) fn table(&mut self, path: &DataPath) -> Result<(), PathError> {
        let mut reader = EventReader::open(&[path])?;
        let (mut names, mut piece) = (Names::default(), Piece::default());
        while reader.next(&mut names, &mut piece)? {
            self.events(&piece, &names)?;
        }
        Ok(())
    }

    /// Takes the events of a piece, whose names are in `names`.
    ///
    /// # Errors
    /// When a temporary file cannot be written.
    pub(super) fn events(&mut self, piece: &Piece, names: &Names) -> Result<(), PathError> {
        let kinds = Kinds::of(names);
        // Events of one host mostly follow each other.
        let mut host = (Names::UNKNOWN, Names::UNKNOWN);
        for (place, event) in piece.events().iter().enumerate() {
            let Some(kind) = kinds.kind(event.kind) else { continue };
            if event.host != host.0 {
                host = (event.host, self.hosts.number(names.text(event.host)));
            }
            let thread = self.thread(host.1, event.process, event.thread);
            self.event(piece, place, event, host.1, thread, kind, &kinds)?;
        }
        Ok(())
    }

    /// Takes a message that a thread handled for the step `of`.
    ///
    /// # Errors
    /// When a temporary file cannot be written.
    pub(super) fn mark(
        &mut self,
        (host, process, id): (&str, i32, i32),
        time: i64,
        of: i64,
        last: bool,
    ) -> Result<(), PathError> {
        let host = self.hosts.number(host);
        let thread = self.thread(host, process, id);
        self.entries.push(Entry { number: of, ..Entry::of(thread, time, What::Mark { last }) })
    }

    /// All of it, in order.
    ///
    /// # Errors
    /// When a temporary file cannot be written.
    pub(super) fn finish(mut self) -> Result<Timelines, PathError> {
        self.entries.sort_by_key(Entry::key)?;
        let of = |thread: &Gathered| Thread {
            process: thread.process,
            id: thread.id,
            is_recorded: thread.is_recorded,
            before: thread.before.unwrap_or_default(),
            ..Thread::default()
        };
        let threads = self.threads.iter().map(of).collect();
        Ok(Timelines::new(self.entries, threads, self.numbers, self.hosts))
    }

    fn thread(&mut self, host: NameId, process: i32, id: i32) -> u32 {
        let threads = &mut self.threads;
        *self.numbers.entry((host, process, id)).or_insert_with(|| {
            threads.push(Gathered { process: (host, process), id, ..Gathered::default() });
            threads.len() as u32 - 1
        })
    }

    #[expect(clippy::too_many_arguments, reason = "they are one event")]
    fn event(
        &mut self,
        piece: &Piece,
        place: usize,
        event: &Event,
        host: NameId,
        thread: u32,
        kind: Kind,
        kinds: &Kinds,
    ) -> Result<(), PathError> {
        let time = event.time;
        let number = |name: Option<NameId>| piece.value(place, name?)?.int();
        if let Some(of) = self.threads.get_mut(thread as usize) {
            of.is_recorded = true;
        }
        let on = (thread, event.processor);
        match kind {
            Kind::In => self.scheduled(on, time, Sched::Running, Sched::Unknown),
            Kind::Out => {
                let preempted = number(kinds.preempted).is_some_and(|preempted| preempted != 0);
                let sched = if preempted { Sched::Runnable } else { Sched::Blocked };
                // A thread that leaves the processor was there, since its process was recorded.
                self.scheduled(on, time, sched, Sched::Running)
            }
            Kind::Lost => self.scheduled(on, time, Sched::Unknown, Sched::Unknown),
            Kind::Start => {
                self.scheduled(on, time, Sched::Runnable, Sched::Unknown)?;
                let by = number(kinds.parent).and_then(|id| i32::try_from(id).ok());
                let by = by.map_or(NO_THREAD, |id| self.thread(host, event.process, id));
                let wake = Entry::of(thread, time, What::Wake);
                self.entries.push(Entry { number: time, by, ..wake })
            }
            Kind::Exit => self.scheduled(on, time, Sched::Blocked, Sched::Running),
            Kind::Call(call) => {
                let call = match call {
                    Call::Poll if number(kinds.result) == Some(0) => Call::PollInVain,
                    other => other,
                };
                let bytes = number(kinds.bytes).filter(|_| call == Call::File);
                self.call(thread, time, number(kinds.duration), call, bytes.unwrap_or(0))
            }
            Kind::Wake => {
                let signalled = number(kinds.signalled).filter(|signalled| *signalled <= time);
                self.call(thread, time, number(kinds.duration), Call::Lock, 0)?;
                let Some(signalled) = signalled else { return Ok(()) };
                self.entries.push(Entry::of(thread, signalled, What::Signalled))?;
                let by = number(kinds.by).and_then(|id| i32::try_from(id).ok());
                // Who gives a lock away asks for nothing.
                let is_lock = |what: Value<'_>| matches!(what, Value::Text(what) if is_lock(what));
                let is_lock =
                    kinds.what.and_then(|name| piece.value(place, name)).is_some_and(is_lock);
                let Some(by) = by.filter(|id| *id != 0 && !is_lock) else { return Ok(()) };
                let by = self.thread(host, event.process, by);
                let object =
                    number(kinds.object).map_or(0, |object| (object ^ object >> 32) as u32);
                let wake = Entry::of(thread, time, What::Wake);
                self.entries.push(Entry { number: signalled, by, object, ..wake })
            }
        }
    }

    fn scheduled(
        &mut self,
        (thread, processor): (u32, i32),
        time: i64,
        sched: Sched,
        before: Sched,
    ) -> Result<(), PathError> {
        if let Some(of) = self.threads.get_mut(thread as usize) {
            of.before.get_or_insert(before);
        }
        let number = u16::try_from(processor.saturating_add(1)).unwrap_or(0).into();
        self.entries.push(Entry { number, ..Entry::of(thread, time, What::Scheduled(sched)) })
    }

    /// A call that ended at `time`. What a call before it has of its time stays with that: calls
    /// lie in each other only where a signal's handler makes one.
    fn call(
        &mut self,
        thread: u32,
        time: i64,
        duration: Option<i64>,
        call: Call,
        bytes: i64,
    ) -> Result<(), PathError> {
        let Some(of) = self.threads.get_mut(thread as usize) else { return Ok(()) };
        let begin = time.saturating_sub(duration.unwrap_or(0)).max(of.call_end);
        of.call_end = of.call_end.max(time);
        if begin < time {
            self.entries.push(Entry::of(thread, begin, What::Began(call)))?;
        } else if bytes == 0 {
            return Ok(());
        }
        self.entries.push(Entry { number: bytes, ..Entry::of(thread, time, What::Ended) })
    }
}

/// Whether a wait was for a lock that its holder gave back.
fn is_lock(what: &str) -> bool {
    what.contains("mutex") || what.contains("lock")
}
