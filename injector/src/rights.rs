//! Rights that a program's file gives: a traced program does not get them, so such a file is never
//! traced. Scripts have those of their interpreter.

use std::io::Read;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, ResolveFlags};

use crate::outcome::{Left, Right};
use crate::regular;
use crate::tuning::INTERPRETERS;

/// Looks at the file that a process is about to execute, as that process sees it. Its path may be
/// relative to the process's working directory. `Ok` where nothing speaks against a trace; a file
/// that cannot be opened is one that cannot be executed either, or one of somebody else's.
pub(crate) fn look(process: u32, path: &Path) -> Result<(), Left> {
    let mut path = path.to_owned();
    for _ in 0..INTERPRETERS {
        let Some(file) = open(process, &path) else { return Ok(()) };
        if let Some(right) = right(&file) {
            return Err(Left::GainsRights { path, right });
        }
        let Some(interpreter) = interpreter(&file) else { return Ok(()) };
        path = interpreter;
    }
    Ok(())
}

/// Opens a file without reading it, below the root that a process has.
fn open(process: u32, path: &Path) -> Option<OwnedFd> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let folder =
        |name: &str| rustix::fs::open(format!("/proc/{process}/{name}"), flags, Mode::empty()).ok();
    if path.is_absolute() {
        let root = folder("root")?;
        rustix::fs::openat2(root, path, flags, Mode::empty(), ResolveFlags::IN_ROOT).ok()
    } else {
        rustix::fs::openat(folder("cwd")?, path, flags, Mode::empty()).ok()
    }
}

/// Path by which a file that is opened without rights can be named.
fn own_name(file: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

/// Right that the file gives.
fn right(file: &OwnedFd) -> Option<Right> {
    const SET_USER: u32 = 0o4000;
    const SET_GROUP: u32 = 0o2000;
    let mode = rustix::fs::fstat(file).ok()?.st_mode;
    if mode & SET_USER != 0 {
        return Some(Right::SetUser);
    }
    if mode & SET_GROUP != 0 {
        return Some(Right::SetGroup);
    }
    // As many bytes as the kernel's structure has.
    let mut value = [0u8; 24];
    let length = rustix::fs::getxattr(own_name(file), "security.capability", &mut value[..]);
    length.is_ok_and(|length| length > 0).then_some(Right::Capabilities)
}

/// Interpreter that the first line of a script names.
fn interpreter(file: &OwnedFd) -> Option<PathBuf> {
    // As many bytes as the kernel looks at.
    let mut line = [0u8; 256];
    let length = regular::reopen(file).ok()?.read(&mut line).ok()?;
    of_line(line.get(..length)?)
}

/// Interpreter that a script's first bytes name.
pub(crate) fn of_line(line: &[u8]) -> Option<PathBuf> {
    let line = line.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?.trim_ascii_start();
    let name = line.split(|byte| b" \t\0".contains(byte)).next()?;
    (!name.is_empty()).then(|| PathBuf::from(std::ffi::OsStr::from_bytes(name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn bits_of_the_file_and_of_a_scripts_interpreter_are_seen() {
        let own = std::process::id();
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("program");
        let script = folder.path().join("script");
        fs::write(&program, "x").unwrap();
        fs::write(&script, format!("#! {} -x\n", program.display())).unwrap();
        for (mode, expected) in
            [(0o755, None), (0o4755, Some(Right::SetUser)), (0o2755, Some(Right::SetGroup))]
        {
            fs::set_permissions(&program, fs::Permissions::from_mode(mode)).unwrap();
            let expected = expected
                .map_or(Ok(()), |right| Err(Left::GainsRights { path: program.clone(), right }));
            assert_eq!(look(own, &program), expected, "{mode:o}");
            assert_eq!(look(own, &script), expected, "{mode:o}, by a script");
        }
    }

    #[test]
    fn a_file_that_is_not_there_speaks_against_nothing() {
        assert_eq!(look(std::process::id(), Path::new("/nowhere/at/all")), Ok(()));
        assert_eq!(look(std::process::id(), Path::new("nowhere")), Ok(()));
    }

    /// Whoever announces it would hold a thread of the recorder for ever.
    #[test]
    fn a_pipe_is_not_opened() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        let (done, is_done) = std::sync::mpsc::channel();
        let path = pipe.clone();
        let looks = std::thread::spawn(move || {
            assert_eq!(look(std::process::id(), &path), Ok(()));
            done.send(()).unwrap();
        });
        let result = is_done.recv_timeout(std::time::Duration::from_secs(20));
        // One that waits for a writer goes on.
        let _ = fs::OpenOptions::new().read(true).write(true).open(&pipe);
        looks.join().unwrap();
        result.unwrap();
    }

    #[test]
    fn scripts_that_name_each_other_end() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("script");
        fs::write(&script, format!("#!{}\n", script.display())).unwrap();
        assert_eq!(look(std::process::id(), &script), Ok(()));
    }

    #[test]
    fn first_lines_name_interpreters() {
        assert_eq!(of_line(b"#!/bin/sh -e\nx"), Some(PathBuf::from("/bin/sh")));
        assert_eq!(of_line(b"#! \t/bin/sh"), Some(PathBuf::from("/bin/sh")));
        for text in [&b"#!"[..], b"#!\n/bin/sh", b"\x7fELF", b""] {
            assert_eq!(of_line(text), None, "{text:?}");
        }
    }
}
