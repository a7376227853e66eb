//! Threads of a recording, for drawing: their states and waits, and the threads that woke them.

use std::path::Path;

use out_of_core::{DataPath, MemoryPool, PathError};
use request_flow::StepResource;

use super::moment_sums;
use super::timeline_builder::TimelineBuilder;
use super::timeline_entry::{NO_THREAD, TimelineChange};
use super::timelines::{StateInterval, ThreadTimelines};

/// Threads of a recording.
pub struct RecordedThreads(ThreadTimelines);

/// Identity of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadName<'threads> {
    /// The host.
    pub host: &'threads str,
    /// Id of the process.
    pub process: i32,
    /// Id of the thread.
    pub thread: i32,
}

/// A time span in which a thread did one thing. Times are nanoseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadSlice {
    /// When the time slice begins, in nanoseconds since the Unix epoch.
    pub from: i64,
    /// When the time slice ends, in nanoseconds since the Unix epoch.
    pub to: i64,
    /// The resource that the thread used or waited for.
    pub what: StepResource,
    /// The processor on which the thread computed, if it is known.
    pub processor: Option<u16>,
}

/// A hand-off. Times are nanoseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadWake {
    /// Index of the signalling thread.
    pub by: usize,
    /// Time of the signal.
    pub signalled: i64,
    /// Time at which the other thread continued.
    pub woken: i64,
}

impl RecordedThreads {
    /// Reads a table of events. Timelines that need more than `memory` bytes are spilled to
    /// temporary files in `directory`.
    ///
    /// # Errors
    /// If the table cannot be read, or a temporary file cannot be written.
    pub fn read_events(
        events: impl Into<DataPath>,
        memory: u64,
        directory: &Path,
    ) -> Result<RecordedThreads, PathError> {
        let events = &events.into();
        let mut gathering = TimelineBuilder::new(&MemoryPool::new(memory, directory));
        gathering.add_table(events)?;
        Ok(RecordedThreads(gathering.finish()?))
    }

    /// All threads.
    pub fn thread_names(&self) -> impl Iterator<Item = ThreadName<'_>> {
        self.0.threads().iter().map(|thread| ThreadName {
            host: self.0.host_name(thread.process.0),
            process: thread.process.1,
            thread: thread.id,
        })
    }

    /// The index of a thread; `None` if no events describe it.
    pub fn find_thread(&self, of: &ThreadName<'_>) -> Option<usize> {
        let host = self.0.find_host(of.host)?;
        self.0.find_thread(host, of.process, of.thread).map(|number| number as usize)
    }

    /// The slices of the thread at this index, in order. Unknown time has no slice.
    pub fn slices_of_thread(&self, thread: usize) -> Vec<ThreadSlice> {
        let mut entries = self.0.entries_within(thread as u32, i64::MIN, i64::MAX);
        let Some(first) = entries.next().map(|entry| entry.time) else { return Vec::new() };
        let last = entries.next_back().map_or(first, |entry| entry.time);
        self.slices_within(thread, first, last)
    }

    /// The slices of the thread at the index `thread` between two times, in nanoseconds since the
    /// Unix epoch.
    pub fn slices_within(&self, thread: usize, from: i64, to: i64) -> Vec<ThreadSlice> {
        let mut slices: Vec<ThreadSlice> = Vec::new();
        self.0.for_each_interval(thread as u32, from, to, |interval| {
            let what = moment_sums::resource_of_state(interval.state);
            match slices.last_mut() {
                Some(open) if open.what == what && open.to == interval.from => {
                    open.to = interval.to;
                }
                _ if what == StepResource::Unknown => {}
                _ => {
                    let on = interval.state.processor.checked_sub(1);
                    let processor = on.filter(|_| what == StepResource::Processor);
                    let StateInterval { from, to, .. } = interval;
                    slices.push(ThreadSlice { from, to, what, processor });
                }
            }
        });
        slices
    }

    /// The wake-ups of the thread at this index, in order.
    pub fn wakes_of_thread(&self, thread: usize) -> impl Iterator<Item = ThreadWake> {
        self.wakes_within(thread, i64::MIN, i64::MAX)
    }

    /// The wake-ups of the thread at the index `thread` after `from` and until `to`.
    pub fn wakes_within(
        &self,
        thread: usize,
        from: i64,
        to: i64,
    ) -> impl Iterator<Item = ThreadWake> {
        let entries = self.0.entries_within(thread as u32, from, to);
        let wakes =
            entries.filter(|entry| entry.what == TimelineChange::Wake && entry.by != NO_THREAD);
        wakes.map(|entry| ThreadWake {
            by: entry.by as usize,
            signalled: entry.number,
            woken: entry.time,
        })
    }
}

#[cfg(test)]
mod tests {
    use events::{AttributeValue, Event, EventWriter};
    use out_of_core::NameInterner;

    use super::*;

    #[test]
    fn threads_have_slices_and_wakes() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("events.parquet");
        let mut names = NameInterner::default();
        let [host, going, coming, wake] =
            ["h", "sched/Out", "sched/In", "sockcap/Wake"].map(|name| names.intern(name));
        let [by, duration, signalled] =
            ["by", "duration", "signalled"].map(|name| names.intern(name));
        let mut writer = EventWriter::create(&path).unwrap();
        let (process, processor) = (7, 3);
        let event = |time, thread, kind| Event { time, kind, host, processor, process, thread };
        writer.push_event(event(10, 8, coming), [], &names).unwrap();
        writer.push_event(event(20, 8, going), [], &names).unwrap();
        writer.push_event(event(50, 8, coming), [], &names).unwrap();
        let of = [(by, 9), (duration, 40), (signalled, 45)]
            .map(|(name, of)| (name, AttributeValue::Int(of)));
        writer.push_event(event(55, 8, wake), of, &names).unwrap();
        writer.push_event(event(60, 8, going), [], &names).unwrap();
        writer.finish(&names).unwrap();

        let threads = RecordedThreads::read_events(&path, u64::MAX, directory.path()).unwrap();
        let all: Vec<ThreadName<'_>> = threads.thread_names().collect();
        assert_eq!(all[0], ThreadName { host: "h", process: 7, thread: 8 });
        assert_eq!(all[1].thread, 9);
        let slice = |from, to, what| {
            let processor = (what == StepResource::Processor).then_some(3);
            ThreadSlice { from, to, what, processor }
        };
        let expected = [
            slice(10, 20, StepResource::Processor),
            slice(20, 45, StepResource::Lock),
            slice(45, 50, StepResource::Runnable),
            slice(50, 60, StepResource::Processor),
        ];
        assert_eq!(threads.slices_of_thread(0), expected);
        let wakes: Vec<ThreadWake> = threads.wakes_of_thread(0).collect();
        assert_eq!(wakes, [ThreadWake { by: 1, signalled: 45, woken: 55 }]);
        assert_eq!(threads.slices_of_thread(1), []);
        let name = |thread| ThreadName { host: "h", process: 7, thread };
        assert_eq!(
            (threads.find_thread(&name(8)), threads.find_thread(&name(10))),
            (Some(0), None)
        );
        let part = [slice(15, 20, StepResource::Processor), slice(20, 30, StepResource::Lock)];
        assert_eq!(threads.slices_within(0, 15, 30), part);
        assert_eq!(threads.wakes_within(0, 10, 50).count(), 0);
    }
}
