//! Log of a process under one program: the records that the library would have written, as far as
//! the trace shows.
//!
//! A log numbers its own flows. A socket becomes a flow of the log at its process's first call on
//! the socket, and its names are written again whenever more of them become known. The ticks of the
//! log are nanoseconds since the Unix epoch.

use std::fs::File;
use std::io;

use message_trace::{DataPath, NewFile};
use rustc_hash::FxHashMap;
use socket_log::encode::{
    self, ConnectOutcome, FlowOrigin, FlowRecord, FlowRole, ProcessEvent, RecordWords,
};
use socket_log::layout::{source, state};
use socket_log::write::LogWriter;

use super::sockets::{SocketId, TracedSocket};
use crate::error::Error;
use crate::tuning::{FULL_CHUNKS, NEW_FILE_MODE};

/// Space in a log's header for the host's name, the executable's path and the arguments, including
/// their terminating zeros.
const MAX_HEADER_TEXTS: (usize, usize, usize) = (128, 1024, 2048);

/// Name of a program.
#[derive(Clone, Debug, Default)]
pub(super) struct ProgramIdentity {
    pub(super) executable: String,
    pub(super) arguments: Vec<String>,
}

/// A process's view of a socket.
#[derive(Debug)]
struct SocketView {
    flow: u32,
    /// Connection of the socket that the flow belongs to.
    connection: u32,
    /// Version of the names that was written.
    version: u32,
    /// Descriptors that the log has recorded.
    descriptors: Vec<i32>,
}

/// Log that is being written.
#[derive(Debug)]
pub(super) struct ProcessLog {
    writer: LogWriter,
    /// `None` to write nothing.
    path: Option<DataPath>,
    file: Option<NewFile>,
    views: FxHashMap<SocketId, SocketView>,
    flows: u32,
    /// Salt that distinguishes the socket numbers of this import from other imports.
    salt: u64,
}

/// Thread and time of a record.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecordStamp {
    pub(super) thread: u32,
    pub(super) time: i64,
}

impl RecordStamp {
    fn ticks(self) -> u64 {
        self.time.max(0) as u64
    }
}

impl ProcessLog {
    /// Creates the log of the process `pid`, child of `parent`, that runs `program` since `start`.
    pub(super) fn new(
        host: &str,
        (pid, parent): (u32, u32),
        program: &ProgramIdentity,
        start: i64,
        path: Option<DataPath>,
        salt: u64,
    ) -> ProcessLog {
        let mut writer = LogWriter::new(
            truncate_text(host, MAX_HEADER_TEXTS.0 - 1),
            pid,
            truncate_text(&program.executable, MAX_HEADER_TEXTS.1 - 1),
        );
        let (mut arguments, mut room) = (Vec::new(), MAX_HEADER_TEXTS.2);
        for argument in &program.arguments {
            let argument = truncate_text(argument, room.saturating_sub(1));
            room = room.saturating_sub(argument.len() + 1);
            arguments.push(argument);
            if room <= 1 {
                break;
            }
        }
        writer.set_epoch(0).set_start(RecordStamp { thread: pid, time: start }.ticks());
        writer
            .set_arguments(&arguments)
            .set_parent(parent)
            .set_boot_id([0; 16])
            .set_source(source::STRACE);
        ProcessLog { writer, path, file: None, views: FxHashMap::default(), flows: 0, salt }
    }

    /// Writes a record to the log.
    pub(super) fn write_record<const CAPACITY: usize>(
        &mut self,
        at: RecordStamp,
        words: &RecordWords<CAPACITY>,
    ) {
        self.writer.set_thread(at.thread).raw_record(at.ticks(), words.as_slice());
    }

    /// Records the end of a thread.
    pub(super) fn end_thread(&mut self, thread: u32) {
        self.writer.end_thread(thread);
    }

    /// Writes a transfer of stream bytes.
    pub(super) fn write_transfer(
        &mut self,
        at: RecordStamp,
        direction: encode::Direction,
        flow: u32,
        bytes: u64,
        duration: u64,
    ) {
        let ticks = at.ticks();
        self.writer.set_thread(at.thread);
        match encode::transfer_common(direction, flow, ticks, bytes, duration) {
            Some(words) => self.writer.raw_record(ticks, &words),
            None => {
                let words = encode::transfer_long(direction, flow, ticks, bytes, duration);
                self.writer.raw_record(ticks, words.as_slice())
            }
        };
    }

    /// Writes a transfer of a datagram.
    pub(super) fn write_datagram(&mut self, at: RecordStamp, datagram: &encode::DatagramRecord) {
        self.writer.set_thread(at.thread).datagram(datagram);
    }

    /// Flow of `socket`, to which `fd` refers. A socket that is new to the log is described first,
    /// and a socket with changed names is named again. `listener` is the flow on which the socket
    /// was accepted, 0 for none.
    pub(super) fn flow_of_socket(
        &mut self,
        at: RecordStamp,
        id: SocketId,
        socket: &TracedSocket,
        fd: i32,
        listener: u32,
    ) -> u32 {
        let known = self.views.get(&id).filter(|view| view.connection == socket.connection);
        if let Some(view) = known
            && view.version == socket.version
            && view.descriptors.contains(&fd)
        {
            return view.flow;
        }
        if known.is_none() {
            self.begin_flow(at, id, socket, fd, listener);
        }
        let Some(view) = self.views.get_mut(&id) else { return 0 };
        let flow = view.flow;
        let first = view.descriptors.first().copied().unwrap_or(fd);
        let is_new = !view.descriptors.contains(&fd);
        let is_named = std::mem::replace(&mut view.version, socket.version) == socket.version;
        if is_new {
            view.descriptors.push(fd);
            self.write_record(at, &encode::duplicate_record(at.ticks(), flow, first, fd));
        }
        if !is_named {
            self.write_names(at, flow, socket);
        }
        flow
    }

