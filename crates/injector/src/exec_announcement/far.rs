//! Connections from processes that cannot reach the recorder by path: each creates a socket pair
//! and sends one socket of it in a datagram. The socket for these datagrams is next to the
//! connection socket.

use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::path::Path;

use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SocketType, recvmsg,
    sockopt,
};
use rustix::process::Pid;

pub(crate) use crate::blob::far_path as path;

/// Binds the socket, in non-blocking mode.
pub(crate) fn bind(connections: &Path) -> io::Result<UnixDatagram> {
    let socket = UnixDatagram::bind(path(connections))?;
    socket.set_nonblocking(true)?;
    sockopt::set_socket_passcred(&socket, true)?;
    Ok(socket)
}

/// Receives the next connection. Its peer is the process that created the pair, which must be the
/// sender of the datagram: a socket that another process created names that process as its peer.
pub(crate) fn receive(socket: &UnixDatagram) -> io::Result<UnixStream> {
    let invalid = || io::Error::from(io::ErrorKind::InvalidData);
    let mut byte = [0];
    let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1), ScmCredentials(1))];
    let mut control = RecvAncillaryBuffer::new(&mut room);
    let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
    recvmsg(socket, &mut [IoSliceMut::new(&mut byte)], &mut control, flags)?;
    let (mut sender, mut ends) = (None, Vec::<OwnedFd>::new());
    for message in control.drain() {
        match message {
            RecvAncillaryMessage::ScmRights(descriptors) => ends.extend(descriptors),
            RecvAncillaryMessage::ScmCredentials(who) => sender = Some(who),
            _ => {}
        }
    }
    let end = ends.pop().filter(|_| ends.is_empty()).ok_or_else(invalid)?;
    let is_stream = sockopt::socket_domain(&end)? == AddressFamily::UNIX
        && sockopt::socket_type(&end)? == SocketType::STREAM;
    let maker = sockopt::socket_peercred(&end)?;
    // As plain numbers: the kernel reports 0 for a process that is not visible from here.
    let number = |pid: Pid| Pid::as_raw(Some(pid));
    let is_its_own = sender.is_some_and(|sender| number(sender.pid) == number(maker.pid));
    if is_stream && is_its_own { Ok(UnixStream::from(end)) } else { Err(invalid()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::IoSlice;
    use std::os::fd::AsFd;

    use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

    fn send(to: &UnixDatagram, end: impl AsFd) {
        let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut room);
        let ends = [end.as_fd()];
        control.push(SendAncillaryMessage::ScmRights(&ends));
        sendmsg(to, &[IoSlice::new(&[0])], &mut control, SendFlags::empty()).unwrap();
    }

    #[test]
    fn only_streams_are_accepted_as_connections() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().join("execs");
        let socket = bind(&at).unwrap();
        assert_eq!(receive(&socket).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        let to = UnixDatagram::unbound().unwrap();
        to.connect(path(&at)).unwrap();
        let (own, other) = UnixStream::pair().unwrap();
        send(&to, &own);
        drop(own);
        let received = receive(&socket).unwrap();
        let process = sockopt::socket_peercred(&received).unwrap().pid.as_raw_pid();
        assert_eq!(process as u32, std::process::id());
        drop((received, other));
        // A socket that is not a stream, and a message without a socket.
        let (datagrams, _other) = UnixDatagram::pair().unwrap();
        send(&to, &datagrams);
        assert_eq!(receive(&socket).unwrap_err().kind(), io::ErrorKind::InvalidData);
        to.send(&[0]).unwrap();
        assert_eq!(receive(&socket).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
