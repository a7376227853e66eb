//! Privileges that a program's file gives: a traced program does not get them, so a program that
//! would gain some is never traced. For a script, its interpreter's file counts.

use std::io::Read;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, ResolveFlags};

use crate::outcome::{FilePrivilege, SkipReason};
use crate::regular;
use crate::tuning::MAX_INTERPRETERS;

/// Checks the file that a process is about to execute, as `process` sees it. `path` may be relative
/// to the process's working directory. `Ok` if nothing prevents a trace; a file that cannot be
/// opened cannot be executed either, or belongs to another user.
pub(crate) fn check_privileges(process: u32, path: &Path) -> Result<(), SkipReason> {
    let mut path = path.to_owned();
    for _ in 0..MAX_INTERPRETERS {
        let Some(file) = open_target(process, &path) else { return Ok(()) };
        if let Some(right) = gained_privilege(process, &file) {
            return Err(SkipReason::GainsRights { path, right });
        }
        let Some(interpreter) = script_interpreter(&file) else { return Ok(()) };
        path = interpreter;
    }
    Ok(())
}

/// Opens a file without reading it, below a process's root, or by one of its descriptors.
pub(crate) fn open_target(process: u32, path: &Path) -> Option<OwnedFd> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let folder =
        |name: &str| rustix::fs::open(format!("/proc/{process}/{name}"), flags, Mode::empty()).ok();
    if let Some((number, rest)) = descriptor_of_path(process, path) {
        let opened = folder(&format!("fd/{number}"))?;
        if rest.as_os_str().is_empty() {
            return Some(opened);
        }
        return rustix::fs::openat(opened, rest, flags, Mode::empty()).ok();
    }
    if path.is_absolute() {
        let root = folder("root")?;
        rustix::fs::openat2(root, path, flags, Mode::empty(), ResolveFlags::IN_ROOT).ok()
    } else {
        rustix::fs::openat(folder("cwd")?, path, flags, Mode::empty()).ok()
    }
}

/// Whether the effective user of a process is `user`.
pub(crate) fn has_effective_user(process: u32, user: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    let mut users = line.unwrap_or_default().split_ascii_whitespace();
    // The effective user follows the real one, and is the user of a connection.
    users.nth(1).and_then(|effective| effective.parse().ok()) == Some(user)
}

/// Descriptor by which a process names a file (`/proc/self/fd/3/...`), and the path below the
/// descriptor's folder. `None` for other paths.
fn descriptor_of_path(process: u32, path: &Path) -> Option<(u32, &Path)> {
    let own = format!("/proc/{process}/fd");
    let below = ["/proc/self/fd", "/proc/thread-self/fd", "/dev/fd", &own];
    let rest = below.iter().find_map(|folder| path.strip_prefix(folder).ok())?;
    let mut parts = rest.components();
    let number = parts.next()?.as_os_str().to_str()?.parse().ok()?;
    Some((number, parts.as_path()))
}

/// Readable path of a program that a process names by a descriptor.
pub(crate) fn plain_name(process: u32, path: PathBuf) -> PathBuf {
    match descriptor_of_path(process, &path) {
        Some((number, rest)) => {
            let opened = std::fs::read_link(format!("/proc/{process}/fd/{number}"));
            opened.map_or(path.clone(), |opened| {
                if rest.as_os_str().is_empty() { opened } else { opened.join(rest) }
            })
        }
        None => path,
    }
}

