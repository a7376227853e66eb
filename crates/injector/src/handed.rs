//! Descriptors that are handed to a blob because its process cannot open them by path: the process
//! has another root directory, or its own mounts.
//!
//! The process creates a socket pair. The recorder duplicates one of the two sockets
//! (`pidfd_getfd`) and sends the descriptors through it. This depends on no path, network namespace
//! or process id, and leaves nothing open across an exec.

mod directory;

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixDatagram;
use std::path::Path;

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use rustix::process::{PidfdGetfdFlags, pidfd_getfd};

use crate::blob::{self, HandedDescriptors};
use crate::memory::ProcessMemory;
use crate::outcome::Error;
use crate::remote::RemoteWorker;
use crate::rights;
use crate::traced_thread::open_pidfd;
use crate::tuning::ANSWER;

/// Number of descriptors.
const COUNT: usize = 2;
/// Size of the words in the blob that hold the descriptors' numbers, in bytes.
const BYTES: usize = HandedDescriptors::BYTES;
/// Size of the area below the program's stack in which a message is described to the kernel, in
/// bytes.
const ROOM: u64 = 256;
/// Offsets in the area for a message: of the I/O vector, of its one byte, of the control data, of
/// the pair of sockets.
const VECTOR: usize = 56;
const BYTE: usize = 72;
const CONTROL: usize = 80;
const PAIR: usize = 160;
/// Size of the control data: its header and the numbers.
const CONTROL_BYTES: usize = 16 + BYTES;

impl HandedDescriptors {
    /// Hands both descriptors to the process of `remote` if it needs them, and writes their numbers
    /// into the `blob` at that address.
    pub(crate) fn give(
        &self,
        remote: &mut RemoteWorker<'_>,
        memory: &ProcessMemory,
        blob: u64,
    ) -> Result<(), Error> {
        const STEP: &str = "handing it the directory of its log";
        let process = remote.process_id();
        if self.is_reached_by(process) {
            return Ok(());
        }
        let failed = |source| Error::Kernel { process, step: STEP, source };
        let directory = self.opened().map_err(failed)?;
        let socket = self.connect_to_recorder().map_err(failed)?;
        let room = remote.free_stack().saturating_sub(ROOM) & !15;
        let kind = (libc::SOCK_DGRAM | libc::SOCK_CLOEXEC) as u64;
        let arguments = [libc::AF_UNIX as u64, kind, 0, room + PAIR as u64, 0, 0];
        remote.system_call(libc::SYS_socketpair, arguments, STEP)?;
        let pair = read_descriptors(&memory.read(room + PAIR as u64, 8)?);
        let files = [directory.as_fd(), socket.as_fd()];
        let taken = duplicate_descriptor(process, pair[1])
            .and_then(|end| send(&end, &files))
            .map_err(failed)
            .and_then(|()| receive(remote, memory, room, pair[0], STEP));
        let closed = pair.map(|number| close(remote, number, STEP));
        let received = taken?;
        // The numbers are written before anything else can fail, or they would be lost.
        let bytes: Vec<u8> = received.iter().flat_map(|number| number.to_le_bytes()).collect();
        memory.write(blob + self.place, &bytes)?;
        closed.into_iter().collect()
    }

    /// Closes the descriptors in a process before its blob is removed. The first error is the more
    /// helpful one.
    pub(crate) fn take_back(
        &self,
        remote: &mut RemoteWorker<'_>,
        memory: &ProcessMemory,
        blob: u64,
    ) {
        let Ok(words) = memory.read(blob + self.place, BYTES) else { return };
        for number in read_descriptors(&words).into_iter().filter(|number| *number > 0) {
            let _ = close(remote, number, "closing its handed descriptors");
        }
    }

