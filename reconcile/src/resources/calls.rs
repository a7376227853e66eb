//! The calls of logs with resources: each becomes an event at once, but for waits that somebody
//! else lets end. Those and what lets them end are kept by object, to be matched.

use clocks::Clocks;
use message_trace::PathError;
use out_of_core::{ExternalSorter, Keyed};
use rustc_hash::FxHashMap;
use socket_log::encode::{Direction, FileOperation, Handoff, Role};
use socket_log::{Entry, Log, Record};
use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::logs::capture::{Capture, LogFile};
use crate::logs::flow_numbers::Places;
use crate::resources::handoffs::{Happening, Signal, Wait, Who};
use crate::resources::own_event::{Kind, OwnEvent};
use crate::resources::what;
use crate::sockets::socket::Sockets;

/// A [`Happening`] on its way to the others of its object.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub(crate) struct HappeningRow {
    /// The process, by its place, or [`HappeningRow::OF_HOST`] and the host.
    pub(crate) owner: u64,
    pub(crate) object: u64,
    /// By what the matching wants them in order.
    at: i64,
    begin: i64,
    end: i64,
    amount: u64,
    /// The process, by its place.
    process: u32,
    thread: i32,
    /// A [`Handoff`], by its number.
    pub(crate) what: u32,
    /// [`SIGNAL`] and [`GAVE_UP`].
    flags: u32,
}

/// In [`HappeningRow::flags`].
const SIGNAL: u32 = 1;
/// In [`HappeningRow::flags`].
const GAVE_UP: u32 = 2;

impl Keyed for HappeningRow {
    type Key = (u64, u32, u64, i64);

    fn key(&self) -> (u64, u32, u64, i64) {
        (self.owner, self.what, self.object, self.at)
    }
}

impl HappeningRow {
    /// In [`HappeningRow::owner`]: the object is one of the host's kernel.
    const OF_HOST: u64 = 1 << 63;

    /// What it is to the matching.
    pub(crate) fn happening(&self) -> Happening {
        let HappeningRow { begin, end, amount, process, thread, flags, .. } = *self;
        let who = Who { process, thread };
        if flags & SIGNAL != 0 {
            Happening::Signal(Signal { time: begin, end, by: who, amount })
        } else {
            Happening::Wait(Wait { begin, end, of: who, gave_up: flags & GAVE_UP != 0, amount })
        }
    }

    /// What it is about: rows with equal values of it are matched together.
    pub(crate) fn about(&self) -> (u64, u32, u64) {
        (self.owner, self.what, self.object)
    }
}

/// What the calls of all logs are read with.
pub(crate) struct Calls<'a> {
    pub(crate) capture: &'a Capture,
    pub(crate) sockets: &'a Sockets,
    /// The number of the connection of a socket.
    pub(crate) connection: &'a dyn Fn(u32) -> i64,
    pub(crate) clocks: &'a Clocks,
}

/// Where they go.
pub(crate) struct Sorters<'a, 'b> {
    pub(crate) events: &'b mut ExternalSorter<'a, OwnEvent>,
    pub(crate) happenings: &'b mut ExternalSorter<'a, HappeningRow>,
}

impl Calls<'_> {
    /// Reads the log of process number `process`. One that cannot be opened any more has none.
    ///
    /// # Errors
    /// When a temporary file cannot be written.
    pub(crate) fn read(&self, process: u32, into: &mut Sorters) -> Result<(), PathError> {
        let Some(file) = self.capture.logs.get(process as usize) else { return Ok(()) };
        let Some(of) = self.capture.processes.get(process as usize) else { return Ok(()) };
        let Ok(log) = Log::open(&file.path) else { return Ok(()) };
        let mut reading = Reading {
            calls: self,
            file,
            process,
            host: of.host,
            pid: of.pid,
            places: self.sockets.places(file),
            open: FxHashMap::default(),
        };
        let mut cursor = file.clock.cursor();
        let mut result = Ok(());
        log.for_each(|entry| {
            if result.is_ok() {
                let mut time =
                    |ticks: u64| self.clocks.common(of.host as usize, cursor.realtime(ticks));
                result = reading.entry(&entry, &mut time, into);
            }
        });
        result
    }
}

/// One log being read.
struct Reading<'a> {
    calls: &'a Calls<'a>,
    file: &'a LogFile,
    process: u32,
    host: u32,
    pid: u32,
    places: Places,
    /// Number of descriptors of each flow that is open.
    open: FxHashMap<u32, u32>,
}

