//! Calls of logs with resources: each becomes an event immediately, except for waits that another
//! thread ends. Waits of this kind and their signals are stored by object, to be matched.

use clocks::ClockModel;
use message_trace::PathError;
use out_of_core::{ExternalSorter, KeyedRecord};
use rustc_hash::FxHashMap;
use socket_log::encode::{Direction, FileOperation, FlowRole, HandoffObject};
use socket_log::{LogEntry, LogRecord, SocketLog};
use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::indices::{HostIndex, ProcessIndex, SocketIndex};
use crate::logs::capture::{Capture, LogFile};
use crate::logs::flow_numbers::FlowPlaces;
use crate::resources::handoff_kinds;
use crate::resources::handoffs::{HandoffEvent, HandoffSignal, HandoffWait, RecordedThread};
use crate::resources::own_event::{OwnEvent, OwnEventKind};
use crate::sockets::socket::KernelSockets;

/// A [`HandoffEvent`] to be sorted by its object.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub(crate) struct HandoffEventRow {
    /// The process, by its index, or [`HandoffEventRow::OF_HOST`] and the host.
    pub(crate) owner: u64,
    pub(crate) object: u64,
    /// Time by which matching needs the rows sorted, in nanoseconds on the common clock.
    at: i64,
    /// Time when the call was made, on the same clock.
    begin: i64,
    /// Time when the call returned, on the same clock.
    end: i64,
    amount: u64,
    process: ProcessIndex,
    thread: i32,
    /// A [`HandoffObject`], by its number.
    pub(crate) what: u32,
    /// [`SIGNAL`] and [`GAVE_UP`].
    flags: u32,
}

/// In `HandoffEventRow::flags`: the row is a signal, not a wait.
const SIGNAL: u32 = 1;
/// In `HandoffEventRow::flags`: the wait ended for another reason than a signal.
const GAVE_UP: u32 = 2;

impl KeyedRecord for HandoffEventRow {
    type Key = (u64, u32, u64, i64);

    fn key(&self) -> (u64, u32, u64, i64) {
        (self.owner, self.what, self.object, self.at)
    }
}

impl HandoffEventRow {
    /// In `HandoffEventRow::owner`: the object belongs to the host's kernel.
    const OF_HOST: u64 = 1 << 63;

    /// Converts the row for matching.
    pub(crate) fn to_handoff_event(&self) -> HandoffEvent {
        let HandoffEventRow { begin, end, amount, process, thread, flags, .. } = *self;
        let caller = RecordedThread { process, thread };
        if flags & SIGNAL != 0 {
            HandoffEvent::Signal(HandoffSignal { time: begin, end, by: caller, amount })
        } else {
            HandoffEvent::Wait(HandoffWait {
                begin,
                end,
                of: caller,
                gave_up: flags & GAVE_UP != 0,
                amount,
            })
        }
    }

    /// The object: rows with equal keys are matched together.
    pub(crate) fn match_key(&self) -> (u64, u32, u64) {
        (self.owner, self.what, self.object)
    }
}

/// Inputs of reading the calls of all logs.
pub(crate) struct ResourceCalls<'a> {
    pub(crate) capture: &'a Capture,
    pub(crate) sockets: &'a KernelSockets,
    /// The number of the connection of a socket.
    pub(crate) connection: &'a dyn Fn(SocketIndex) -> i64,
    pub(crate) clocks: &'a ClockModel,
}

/// Destinations of the calls.
pub(crate) struct ResourceSorters<'a, 'b> {
    pub(crate) events: &'b mut ExternalSorter<'a, OwnEvent>,
    pub(crate) handoff_events: &'b mut ExternalSorter<'a, HandoffEventRow>,
}

impl ResourceCalls<'_> {
    /// Reads the log of the process. A log that cannot be opened any more has no
    /// calls.
    ///
    /// # Errors
    /// Fails if a temporary file cannot be written.
    pub(crate) fn read_log(
        &self,
        process: ProcessIndex,
        into: &mut ResourceSorters,
    ) -> Result<(), PathError> {
        let Some(file) = self.capture.logs.get(process.index()) else { return Ok(()) };
        let Some(of) = self.capture.processes.get(process.index()) else { return Ok(()) };
        let Ok(log) = SocketLog::open(&file.path) else { return Ok(()) };
        let mut reading = ResourceLogReader {
            calls: self,
            file,
            process,
            host: of.host,
            pid: of.pid,
            places: self.sockets.places_of_log(file),
            open: FxHashMap::default(),
        };
        let mut cursor = file.clock.cursor();
        let mut result = Ok(());
        log.for_each(|entry| {
            if result.is_ok() {
                let mut time =
                    |ticks: u64| self.clocks.common_time(of.host.index(), cursor.realtime(ticks));
                result = reading.read_entry(&entry, &mut time, into);
            }
        });
        result
    }
}

/// One log being read.
struct ResourceLogReader<'a> {
    calls: &'a ResourceCalls<'a>,
    file: &'a LogFile,
    process: ProcessIndex,
    host: HostIndex,
    pid: u32,
    places: FlowPlaces<SocketIndex>,
    /// Number of open descriptors of each flow.
    open: FxHashMap<u32, u32>,
}

