//! Directory that is handed over as a mount of its own: nothing above it can be reached by the
//! descriptor (`..` stays in place), so a process cannot leave its root directory by it.
//!
//! Creating a mount of a directory takes privileges. An unprivileged recorder has a child create it
//! in the child's own namespaces and send it.

use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixDatagram;
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

/// Opens a directory. If the kernel provides no mount, the directory itself is opened; in that case
/// the receiving process belongs to the recording user.
pub(super) fn open(path: &Path) -> io::Result<OwnedFd> {
    if let Ok(mount) = clone(path).or_else(|_| by_child(path)) {
        return Ok(mount);
    }
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?)
}

/// Opens the directory as a detached mount.
fn clone(path: &Path) -> io::Result<OwnedFd> {
    let mut text = [0u8; libc::PATH_MAX as usize];
    let bytes = path.as_os_str().as_bytes();
    // A zero byte follows the path.
    let room = text.get_mut(..bytes.len()).filter(|_| bytes.len() < libc::PATH_MAX as usize);
    room.ok_or(io::ErrorKind::InvalidFilename)?.copy_from_slice(bytes);
    let flags = libc::OPEN_TREE_CLONE as libc::c_long | libc::c_long::from(libc::O_CLOEXEC);
    // SAFETY: the path ends with a zero byte, and the kernel only reads it.
    let opened =
        unsafe { libc::syscall(libc::SYS_open_tree, libc::AT_FDCWD, text.as_ptr(), flags) };
    match i32::try_from(opened) {
        // SAFETY: a new descriptor that has no other owner.
        Ok(opened @ 0..) => Ok(unsafe { OwnedFd::from_raw_fd(opened) }),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Opens the directory as a detached mount in a child with its own user and mount namespaces.
fn by_child(path: &Path) -> io::Result<OwnedFd> {
    let (ours, theirs) = UnixDatagram::pair()?;
    // SAFETY: the child makes system calls only, allocates nothing, takes no lock, and ends.
    let child = unsafe { libc::fork() };
    match child {
        -1 => return Err(io::Error::last_os_error()),
        0 => {
            let is_sent = send_from_child(path, &theirs).is_ok();
            // SAFETY: ends the child, without running anything that this process has registered.
            unsafe { libc::_exit(i32::from(!is_sent)) }
        }
        _ => {}
    }
    drop(theirs);
    // SAFETY: takes numbers only. The child ends by itself.
    while unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) } == -1
        && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
    {}
    let mut byte = [0];
    let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut room);
    let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
    recvmsg(&ours, &mut [IoSliceMut::new(&mut byte)], &mut control, flags)?;
    let descriptors = control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    });
    descriptors.ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// Opens the mount in the child and sends it to the parent over `to`.
fn send_from_child(path: &Path, to: &UnixDatagram) -> io::Result<()> {
    // SAFETY: takes numbers only, and affects the child alone.
    if unsafe { libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNS) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let mount = clone(path)?;
    let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut room);
    let files = [mount.as_fd()];
    control.push(SendAncillaryMessage::ScmRights(&files));
    sendmsg(to, &[io::IoSlice::new(&[0])], &mut control, SendFlags::DONTWAIT)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_above_the_directory_can_be_reached() {
        let folder = tempfile::tempdir().unwrap();
        let inode = rustix::fs::stat(folder.path()).unwrap().st_ino;
        for opened in [open(folder.path()), by_child(folder.path())] {
            let opened = opened.unwrap();
            let above = rustix::fs::statat(&opened, "..", rustix::fs::AtFlags::empty()).unwrap();
            assert_eq!(above.st_ino, inode);
            let flags = OFlags::CREATE | OFlags::RDWR | OFlags::CLOEXEC;
            rustix::fs::openat(&opened, "log", flags, Mode::RUSR).unwrap();
            std::fs::remove_file(folder.path().join("log")).unwrap();
        }
    }
}
