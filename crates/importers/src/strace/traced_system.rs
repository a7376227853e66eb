//! Traced system at the current line: threads, processes, their descriptors and sockets, and the
//! logs that are being written.

use message_trace::DataPath;
use rustc_hash::{FxHashMap, FxHashSet};
use socket_log::encode::{self, FlowOrigin};

use super::address;
use super::connection_names::{NamelessConnections, OwnNames};
use super::descriptor::{self, DecoratedDescriptor, DecoratedSocket};
use super::log::{ProcessLog, ProcessLogEnd, ProgramIdentity, RecordStamp};
use super::outcome::StraceOutcome;
use super::sockets::{SocketId, SocketTable};
use super::tables::{DescriptorEntry, DescriptorTables, TableId};
use crate::error::Error;

/// Number of a process. The kernel reuses its own numbers.
pub(super) type ProcessId = u32;

/// A process, which may execute several programs one after another.
#[derive(Debug)]
pub(super) struct StraceProcess {
    pub(super) pid: u32,
    pub(super) parent: u32,
    pub(super) table: TableId,
    pub(super) program: ProgramIdentity,
    /// Time when the process's program began, in nanoseconds since the Unix epoch.
    pub(super) started: i64,
    pub(super) log: Option<ProcessLog>,
    /// Whether the process has a log even if it uses no sockets. False for a child that only waits
    /// to execute another program.
    pub(super) counts: bool,
    /// Number of the process's threads, as far as they are known.
    pub(super) threads: u32,
    /// Time when the process called `exit`, in nanoseconds since the Unix epoch.
    pub(super) exits: Option<i64>,
}

/// Destination of the logs, and their metadata.
#[derive(Clone, Debug)]
pub(super) struct LogDestination {
    pub(super) host: String,
    /// `None` to write nothing.
    pub(super) directory: Option<DataPath>,
    /// Salt that distinguishes the socket numbers of this import from other imports.
    pub(super) salt: u64,
}

/// State of the traced system at the current line.
#[derive(Debug)]
pub(super) struct TracedSystem {
    pub(super) place: LogDestination,
    pub(super) processes: FxHashMap<ProcessId, StraceProcess>,
    next: ProcessId,
    pub(super) tables: DescriptorTables,
    pub(super) sockets: SocketTable,
    pub(super) imported: StraceOutcome,
    /// Paths of the logs of this import.
    names: FxHashSet<DataPath>,
    /// Error of the first log that could not be written.
    pub(super) failed: Option<Error>,
    /// Own names of sockets from an earlier reading of the files.
    pub(super) own_names: OwnNames,
    /// Connections with an unknown own name at the connecting end.
    pub(super) unnamed: NamelessConnections,
    /// Number of calls that gave a socket its names, by thread, time and descriptor.
    namings: FxHashMap<(u32, i64, i32), u32>,
}

/// Descriptor number in a log for a socket without a descriptor in the process.
const NO_DESCRIPTOR: i32 = -1;

/// Caller of a call, with a time.
#[derive(Clone, Copy, Debug)]
pub(super) struct StraceCaller {
    pub(super) thread: u32,
    pub(super) process: ProcessId,
    pub(super) time: i64,
}

impl StraceCaller {
    pub(super) fn to_stamp(self) -> RecordStamp {
        RecordStamp { thread: self.thread, time: self.time }
    }

    /// The caller at the time `time`, in nanoseconds since the Unix epoch.
    pub(super) fn at_time(self, time: i64) -> StraceCaller {
        StraceCaller { time, ..self }
    }
}

impl TracedSystem {
    pub(super) fn new(place: LogDestination, own_names: OwnNames) -> TracedSystem {
        TracedSystem {
            place,
            processes: FxHashMap::default(),
            next: 0,
            tables: DescriptorTables::default(),
            sockets: SocketTable::default(),
            imported: StraceOutcome::default(),
            names: FxHashSet::default(),
            failed: None,
            own_names,
            unnamed: NamelessConnections::default(),
            namings: FxHashMap::default(),
        }
    }

    /// Adds a process with one thread.
    pub(super) fn add_process(
        &mut self,
        pid: u32,
        parent: u32,
        table: TableId,
        program: ProgramIdentity,
        started: i64,
        counts: bool,
    ) -> ProcessId {
        self.next += 1;
        let process = StraceProcess {
            pid,
            parent,
            table,
            program,
            started,
            log: None,
            counts,
            threads: 1,
            exits: None,
        };
        self.processes.insert(self.next, process);
        self.next
    }