/// Path in `/proc/self/fd` of a file that was opened with `O_PATH`.
fn proc_name(file: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

/// Privilege that the file gives, and that the process does not have.
fn gained_privilege(process: u32, file: &OwnedFd) -> Option<FilePrivilege> {
    let about = rustix::fs::fstat(file).ok()?;
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    if let Some(right) = privilege_of_mode(about.st_mode, [about.st_uid, about.st_gid], &status) {
        return Some(right);
    }
    // The size of the kernel's structure (`vfs_ns_cap_data`).
    let mut value = [0u8; 24];
    let name = "security.capability";
    let length = rustix::fs::getxattr(proc_name(file), name, &mut value[..]).ok()?;
    let value = value.get(..length)?;
    gains_capabilities(value, &status).then_some(FilePrivilege::Capabilities)
}

/// Whether a file with this `security.capability` gives a process with this text of `status` a
/// capability that the process does not have. Only then does the kernel take capabilities from a
/// traced program (`cap_bprm_creds_from_file`). Root usually has all that a file can give. A value
/// or status that cannot be parsed counts as a gain.
fn gains_capabilities(value: &[u8], status: &str) -> bool {
    let word = |at: usize| Some(u32::from_le_bytes(value.get(at..at + 4)?.try_into().ok()?));
    // The kernel's first version has no high words.
    let of_file = |low: usize, high: usize| {
        Some(u64::from(word(low)?) | u64::from(word(high).unwrap_or(0)) << 32)
    };
    let of_process = |name: &str| {
        let set = status.lines().find_map(|line| line.strip_prefix(name))?;
        u64::from_str_radix(set.trim_ascii(), 16).ok()
    };
    let gained = || {
        let (permitted, inheritable) = (of_file(4, 12)?, of_file(8, 16)?);
        let given = of_process("CapBnd:")? & permitted | of_process("CapInh:")? & inheritable;
        Some(given & !of_process("CapPrm:")?)
    };
    gained() != Some(0)
}

/// Privilege that a file of this mode, user and group gives to a process with this text of
/// `status`. Root loses nothing in a program that is to run as root.
fn privilege_of_mode(mode: u32, [user, group]: [u32; 2], status: &str) -> Option<FilePrivilege> {
    const SET_USER: u32 = 0o4000;
    const SET_GROUP: u32 = 0o2000;
    // The real, the effective and the saved id, and the id for files.
    let is_throughout = |name: &str, id: u32| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.is_some_and(|ids| {
            ids.split_ascii_whitespace().all(|word| word.parse() == Ok(id))
                && !ids.trim_ascii().is_empty()
        })
    };
    if mode & SET_USER != 0 && !is_throughout("Uid:", user) {
        return Some(FilePrivilege::SetUser);
    }
    (mode & SET_GROUP != 0 && !is_throughout("Gid:", group)).then_some(FilePrivilege::SetGroup)
}

/// Interpreter that the first line of a script names.
fn script_interpreter(file: &OwnedFd) -> Option<PathBuf> {
    // The kernel reads 256 bytes, too.
    let mut line = [0u8; 256];
    let length = regular::reopen_regular(file).ok()?.read(&mut line).ok()?;
    parse_interpreter(line.get(..length)?)
}

