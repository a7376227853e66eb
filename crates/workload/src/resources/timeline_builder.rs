//! Builder of timelines: converts events of threads, and the messages that they handled, to entries
//! of timelines.

use events::{AttributeValue, Event, EventBatch, EventReader};
use out_of_core::{DataPath, MemoryPool, NameId, NameInterner, PathError, SpillableVec};
use rustc_hash::FxHashMap;

use super::timeline_entry::{
    BlockingCall, NO_THREAD, SchedulerState, TimelineChange, TimelineEntry,
};
use super::timeline_events::{TimelineEvent, TimelineEventKinds};
use super::timelines::{ThreadTimelines, TimelineThread};

/// Builder of timelines.
pub(super) struct TimelineBuilder {
    entries: SpillableVec<TimelineEntry>,
    threads: Vec<ThreadProgress>,
    /// Thread by host, process and id.
    numbers: FxHashMap<(NameId, i32, i32), u32>,
    hosts: NameInterner,
}

/// State of a thread while its events are read.
#[derive(Clone, Copy, Default)]
struct ThreadProgress {
    process: (NameId, i32),
    id: i32,
    /// Whether the thread was seen in events.
    is_recorded: bool,
    /// State of the thread before the first scheduler event; `None` until that arrives.
    before: Option<SchedulerState>,
    /// End of the thread's last call, in nanoseconds since the Unix epoch.
    call_end: i64,
}

impl TimelineBuilder {
    /// An empty builder, with its entries in the memory of `pool`.
    pub(super) fn new(pool: &MemoryPool) -> TimelineBuilder {
        TimelineBuilder {
            entries: SpillableVec::new(pool),
            threads: Vec::new(),
            numbers: FxHashMap::default(),
            hosts: NameInterner::default(),
        }
    }

    /// Adds the events of the table at `path`.
    ///
    /// # Errors
    /// If the table cannot be read, or a temporary file cannot be written.
    pub(super) fn add_table(&mut self, path: &DataPath) -> Result<(), PathError> {
        let mut reader = EventReader::open(&[path])?;
        let (mut names, mut batch) = (NameInterner::default(), EventBatch::default());
        while reader.read_next(&mut names, &mut batch)? {
            self.add_events(&batch, &names)?;
        }
        Ok(())
    }

    /// Adds the events of a batch, with their names in `names`.
    ///
    /// # Errors
    /// When a temporary file cannot be written.
    pub(super) fn add_events(
        &mut self,
        batch: &EventBatch,
        names: &NameInterner,
    ) -> Result<(), PathError> {
        let kinds = TimelineEventKinds::from_names(names);
        // Events of one host are mostly consecutive.
        let mut host = (NameInterner::UNKNOWN, NameInterner::UNKNOWN);
        for (place, event) in batch.events().iter().enumerate() {
            let Some(kind) = kinds.timeline_event(event.kind) else { continue };
            if event.host != host.0 {
                host = (event.host, self.hosts.intern(names.name_of(event.host)));
            }
            let thread = self.intern_thread(host.1, event.process, event.thread);
            self.add_event(batch, place, event, host.1, thread, kind, &kinds)?;
        }
        Ok(())
    }

    /// Adds a message that a thread handled for the step with the identity `of`. `last` says
    /// whether it is the last message of the step.
    ///
    /// # Errors
    /// When a temporary file cannot be written.
    pub(super) fn add_message(
        &mut self,
        (host, process, id): (&str, i32, i32),
        time: i64,
        of: i64,
        last: bool,
    ) -> Result<(), PathError> {
        let host = self.hosts.intern(host);
        let thread = self.intern_thread(host, process, id);
        self.entries.push(TimelineEntry {
            number: of,
            ..TimelineEntry::new(thread, time, TimelineChange::Message { last })
        })
    }

    /// Sorts the entries, and builds the timelines.
    ///
    /// # Errors
    /// When a temporary file cannot be written.
    pub(super) fn finish(mut self) -> Result<ThreadTimelines, PathError> {
        self.entries.sort_by_key(TimelineEntry::sort_key)?;
        let of = |thread: &ThreadProgress| TimelineThread {
            process: thread.process,
            id: thread.id,
            is_recorded: thread.is_recorded,
            before: thread.before.unwrap_or_default(),
            ..TimelineThread::default()
        };
        let threads = self.threads.iter().map(of).collect();
        Ok(ThreadTimelines::new(self.entries, threads, self.numbers, self.hosts))
    }

    fn intern_thread(&mut self, host: NameId, process: i32, id: i32) -> u32 {
        let threads = &mut self.threads;
        *self.numbers.entry((host, process, id)).or_insert_with(|| {
            threads.push(ThreadProgress {
                process: (host, process),
                id,
                ..ThreadProgress::default()
            });
            threads.len() as u32 - 1
        })
    }