    pub(super) fn table_of_process(&self, process: ProcessId) -> TableId {
        self.processes.get(&process).map_or(0, |process| process.table)
    }

    pub(super) fn pid_of_process(&self, process: ProcessId) -> u32 {
        self.processes.get(&process).map_or(0, |process| process.pid)
    }

    /// Log of the process, which begins now if there is none.
    pub(super) fn log_of_process(&mut self, process: ProcessId) -> Option<&mut ProcessLog> {
        let (place, names) = (&self.place, &mut self.names);
        let process = self.processes.get_mut(&process)?;
        if process.log.is_none() {
            let directory = place.directory.as_ref();
            let path = directory
                .map(|directory| file_name(directory, process.pid, process.started, names));
            self.imported.replaced |= path.as_ref().is_some_and(|path| path.exists());
            let pids = (process.pid, process.parent);
            process.log = Some(ProcessLog::new(
                &place.host,
                pids,
                &process.program,
                process.started,
                path,
                place.salt,
            ));
        }
        process.log.as_mut()
    }

    /// Flow of the socket in the process's log, which is described there if necessary. 0 for a
    /// socket that is gone.
    pub(super) fn flow_of_socket(
        &mut self,
        caller: StraceCaller,
        socket: SocketId,
        fd: i32,
    ) -> u32 {
        if self.log_of_process(caller.process).is_none() {
            return 0;
        }
        let log = self.processes.get_mut(&caller.process).and_then(|process| process.log.as_mut());
        let (Some(log), Some(what)) = (log, self.sockets.get(socket)) else { return 0 };
        let listener = what.listener.map_or(0, |listener| log.known_flow_or_zero(listener));
        let flow = log.flow_of_socket(caller.to_stamp(), socket, what, fd, listener);
        if let Some(what) = self.sockets.get_mut(socket) {
            // Other processes and programs obtain the socket differently.
            what.origin = FlowOrigin::Found;
        }
        flow
    }

    /// Sets the own name that an earlier reading of the files found for the socket `id`. The socket
    /// connected at `time`, or was accepted at `time` if it `accepts`.
    pub(super) fn set_own_name(
        &mut self,
        caller: StraceCaller,
        time: i64,
        id: SocketId,
        fd: i32,
        accepts: bool,
    ) {
        let Some(socket) = self.sockets.get_mut(id) else { return };
        let before = self.namings.entry((caller.thread, caller.time, fd)).or_default();
        let by = (caller.thread, caller.time, fd, *before);
        *before += 1;
        if let Some(name) = self.own_names.get(&by)
            && address::names_agree(&socket.local, name)
        {
            socket.local.clone_from(name);
            socket.version += 1;
        }
        self.unnamed.add_end(by, time, id, socket, accepts);
    }

    /// Writes a record to the process's log.
    pub(super) fn write_record<const CAPACITY: usize>(
        &mut self,
        caller: StraceCaller,
        words: &encode::RecordWords<CAPACITY>,
    ) {
        if let Some(log) = self.log_of_process(caller.process) {
            log.write_record(caller.to_stamp(), words);
        }
    }

    /// Socket of a descriptor, `None` if the descriptor is not a socket: from the table, unless the
    /// descriptor's decoration contradicts, or otherwise from the decoration.
    pub(super) fn socket_of_descriptor(
        &mut self,
        caller: StraceCaller,
        descriptor: DecoratedDescriptor,
    ) -> Option<SocketId> {
        let DecoratedDescriptor { number, decoration } = descriptor;
        let table = self.table_of_process(caller.process);
        let entry = self.tables.get(table, number);
        if let Some(DescriptorEntry { socket, .. }) = entry {
            let known = self.sockets.get(socket);
            if decoration.is_empty() || known.is_some_and(|known| known.decoration == decoration) {
                return Some(socket);
            }
            if let Some(seen) = descriptor::parse_socket(decoration)
                && self.sockets.apply_decoration(socket, decoration, &seen)
            {
                self.pair_socket(caller, socket, number, &seen);
                return Some(socket);
            }
            // The descriptor was closed unseen, and its number was reused.
            self.forget_descriptor(caller, number);
        }
        // Paths begin with a slash; most descriptors are files.
        if decoration.is_empty() || decoration.starts_with(b"/") {
            return None;
        }
        let seen = descriptor::parse_socket(decoration)?;
        let socket = match self.sockets.find_decorated(&seen) {
            Some(socket) if self.sockets.apply_decoration(socket, decoration, &seen) => socket,
            _ => {
                let found = self.sockets.add_decorated(
                    &seen,
                    decoration,
                    self.pid_of_process(caller.process),
                );
                self.imported.unknown_sockets += u64::from(found.is_none());
                found?
            }
        };
        self.tables.set(
            table,
            number,
            DescriptorEntry { socket, closes_on_exec: false },
            &mut self.sockets,
        );
        self.pair_socket(caller, socket, number, &seen);
        Some(socket)
    }

