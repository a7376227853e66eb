//! Files that a process names: any process can name a pipe, on which an open blocks forever, a
//! device with side effects on opening, or a link to another file.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};

/// Opens a regular file for reading. The path comes from the kernel: it contains no links, unless
/// it is a path of `/proc` that leads to the executable of a process.
pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let of_kernel = path.starts_with("/proc");
    let links = if of_kernel { ResolveFlags::empty() } else { ResolveFlags::NO_SYMLINKS };
    reopen_regular(&rustix::fs::openat2(CWD, path, flags, Mode::empty(), links)?)
}

/// Opens a file for reading that was opened with `O_PATH`, if it is a regular file.
pub(crate) fn reopen_regular(file: &OwnedFd) -> io::Result<File> {
    let mode = rustix::fs::fstat(file)?.st_mode;
    if mode & libc::S_IFMT != libc::S_IFREG {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    File::open(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::process::Command;

    use super::*;

    /// Opening the pipe would block forever.
    #[test]
    fn only_regular_files_are_opened() {
        let place = tempfile::tempdir().unwrap();
        let [file, pipe, link] = ["file", "pipe", "link"].map(|name| place.path().join(name));
        fs::write(&file, "text").unwrap();
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        symlink(&file, &link).unwrap();
        open_regular(&file).unwrap();
        open_regular(Path::new("/proc/self/exe")).unwrap();
        for other in [&pipe, &link, Path::new("/dev/null"), place.path()] {
            open_regular(other).unwrap_err();
        }
    }
}