impl ResourceLogReader<'_> {
    /// Converts a record to an event, or to a row for matching hand-offs. `time` converts ticks.
    fn read_entry(
        &mut self,
        entry: &LogEntry,
        time: &mut impl FnMut(u64) -> i64,
        into: &mut ResourceSorters,
    ) -> Result<(), PathError> {
        let (ticks, thread) = (entry.ticks, entry.tid as i32);
        let (host, pid) = (self.host, self.pid);
        let event = |kind: OwnEventKind, time: i64| OwnEvent::new(kind, time, host, pid, thread);
        let long = |ticks: u64| self.file.clock.duration_nanoseconds(ticks) as i64;
        let event = match &entry.record {
            LogRecord::Transfer { direction, flow, bytes, duration }
            | LogRecord::Datagram { direction, flow, bytes, duration, peeked: false, .. } => {
                let Some(connection) = self.connection_of_flow(*flow) else { return Ok(()) };
                // A send is recorded with the time of its call.
                let (kind, end) = match direction {
                    Direction::Send => (OwnEventKind::Send, ticks.saturating_add(*duration)),
                    Direction::Receive => (OwnEventKind::Receive, ticks),
                };
                let bytes = i64::try_from(*bytes).unwrap_or(i64::MAX);
                event(kind, time(end)).with_values([connection, bytes, long(*duration)])
            }
            LogRecord::Flow(flow) => {
                self.open.insert(flow.flow, 1);
                return Ok(());
            }
            LogRecord::Duplicate { flow, .. } => {
                *self.open.entry(*flow).or_insert(1) += 1;
                return Ok(());
            }
            LogRecord::Close { flow, .. } => {
                let left = self.open.entry(*flow).or_insert(1);
                *left = left.saturating_sub(1);
                if *left > 0 {
                    return Ok(());
                }
                self.open.remove(flow);
                let Some(connection) = self.connection_of_flow(*flow) else { return Ok(()) };
                event(OwnEventKind::Close, time(ticks)).with_values([connection])
            }
            LogRecord::Endpoints {
                flow,
                role: FlowRole::Connect | FlowRole::Accept,
                under_way,
                ..
            } if !under_way => {
                let Some(socket) = self.places.get(*flow) else { return Ok(()) };
                let connection = (self.calls.connection)(socket);
                let connected =
                    event(OwnEventKind::Connection, time(ticks)).with_values([connection]);
                OwnEvent { word: socket.index() as u32, ..connected }
            }
            LogRecord::Wait { result, duration, .. } => event(OwnEventKind::Poll, time(ticks))
                .with_values([long(*duration), i64::from(*result)]),
            LogRecord::Sleep { duration } => {
                event(OwnEventKind::Sleep, time(ticks)).with_values([long(*duration)])
            }
            LogRecord::File(file) => {
                let kind = match file.operation {
                    FileOperation::Read => OwnEventKind::FileRead,
                    FileOperation::Write => OwnEventKind::FileWrite,
                    FileOperation::Sync => OwnEventKind::FileSync,
                };
                let bytes = i64::try_from(file.bytes).unwrap_or(i64::MAX);
                event(kind, time(ticks)).with_values([bytes, long(file.duration)])
            }
            LogRecord::Signal(signal) if !handoff_kinds::is_lock(signal.what) => {
                let begin = time(ticks);
                let end = time(ticks.saturating_add(signal.duration));
                let amount = handoff_kinds::signal_amount(signal.what, signal.amount);
                let amount = if signal.all { u64::MAX } else { amount };
                let row = self.make_row(signal.what, signal.object, thread, [begin, begin, end]);
                into.handoff_events.push(HandoffEventRow { amount, flags: SIGNAL, ..row })?;
                let values = [signal.object as i64, i64::from(signal.all)];
                OwnEvent {
                    word: signal.what as u32,
                    ..event(OwnEventKind::Signal, end).with_values(values)
                }
            }
            LogRecord::Wake(wake) => {
                let (begin, end) = (time(ticks.saturating_sub(wake.duration)), time(ticks));
                if !handoff_kinds::is_lock(wake.what) {
                    let at = if handoff_kinds::keeps_amounts(wake.what) { end } else { begin };
                    let row = self.make_row(wake.what, wake.object, thread, [at, begin, end]);
                    let gave_up = wake.timed_out || wake.interrupted;
                    let flags = if gave_up { GAVE_UP } else { 0 };
                    let amount = handoff_kinds::signal_amount(wake.what, wake.amount);
                    return into.handoff_events.push(HandoffEventRow { amount, flags, ..row });
                }
                let lock =
                    event(OwnEventKind::Lock, end).with_values([wake.object as i64, end - begin]);
                OwnEvent { word: wake.what as u32, ..lock }
            }
            _ => return Ok(()),
        };
        into.events.push(event)
    }

    /// The number of the connection of a flow.
    fn connection_of_flow(&self, flow: u32) -> Option<i64> {
        self.places.get(flow).map(|socket| (self.calls.connection)(socket))
    }

    /// Row of a thread's action at an object. `times` are the sort key, the beginning and the end.
    fn make_row(
        &self,
        what: HandoffObject,
        object: u64,
        thread: i32,
        times: [i64; 3],
    ) -> HandoffEventRow {
        let [at, begin, end] = times;
        let owner = match handoff_kinds::keeps_amounts(what) {
            true => HandoffEventRow::OF_HOST | u64::from(self.host.number()),
            false => self.process.index() as u64,
        };
        let (process, what) = (self.process, what as u32);
        HandoffEventRow {
            owner,
            object,
            at,
            begin,
            end,
            amount: 0,
            process,
            thread,
            what,
            flags: 0,
        }
    }
}
