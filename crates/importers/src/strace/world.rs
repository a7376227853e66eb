//! What the trace tells of, at the moment that has been reached: threads, processes, their
//! descriptors and sockets, and the logs that are being written of them.

use message_trace::DataPath;
use rustc_hash::{FxHashMap, FxHashSet};
use socket_log::encode::{self, Origin};

use super::address;
use super::descriptor::{self, DecoratedSocket, Descriptor};
use super::log::{At, End, Log, Program};
use super::outcome::Imported;
use super::sockets::{SocketId, Sockets};
use super::tables::{Entry, TableId, Tables};
use super::unnamed::{OwnNames, Unnamed};
use crate::error::Error;

/// A process's number. The kernel uses its own again.
pub(super) type ProcessId = u32;

/// A process under one program after another.
#[derive(Debug)]
pub(super) struct Process {
    pub(super) pid: u32,
    pub(super) parent: u32,
    pub(super) table: TableId,
    pub(super) program: Program,
    /// When its program began.
    pub(super) started: i64,
    pub(super) log: Option<Log>,
    /// Whether it has a log even if it uses no sockets: a child that only waits to become another
    /// program has none.
    pub(super) counts: bool,
    /// Its threads, as far as they are known.
    pub(super) threads: u32,
    /// When it called `exit`.
    pub(super) exits: Option<i64>,
}

/// Where the logs go, and what they say of where they come from.
#[derive(Clone, Debug)]
pub(super) struct Destination {
    pub(super) host: String,
    /// `None`: nothing is written.
    pub(super) directory: Option<DataPath>,
    /// Sets apart the socket numbers of this import from those of others.
    pub(super) salt: u64,
}

/// State of the traced system at the line that has been read.
#[derive(Debug)]
pub(super) struct World {
    pub(super) place: Destination,
    pub(super) processes: FxHashMap<ProcessId, Process>,
    next: ProcessId,
    pub(super) tables: Tables,
    pub(super) sockets: Sockets,
    pub(super) imported: Imported,
    names: FxHashSet<DataPath>,
    /// The first log that could not be written.
    pub(super) failed: Option<Error>,
    /// The own names of sockets that an earlier reading of the files has found.
    pub(super) own_names: OwnNames,
    /// Connections whose names are looked for.
    pub(super) unnamed: Unnamed,
    /// Number of calls that gave a socket its names, by thread, time and descriptor.
    namings: FxHashMap<(u32, i64, i32), u32>,
}

/// What a process has of a socket that is only spoken of.
const NO_DESCRIPTOR: i32 = -1;

/// Who makes a call, and when.
#[derive(Clone, Copy, Debug)]
pub(super) struct Who {
    pub(super) thread: u32,
    pub(super) process: ProcessId,
    pub(super) time: i64,
}

impl Who {
    pub(super) fn at(self) -> At {
        At { thread: self.thread, time: self.time }
    }

    /// The same at another time.
    pub(super) fn later(self, time: i64) -> Who {
        Who { time, ..self }
    }
}

impl World {
    pub(super) fn new(place: Destination, own_names: OwnNames) -> World {
        World {
            place,
            processes: FxHashMap::default(),
            next: 0,
            tables: Tables::default(),
            sockets: Sockets::default(),
            imported: Imported::default(),
            names: FxHashSet::default(),
            failed: None,
            own_names,
            unnamed: Unnamed::default(),
            namings: FxHashMap::default(),
        }
    }