    /// Relates the ends of a pair that was created unseen, possibly in a process that is gone, by
    /// their inodes: the log of the process that uses the second end records that they are one
    /// pair. The first end is described there for that only.
    fn pair_socket(
        &mut self,
        caller: StraceCaller,
        socket: SocketId,
        fd: i32,
        seen: &DecoratedSocket,
    ) {
        let other = seen.peer_inode.and_then(|inode| self.sockets.socket_of_inode(inode));
        let Some(other) = other.filter(|other| self.sockets.pair_sockets(socket, *other)) else {
            return;
        };
        let flow = self.flow_of_socket(caller, socket, fd);
        let known =
            self.log_of_process(caller.process).map_or(0, |log| log.known_flow_or_zero(other));
        let of_other =
            if known == 0 { self.flow_of_socket(caller, other, NO_DESCRIPTOR) } else { known };
        self.write_record(
            caller,
            &encode::socket_pair_record(caller.to_stamp().time.max(0) as u64, flow, of_other),
        );
        if let Some(log) = self.log_of_process(caller.process).filter(|_| known == 0) {
            log.close_descriptor(caller.to_stamp(), other, NO_DESCRIPTOR);
        }
    }

    /// Removes a descriptor of the process that is closed, or was closed unseen.
    pub(super) fn forget_descriptor(&mut self, caller: StraceCaller, fd: i32) {
        let Some(entry) = self.tables.remove(self.table_of_process(caller.process), fd) else {
            return;
        };
        if let Some(log) =
            self.processes.get_mut(&caller.process).and_then(|process| process.log.as_mut())
        {
            log.close_descriptor(caller.to_stamp(), entry.socket, fd);
        }
        self.sockets.drop_reference(entry.socket);
    }

    /// Makes `fd` of the process refer to `socket` from now on.
    pub(super) fn set_descriptor(
        &mut self,
        caller: StraceCaller,
        fd: i32,
        socket: SocketId,
        closes_on_exec: bool,
    ) {
        self.sockets.add_reference(socket);
        self.forget_descriptor(caller, fd);
        let table = self.table_of_process(caller.process);
        self.tables.set(table, fd, DescriptorEntry { socket, closes_on_exec }, &mut self.sockets);
        self.sockets.drop_reference(socket);
    }

    /// Writes full chunks of the process's log.
    pub(super) fn flush_log(&mut self, process: ProcessId) {
        let log = self.processes.get_mut(&process).and_then(|process| process.log.as_mut());
        if let Some(log) = log
            && let Err(error) = log.flush_if_large()
        {
            self.failed.get_or_insert(error);
        }
    }

    /// Finishes the process's log.
    pub(super) fn finish_log(&mut self, caller: StraceCaller, end: ProcessLogEnd) {
        let counts = self.processes.get(&caller.process).is_some_and(|process| process.counts);
        if counts {
            // A process that used no sockets is in the trace all the same.
            self.log_of_process(caller.process);
        }
        let Some(log) =
            self.processes.get_mut(&caller.process).and_then(|process| process.log.take())
        else {
            return;
        };
        self.imported.sockets += u64::from(log.socket_count());
        if let Err(error) = log.finish(caller.to_stamp(), end) {
            self.failed.get_or_insert(error);
        }
    }

    /// Ends the process, or its part of the trace.
    pub(super) fn end_process(&mut self, caller: StraceCaller, end: ProcessLogEnd) {
        self.finish_log(caller, end);
        if let Some(process) = self.processes.remove(&caller.process) {
            self.tables.leave_table(process.table, &mut self.sockets);
        }
    }

    /// Paths of the logs that this import has begun.
    pub(super) fn log_paths(&self) -> impl Iterator<Item = &DataPath> {
        self.names.iter()
    }
}

/// File name of a process's log: unique, and equal for equal imports.
fn file_name(
    directory: &DataPath,
    pid: u32,
    started: i64,
    names: &mut FxHashSet<DataPath>,
) -> DataPath {
    let path = directory.join(format!("{pid}-{started}-strace.sclog"));
    if names.insert(path.clone()) {
        return path;
    }
    let mut again = 2;
    loop {
        let path = directory.join(format!("{pid}-{started}-strace-{again}.sclog"));
        if names.insert(path.clone()) {
            return path;
        }
        again += 1;
    }
}