/// Interpreter that a script's first bytes name.
pub(crate) fn parse_interpreter(line: &[u8]) -> Option<PathBuf> {
    let line = line.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?.trim_ascii_start();
    let name = line.split(|byte| b" \t\0".contains(byte)).next()?;
    (!name.is_empty()).then(|| PathBuf::from(std::ffi::OsStr::from_bytes(name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    /// Changes the owner and group of a file, which only root can.
    fn give_away(file: &Path) -> bool {
        std::os::unix::fs::chown(file, Some(12345), Some(12345)).is_ok()
    }

    #[test]
    fn bits_of_the_file_and_of_a_scripts_interpreter_are_seen() {
        let own = std::process::id();
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("program");
        let script = folder.path().join("script");
        fs::write(&program, "x").unwrap();
        fs::write(&script, format!("#! {} -x\n", program.display())).unwrap();
        let is_given = give_away(&program);
        for (mode, expected) in [
            (0o755, None),
            (0o4755, Some(FilePrivilege::SetUser)),
            (0o2755, Some(FilePrivilege::SetGroup)),
        ] {
            fs::set_permissions(&program, fs::Permissions::from_mode(mode)).unwrap();
            let expected = expected.filter(|_| is_given).map_or(Ok(()), |right| {
                Err(SkipReason::GainsRights { path: program.clone(), right })
            });
            assert_eq!(check_privileges(own, &program), expected, "{mode:o}");
            assert_eq!(check_privileges(own, &script), expected, "{mode:o}, by a script");
        }
    }

    #[test]
    fn a_process_that_has_the_privileges_gains_none() {
        let status = "Name:\tx\nUid:\t0\t0\t0\t0\nGid:\t5\t5\t7\t5\n";
        let of = |mode, user, group| privilege_of_mode(mode, [user, group], status);
        assert_eq!(of(0o4755, 0, 5), None);
        assert_eq!(of(0o4755, 1000, 5), Some(FilePrivilege::SetUser));
        assert_eq!(of(0o2755, 0, 5), Some(FilePrivilege::SetGroup), "it was another group before");
        assert_eq!(
            privilege_of_mode(0o4755, [0, 0], ""),
            Some(FilePrivilege::SetUser),
            "it is not known"
        );
    }

    #[test]
    fn a_process_that_has_a_files_capabilities_gains_none() {
        // CAP_NET_BIND_SERVICE and CAP_BPF.
        const PERMITTED: u64 = 0x80_0000_0400;
        // Version 2, in which CAP_KILL is inheritable.
        let value: [u8; 20] = [1, 0, 0, 2, 0, 4, 0, 0, 0x20, 0, 0, 0, 0x80, 0, 0, 0, 0, 0, 0, 0];
        let gains = |own: u64, inherited: u64, bounds: u64| {
            let status = format!("CapInh:\t{inherited:x}\nCapPrm:\t{own:x}\nCapBnd:\t{bounds:x}\n");
            gains_capabilities(&value, &status)
        };
        assert!(!gains(PERMITTED, 0, u64::MAX), "it has them");
        assert!(gains(0, 0, u64::MAX));
        assert!(gains(0x400, 0, u64::MAX), "it lacks one of them");
        assert!(!gains(0, 0, !PERMITTED), "nothing can give it these");
        assert!(gains(PERMITTED, 0x20, u64::MAX), "it inherits one that it does not have");
        assert!(gains_capabilities(&value, ""), "it is not known");
        assert!(gains_capabilities(&[1, 0, 0, 2], "CapInh:\t0\nCapPrm:\t0\nCapBnd:\t0\n"));
    }

    #[test]
    fn a_descriptor_path_names_the_processs_own_file() {
        let own = std::process::id();
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("program");
        fs::write(&program, "x").unwrap();
        let is_given = give_away(&program);
        fs::set_permissions(&program, fs::Permissions::from_mode(0o4755)).unwrap();
        let opened = fs::File::open(&program).unwrap();
        let below = fs::File::open(folder.path()).unwrap();
        let names = [
            format!("/proc/self/fd/{}", opened.as_raw_fd()),
            format!("/dev/fd/{}", opened.as_raw_fd()),
            format!("/proc/{own}/fd/{}", opened.as_raw_fd()),
            format!("/proc/self/fd/{}/program", below.as_raw_fd()),
        ];
        for name in names.map(PathBuf::from) {
            let gains =
                SkipReason::GainsRights { path: name.clone(), right: FilePrivilege::SetUser };
            assert_eq!(check_privileges(own, &name), if is_given { Err(gains) } else { Ok(()) });
            assert_eq!(plain_name(own, name), program);
        }
        fs::remove_file(&program).unwrap();
        let name = PathBuf::from(format!("/proc/self/fd/{}", opened.as_raw_fd()));
        assert_eq!(
            check_privileges(own, &name).is_err(),
            is_given,
            "it is deleted, and has its rights"
        );
    }

    #[test]
    fn a_missing_file_does_not_prevent_a_trace() {
        assert_eq!(check_privileges(std::process::id(), Path::new("/nowhere/at/all")), Ok(()));
        assert_eq!(check_privileges(std::process::id(), Path::new("nowhere")), Ok(()));
    }

    /// Otherwise its sender would block a thread of the recorder forever.
    #[test]
    fn a_pipe_is_not_opened() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        let (done, is_done) = std::sync::mpsc::channel();
        let path = pipe.clone();
        let looks = std::thread::spawn(move || {
            assert_eq!(check_privileges(std::process::id(), &path), Ok(()));
            done.send(()).unwrap();
        });
        let result = is_done.recv_timeout(std::time::Duration::from_secs(20));
        // Unblocks an open that waits for a writer.
        let _ = fs::OpenOptions::new().read(true).write(true).open(&pipe);
        looks.join().unwrap();
        result.unwrap();
    }

    #[test]
    fn scripts_that_name_each_other_terminate() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("script");
        fs::write(&script, format!("#!{}\n", script.display())).unwrap();
        assert_eq!(check_privileges(std::process::id(), &script), Ok(()));
    }

    #[test]
    fn first_lines_name_interpreters() {
        assert_eq!(parse_interpreter(b"#!/bin/sh -e\nx"), Some(PathBuf::from("/bin/sh")));
        assert_eq!(parse_interpreter(b"#! \t/bin/sh"), Some(PathBuf::from("/bin/sh")));
        for text in [&b"#!"[..], b"#!\n/bin/sh", b"\x7fELF", b""] {
            assert_eq!(parse_interpreter(text), None, "{text:?}");
        }
    }
}