impl Reading<'_> {
    fn entry(
        &mut self,
        entry: &Entry,
        time: &mut impl FnMut(u64) -> i64,
        into: &mut Sorters,
    ) -> Result<(), PathError> {
        let (ticks, thread) = (entry.ticks, entry.tid as i32);
        let (host, pid) = (self.host, self.pid);
        let event = |kind: Kind, time: i64| OwnEvent::new(kind, time, host, pid, thread);
        let long = |ticks: u64| self.file.clock.nanoseconds(ticks) as i64;
        let event = match &entry.record {
            Record::Transfer { direction, flow, bytes, duration }
            | Record::Datagram { direction, flow, bytes, duration, peeked: false, .. } => {
                let Some(connection) = self.connection(*flow) else { return Ok(()) };
                // A send has the time of its call.
                let (kind, end) = match direction {
                    Direction::Send => (Kind::Send, ticks.saturating_add(*duration)),
                    Direction::Receive => (Kind::Receive, ticks),
                };
                let bytes = i64::try_from(*bytes).unwrap_or(i64::MAX);
                event(kind, time(end)).with([connection, bytes, long(*duration)])
            }
            Record::Flow(flow) => {
                self.open.insert(flow.flow, 1);
                return Ok(());
            }
            Record::Duplicate { flow, .. } => {
                *self.open.entry(*flow).or_insert(1) += 1;
                return Ok(());
            }
            Record::Close { flow, .. } => {
                let left = self.open.entry(*flow).or_insert(1);
                *left = left.saturating_sub(1);
                if *left > 0 {
                    return Ok(());
                }
                self.open.remove(flow);
                let Some(connection) = self.connection(*flow) else { return Ok(()) };
                event(Kind::Close, time(ticks)).with([connection])
            }
            Record::Endpoints { flow, role: Role::Connect | Role::Accept, under_way, .. }
                if !under_way =>
            {
                let Some(socket) = self.places.get(*flow) else { return Ok(()) };
                let connection = (self.calls.connection)(socket);
                let connected = event(Kind::Connection, time(ticks)).with([connection]);
                OwnEvent { word: socket, ..connected }
            }
            Record::Wait { result, duration, .. } => {
                event(Kind::Poll, time(ticks)).with([long(*duration), i64::from(*result)])
            }
            Record::Sleep { duration } => event(Kind::Sleep, time(ticks)).with([long(*duration)]),
            Record::File(file) => {
                let kind = match file.operation {
                    FileOperation::Read => Kind::FileRead,
                    FileOperation::Write => Kind::FileWrite,
                    FileOperation::Sync => Kind::FileSync,
                };
                let bytes = i64::try_from(file.bytes).unwrap_or(i64::MAX);
                event(kind, time(ticks)).with([bytes, long(file.duration)])
            }
            Record::Signal(signal) if !what::is_lock(signal.what) => {
                let begin = time(ticks);
                let end = time(ticks.saturating_add(signal.duration));
                let amount = what::amount(signal.what, signal.amount);
                let amount = if signal.all { u64::MAX } else { amount };
                let row = self.row(signal.what, signal.object, thread, [begin, begin, end]);
                into.happenings.push(HappeningRow { amount, flags: SIGNAL, ..row })?;
                let values = [signal.object as i64, i64::from(signal.all)];
                OwnEvent { word: signal.what as u32, ..event(Kind::Signal, end).with(values) }
            }
            Record::Wake(wake) => {
                let (begin, end) = (time(ticks.saturating_sub(wake.duration)), time(ticks));
                if !what::is_lock(wake.what) {
                    let at = if what::keeps_amounts(wake.what) { end } else { begin };
                    let row = self.row(wake.what, wake.object, thread, [at, begin, end]);
                    let gave_up = wake.timed_out || wake.interrupted;
                    let flags = if gave_up { GAVE_UP } else { 0 };
                    let amount = what::amount(wake.what, wake.amount);
                    return into.happenings.push(HappeningRow { amount, flags, ..row });
                }
                let lock = event(Kind::Lock, end).with([wake.object as i64, end - begin]);
                OwnEvent { word: wake.what as u32, ..lock }
            }
            _ => return Ok(()),
        };
        into.events.push(event)
    }

    /// The number of the connection of a flow.
    fn connection(&self, flow: u32) -> Option<i64> {
        self.places.get(flow).map(|socket| (self.calls.connection)(socket))
    }

    /// What happens at an object by the thread, at, from and until these times.
    fn row(&self, what: Handoff, object: u64, thread: i32, times: [i64; 3]) -> HappeningRow {
        let [at, begin, end] = times;
        let owner = match what::keeps_amounts(what) {
            true => HappeningRow::OF_HOST | u64::from(self.host),
            false => u64::from(self.process),
        };
        let (process, what) = (self.process, what as u32);
        HappeningRow { owner, object, at, begin, end, amount: 0, process, thread, what, flags: 0 }
    }
}