    /// A process with one thread.
    pub(super) fn add(
        &mut self,
        pid: u32,
        parent: u32,
        table: TableId,
        program: Program,
        started: i64,
        counts: bool,
    ) -> ProcessId {
        self.next += 1;
        let process = Process {
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

    pub(super) fn table(&self, process: ProcessId) -> TableId {
        self.processes.get(&process).map_or(0, |process| process.table)
    }

    pub(super) fn pid(&self, process: ProcessId) -> u32 {
        self.processes.get(&process).map_or(0, |process| process.pid)
    }

    /// The process's log, begun now if it has none.
    pub(super) fn log(&mut self, process: ProcessId) -> Option<&mut Log> {
        let (place, names) = (&self.place, &mut self.names);
        let process = self.processes.get_mut(&process)?;
        if process.log.is_none() {
            let directory = place.directory.as_ref();
            let path = directory
                .map(|directory| file_name(directory, process.pid, process.started, names));
            self.imported.replaced |= path.as_ref().is_some_and(|path| path.exists());
            let pids = (process.pid, process.parent);
            process.log = Some(Log::new(
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

    /// The socket's flow in the process's log, which is described there if need be. 0 for a socket
    /// that is gone.
    pub(super) fn flow(&mut self, who: Who, socket: SocketId, fd: i32) -> u32 {
        if self.log(who.process).is_none() {
            return 0;
        }
        let log = self.processes.get_mut(&who.process).and_then(|process| process.log.as_mut());
        let (Some(log), Some(what)) = (log, self.sockets.get(socket)) else { return 0 };
        let listener = what.listener.map_or(0, |listener| log.known_flow(listener));
        let flow = log.flow(who.at(), socket, what, fd, listener);
        if let Some(what) = self.sockets.get_mut(socket) {
            // Other processes and programs come to it in another way.
            what.origin = Origin::Found;
        }
        flow
    }

    /// `socket` has connected or was accepted, by a call of `who` that was made or returned at
    /// `time`: it gets the own name that was found for it.
    pub(super) fn named(&mut self, who: Who, time: i64, id: SocketId, fd: i32, accepts: bool) {
        let Some(socket) = self.sockets.get_mut(id) else { return };
        let before = self.namings.entry((who.thread, who.time, fd)).or_default();
        let by = (who.thread, who.time, fd, *before);
        *before += 1;
        if let Some(name) = self.own_names.get(&by)
            && address::agree(&socket.local, name)
        {
            socket.local.clone_from(name);
            socket.version += 1;
        }
        self.unnamed.add(by, time, id, socket, accepts);
    }

    /// A record in the process's log.
    pub(super) fn record<const CAPACITY: usize>(
        &mut self,
        who: Who,
        words: &encode::Words<CAPACITY>,
    ) {
        if let Some(log) = self.log(who.process) {
            log.record(who.at(), words);
        }
    }

    /// The socket that a descriptor leads to, `None` for anything else: as the table has it, unless
    /// what strace shows contradicts, or else as strace shows it.
    pub(super) fn socket(&mut self, who: Who, descriptor: Descriptor) -> Option<SocketId> {
        let Descriptor { number, decoration } = descriptor;
        let table = self.table(who.process);
        let entry = self.tables.get(table, number);
        if let Some(Entry { socket, .. }) = entry {
            let known = self.sockets.get(socket);
            if decoration.is_empty() || known.is_some_and(|known| known.decoration == decoration) {
                return Some(socket);
            }
            if let Some(seen) = descriptor::socket(decoration)
                && self.sockets.show(socket, decoration, &seen)
            {
                self.pair(who, socket, number, &seen);
                return Some(socket);
            }
            // It was closed out of sight, and its number given to something else.
            self.forget(who, number);
        }
        // Paths begin with a slash; most descriptors are files.
        if decoration.is_empty() || decoration.starts_with(b"/") {
            return None;
        }
        let seen = descriptor::socket(decoration)?;
        let socket = match self.sockets.find(&seen) {
            Some(socket) if self.sockets.show(socket, decoration, &seen) => socket,
            _ => {
                let found = self.sockets.found(&seen, decoration, self.pid(who.process));
                self.imported.unknown_sockets += u64::from(found.is_none());
                found?
            }
        };
        self.tables.set(table, number, Entry { socket, closes_on_exec: false }, &mut self.sockets);
        self.pair(who, socket, number, &seen);
        Some(socket)
    }

    /// The ends of a pair that was made out of sight, maybe in a process that is gone, know each
    /// other by their inodes: the log of who uses the second of them says that they are one. There
    /// the first is described for that only.
    fn pair(&mut self, who: Who, socket: SocketId, fd: i32, seen: &DecoratedSocket) {
        let other = seen.peer_inode.and_then(|inode| self.sockets.of_inode(inode));
        let Some(other) = other.filter(|other| self.sockets.pair(socket, *other)) else { return };
        let flow = self.flow(who, socket, fd);
        let known = self.log(who.process).map_or(0, |log| log.known_flow(other));
        let of_other = if known == 0 { self.flow(who, other, NO_DESCRIPTOR) } else { known };
        self.record(who, &encode::pair(who.at().time.max(0) as u64, flow, of_other));
        if let Some(log) = self.log(who.process).filter(|_| known == 0) {
            log.close(who.at(), other, NO_DESCRIPTOR);
        }
    }

    /// A descriptor of the process is closed, or was out of sight.
    pub(super) fn forget(&mut self, who: Who, fd: i32) {
        let Some(entry) = self.tables.remove(self.table(who.process), fd) else { return };
        if let Some(log) =
            self.processes.get_mut(&who.process).and_then(|process| process.log.as_mut())
        {
            log.close(who.at(), entry.socket, fd);
        }
        self.sockets.release(entry.socket);
    }

    /// `fd` of the process leads to `socket` from now on.
    pub(super) fn give(&mut self, who: Who, fd: i32, socket: SocketId, closes_on_exec: bool) {
        self.sockets.hold(socket);
        self.forget(who, fd);
        let table = self.table(who.process);
        self.tables.set(table, fd, Entry { socket, closes_on_exec }, &mut self.sockets);
        self.sockets.release(socket);
    }

    /// Writes what is full of the process's log.
    pub(super) fn relieve(&mut self, process: ProcessId) {
        let log = self.processes.get_mut(&process).and_then(|process| process.log.as_mut());
        if let Some(log) = log
            && let Err(error) = log.relieve()
        {
            self.failed.get_or_insert(error);
        }
    }

    /// The process's log comes to its end.
    pub(super) fn finish_log(&mut self, who: Who, end: End) {
        let counts = self.processes.get(&who.process).is_some_and(|process| process.counts);
        if counts {
            // One that used no sockets is in the trace all the same.
            self.log(who.process);
        }
        let Some(log) = self.processes.get_mut(&who.process).and_then(|process| process.log.take())
        else {
            return;
        };
        self.imported.sockets += u64::from(log.sockets());
        if let Err(error) = log.finish(who.at(), end) {
            self.failed.get_or_insert(error);
        }
    }

    /// The process has ended, or the trace is over.
    pub(super) fn end(&mut self, who: Who, end: End) {
        self.finish_log(who, end);
        if let Some(process) = self.processes.remove(&who.process) {
            self.tables.leave(process.table, &mut self.sockets);
        }
    }

    /// The logs that this import has begun.
    pub(super) fn logs(&self) -> impl Iterator<Item = &DataPath> {
        self.names.iter()
    }
}

/// The name of a process's log: one of its own, and the same whenever the same file is imported.
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