    /// Whether both paths lead a process to the same files as this one. A process of another user
    /// may have no permission.
    fn is_reached_by(&self, process: u32) -> bool {
        if !rights::has_effective_user(process, rustix::process::geteuid().as_raw()) {
            return false;
        }
        let is_same = |path: &Path| {
            let own = rustix::fs::stat(path);
            let its = rights::open_target(process, path).map(rustix::fs::fstat);
            match (own, its) {
                (Ok(own), Some(Ok(its))) => (own.st_dev, own.st_ino) == (its.st_dev, its.st_ino),
                // A file that we cannot open cannot be handed over.
                (Err(_), _) => true,
                _ => false,
            }
        };
        is_same(&self.directory) && is_same(&self.socket)
    }

    /// The directory, opened once.
    fn opened(&self) -> io::Result<&OwnedFd> {
        if let Some(opened) = self.opened.get() {
            return Ok(opened);
        }
        let opened = directory::open(&self.directory)?;
        Ok(self.opened.get_or_init(|| opened))
    }

    /// Creates a socket that is connected to the recorder, for the process to send through.
    fn connect_to_recorder(&self) -> io::Result<UnixDatagram> {
        let socket = UnixDatagram::unbound()?;
        // If the recorder is stopped, the process waits no longer than for an answer.
        socket.set_write_timeout(Some(ANSWER))?;
        socket.connect(blob::far_path(&self.socket))?;
        Ok(socket)
    }
}

/// Duplicates a descriptor of the process into this one.
fn duplicate_descriptor(process: u32, number: i32) -> io::Result<OwnedFd> {
    Ok(pidfd_getfd(&*open_pidfd(process)?, number, PidfdGetfdFlags::empty())?)
}

/// Sends descriptors as one message, without waiting.
fn send(to: &OwnedFd, files: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(COUNT))];
    let mut control = SendAncillaryBuffer::new(&mut room);
    control.push(SendAncillaryMessage::ScmRights(files));
    sendmsg(to, &[IoSlice::new(&[0])], &mut control, SendFlags::DONTWAIT)?;
    Ok(())
}

/// Lets the process receive descriptors, and returns their numbers there.
fn receive(
    remote: &mut RemoteWorker<'_>,
    memory: &ProcessMemory,
    room: u64,
    socket: i32,
    step: &'static str,
) -> Result<[i32; COUNT], Error> {
    let mut message = [0u8; CONTROL + CONTROL_BYTES];
    let mut put = |at: usize, word: u64| {
        if let Some(place) = message.get_mut(at..at + 8) {
            place.copy_from_slice(&word.to_le_bytes());
        }
    };
    // `msghdr`: no name, one vector, and the control data.
    put(16, room + VECTOR as u64);
    put(24, 1);
    put(32, room + CONTROL as u64);
    put(40, CONTROL_BYTES as u64);
    put(VECTOR, room + BYTE as u64);
    put(VECTOR + 8, 1);
    memory.write(room, &message)?;
    let flags = (libc::MSG_CMSG_CLOEXEC | libc::MSG_DONTWAIT) as u64;
    remote.system_call(libc::SYS_recvmsg, [socket as u64, room, flags, 0, 0, 0], step)?;
    let control = memory.read(room + CONTROL as u64, CONTROL_BYTES)?;
    let received = read_descriptors(control.get(16..).unwrap_or_default());
    let length = control.first().copied().map(usize::from);
    if length != Some(CONTROL_BYTES) {
        // If the process has no free descriptor numbers, it receives fewer descriptors, or none.
        if length == Some(CONTROL_BYTES - 4) {
            close(remote, received[0], step)?;
        }
        let source = io::Error::from_raw_os_error(libc::EMFILE);
        return Err(Error::Kernel { process: remote.process_id(), step, source });
    }
    Ok(received)
}

/// Closes a descriptor of the process.
fn close(remote: &mut RemoteWorker<'_>, number: i32, step: &'static str) -> Result<(), Error> {
    remote.system_call(libc::SYS_close, [number as u64, 0, 0, 0, 0, 0], step).map(drop)
}

/// Reads two descriptor numbers of four bytes each.
fn read_descriptors(bytes: &[u8]) -> [i32; COUNT] {
    let mut numbers = [0; COUNT];
    for (number, bytes) in numbers.iter_mut().zip(bytes.as_chunks::<4>().0) {
        *number = i32::from_le_bytes(*bytes);
    }
    numbers
}