    /// Begins a flow: the socket's first one here, or the next one after it was connected anew.
    fn begin_flow(
        &mut self,
        at: RecordStamp,
        id: SocketId,
        socket: &TracedSocket,
        fd: i32,
        listener: u32,
    ) {
        let mut descriptors = vec![fd];
        if let Some(former) = self.views.remove(&id) {
            for fd in &former.descriptors {
                self.write_record(at, &encode::close_record(at.ticks(), former.flow, *fd));
            }
            descriptors = former.descriptors;
        }
        self.flows += 1;
        let flow = self.flows;
        let is_again = socket.connection > 0;
        let what = FlowRecord {
            flow,
            fd: descriptors.first().copied().unwrap_or(fd),
            domain: socket.domain,
            kind: socket.kind,
            protocol: socket.protocol,
            origin: if is_again { FlowOrigin::Socket } else { socket.origin },
            // With the same kernel id, the socket's former flow and this one would count as one.
            cookie: if is_again { 0 } else { self.socket_cookie(id) },
            listener,
            namespace: 0,
        };
        self.write_record(at, &encode::flow_record(at.ticks(), &what));
        for other in descriptors.iter().skip(1) {
            self.write_record(at, &encode::duplicate_record(at.ticks(), flow, what.fd, *other));
        }
        self.views.insert(
            id,
            SocketView { flow, connection: socket.connection, version: 0, descriptors },
        );
    }

    /// Flow of a socket in this log, 0 for none.
    pub(super) fn known_flow_or_zero(&self, id: SocketId) -> u32 {
        self.views.get(&id).map_or(0, |view| view.flow)
    }

    /// Number of the log's sockets.
    pub(super) fn socket_count(&self) -> u32 {
        self.flows
    }

    fn write_names(&mut self, at: RecordStamp, flow: u32, socket: &TracedSocket) {
        let is_unnamed = matches!(socket.role, FlowRole::Bind | FlowRole::Unknown)
            && !socket.has_name()
            && socket.peer.is_empty();
        if !is_unnamed {
            let (local, peer) = (&socket.local, &socket.peer);
            // A connect is written with the time of the call, as still in progress.
            let is_call = socket.role == FlowRole::Connect;
            let connect = is_call.then_some(ConnectOutcome { took: 0, under_way: true });
            let (now, pid) = (at.ticks(), socket.peer_pid);
            self.write_record(
                at,
                &encode::endpoints_record(now, flow, socket.role, local, peer, pid, connect),
            );
        }
    }

    /// Records that `fd` no longer refers to the socket.
    pub(super) fn close_descriptor(&mut self, at: RecordStamp, id: SocketId, fd: i32) {
        let Some(view) = self.views.get_mut(&id) else { return };
        let Some(place) = view.descriptors.iter().position(|known| *known == fd) else { return };
        view.descriptors.remove(place);
        let flow = view.flow;
        if view.descriptors.is_empty() {
            self.views.remove(&id);
        }
        self.write_record(at, &encode::close_record(at.ticks(), flow, fd));
    }

    /// Replacement for the kernel's id of a socket, which must differ from all ids in other logs.
    fn socket_cookie(&self, id: SocketId) -> u64 {
        1 << 63 | self.salt.wrapping_add(id)
    }

    /// Writes full chunks to the file if there are many.
    pub(super) fn flush_if_large(&mut self) -> Result<(), Error> {
        if self.writer.full_chunks() < FULL_CHUNKS {
            return Ok(());
        }
        self.write_with(LogWriter::spill_full_chunks)
    }

    fn write_with(
        &mut self,
        write: impl FnOnce(&mut LogWriter, &File) -> io::Result<()>,
    ) -> Result<(), Error> {
        let Some(path) = &self.path else { return Ok(()) };
        let file = match self.file.take() {
            Some(file) => file,
            None => create_file(path).map_err(|error| Error::from_io(path, error))?,
        };
        write(&mut self.writer, file.file()).map_err(|error| Error::from_io(path, error))?;
        self.file = Some(file);
        Ok(())
    }

    /// Finishes the log, as the process has ended or executed another program, or the trace is
    /// over.
    pub(super) fn finish(mut self, at: RecordStamp, end: ProcessLogEnd) -> Result<(), Error> {
        let (event, ending) = match end {
            ProcessLogEnd::Exited(status) => (Some((ProcessEvent::Exit, status)), state::EXITED),
            ProcessLogEnd::Killed(status) => (Some((ProcessEvent::Exit, status)), state::RUNNING),
            ProcessLogEnd::Replaced => (Some((ProcessEvent::Exec, 0)), state::REPLACED),
            ProcessLogEnd::Unknown => (None, state::RUNNING),
        };
        if let Some((event, value)) = event {
            self.write_record(at, &encode::process_record(at.ticks(), event, value));
        }
        self.writer.set_state(ending);
        self.write_with(|writer, file| writer.finish_file(file))?;
        match (&self.path, self.file.take()) {
            (Some(path), Some(file)) => file.commit().map_err(|error| Error::from_io(path, error)),
            _ => Ok(()),
        }
    }
}

/// How a process's log ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProcessLogEnd {
    /// By `exit`, with this status.
    Exited(i32),
    /// By a signal, or unseen.
    Killed(i32),
    /// Another program runs in the process.
    Replaced,
    /// The end of the process was not seen.
    Unknown,
}

fn create_file(path: &DataPath) -> io::Result<NewFile> {
    path.parent().create_dir_all()?;
    path.create_as(NEW_FILE_MODE)
}

/// Part of a text that fits, in whole characters.
fn truncate_text(text: &str, room: usize) -> &str {
    let mut end = room.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or("")
}