    /// Adds the entries of the event at `place` of the batch.
    #[expect(clippy::too_many_arguments, reason = "they are one event")]
    fn add_event(
        &mut self,
        batch: &EventBatch,
        place: usize,
        event: &Event,
        host: NameId,
        thread: u32,
        kind: TimelineEvent,
        kinds: &TimelineEventKinds,
    ) -> Result<(), PathError> {
        let time = event.time;
        let number = |name: Option<NameId>| batch.attribute_value(place, name?)?.int_value();
        if let Some(of) = self.threads.get_mut(thread as usize) {
            of.is_recorded = true;
        }
        let on = (thread, event.processor);
        match kind {
            TimelineEvent::In => {
                self.add_scheduling(on, time, SchedulerState::Running, SchedulerState::Unknown)
            }
            TimelineEvent::Out => {
                let preempted = number(kinds.preempted).is_some_and(|preempted| preempted != 0);
                let sched =
                    if preempted { SchedulerState::Runnable } else { SchedulerState::Blocked };
                // A thread that leaves the processor was running from the begin of its process's
                // recording on.
                self.add_scheduling(on, time, sched, SchedulerState::Running)
            }
            TimelineEvent::Lost => {
                self.add_scheduling(on, time, SchedulerState::Unknown, SchedulerState::Unknown)
            }
            TimelineEvent::Start => {
                self.add_scheduling(on, time, SchedulerState::Runnable, SchedulerState::Unknown)?;
                let by = number(kinds.parent).and_then(|id| i32::try_from(id).ok());
                let by = by.map_or(NO_THREAD, |id| self.intern_thread(host, event.process, id));
                let wake = TimelineEntry::new(thread, time, TimelineChange::Wake);
                self.entries.push(TimelineEntry { number: time, by, ..wake })
            }
            TimelineEvent::Exit => {
                self.add_scheduling(on, time, SchedulerState::Blocked, SchedulerState::Running)
            }
            TimelineEvent::Call(call) => {
                let call = match call {
                    BlockingCall::Poll if number(kinds.result) == Some(0) => {
                        BlockingCall::TimedOutPoll
                    }
                    other => other,
                };
                let bytes = number(kinds.bytes).filter(|_| call == BlockingCall::File);
                self.add_call(thread, time, number(kinds.duration), call, bytes.unwrap_or(0))
            }
            TimelineEvent::Wake => {
                let signalled = number(kinds.signalled).filter(|signalled| *signalled <= time);
                self.add_call(thread, time, number(kinds.duration), BlockingCall::Lock, 0)?;
                let Some(signalled) = signalled else { return Ok(()) };
                self.entries.push(TimelineEntry::new(
                    thread,
                    signalled,
                    TimelineChange::Signalled,
                ))?;
                let by = number(kinds.by).and_then(|id| i32::try_from(id).ok());
                // A thread that releases a lock does not wait.
                let is_lock = |what: AttributeValue<'_>| matches!(what, AttributeValue::Text(what) if is_lock_call(what));
                let is_lock = kinds
                    .what
                    .and_then(|name| batch.attribute_value(place, name))
                    .is_some_and(is_lock);
                let Some(by) = by.filter(|id| *id != 0 && !is_lock) else { return Ok(()) };
                let by = self.intern_thread(host, event.process, by);
                let object =
                    number(kinds.object).map_or(0, |object| (object ^ object >> 32) as u32);
                let wake = TimelineEntry::new(thread, time, TimelineChange::Wake);
                self.entries.push(TimelineEntry { number: signalled, by, object, ..wake })
            }
        }
    }

    /// Adds a change of the scheduler state. If it is the first one of the thread, the thread had
    /// the state `before` until then.
    fn add_scheduling(
        &mut self,
        (thread, processor): (u32, i32),
        time: i64,
        sched: SchedulerState,
        before: SchedulerState,
    ) -> Result<(), PathError> {
        if let Some(of) = self.threads.get_mut(thread as usize) {
            of.before.get_or_insert(before);
        }
        let number = u16::try_from(processor.saturating_add(1)).unwrap_or(0).into();
        self.entries.push(TimelineEntry {
            number,
            ..TimelineEntry::new(thread, time, TimelineChange::Scheduled(sched))
        })
    }

    /// Adds a call that ended at `time` and took `duration` nanoseconds. Time that overlaps with
    /// the previous call belongs to the previous call: calls are nested only in a signal handler.
    fn add_call(
        &mut self,
        thread: u32,
        time: i64,
        duration: Option<i64>,
        call: BlockingCall,
        bytes: i64,
    ) -> Result<(), PathError> {
        let Some(of) = self.threads.get_mut(thread as usize) else { return Ok(()) };
        let begin = time.saturating_sub(duration.unwrap_or(0)).max(of.call_end);
        of.call_end = of.call_end.max(time);
        if begin < time {
            self.entries.push(TimelineEntry::new(thread, begin, TimelineChange::Began(call)))?;
        } else if bytes == 0 {
            return Ok(());
        }
        self.entries.push(TimelineEntry {
            number: bytes,
            ..TimelineEntry::new(thread, time, TimelineChange::Ended)
        })
    }
}

/// Whether a wait was for a lock that its holder released.
fn is_lock_call(what: &str) -> bool {
    what.contains("mutex") || what.contains("lock")
}
