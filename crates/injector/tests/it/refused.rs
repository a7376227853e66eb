//! Missing permissions: the program runs unchanged, and the reason is reported.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use injector::{Error, spawn_traced, wait_child};
use tempfile::TempDir;

use crate::helper::of_program;
use crate::made::{copy_program, counted, counting};

/// User without any permissions.
const NOBODY: u32 = 65534;

/// Prevents the calling thread, and the threads that it starts, from gaining privileges.
fn no_new_rights() -> std::io::Result<()> {
    // SAFETY: the call takes numbers only.
    match unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

/// Folder with programs that every user may run.
struct Everyones(TempDir);

impl Everyones {
    fn make() -> Everyones {
        let folder = tempfile::tempdir_in("/tmp").unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        Everyones(folder)
    }

    fn copy_of(&self, from: &Path) -> PathBuf {
        let to = self.0.path().join(from.file_name().unwrap());
        copy_program(from, &to);
        fs::set_permissions(&to, fs::Permissions::from_mode(0o755)).unwrap();
        to
    }
}

#[test]
fn a_user_without_rights_injects() {
    let folder = Everyones::make();
    let copied = |from: &Path| folder.copy_of(from);
    let own = copied(&std::env::current_exe().unwrap());
    let mut recorder = of_program(&own, "waits");
    recorder.env("PROGRAM", copied(counted(0))).current_dir("/");
    // SAFETY: the closure makes one system call.
    unsafe { recorder.pre_exec(no_new_rights) };
    if rustix::process::geteuid().is_root() {
        recorder.uid(NOBODY).gid(NOBODY);
    }
    let output = recorder.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{output:?}");
    assert!(errors.contains("injected, "), "{errors}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("TracerPid:\t0"));
}

#[test]
fn a_user_without_rights_attaches_to_its_own_processes_alone() {
    let folder = Everyones::make();
    let copied = |from: &Path| folder.copy_of(from);
    let is_root = rustix::process::geteuid().is_root();
    let own = copied(&std::env::current_exe().unwrap());
    let library = copied(&crate::attaching::library());
    let (_, program) = crate::made::echoes().next().unwrap();
    let run = |program: &Path, user: u32| {
        let mut command = Command::new(program);
        command.stdin(Stdio::piped()).stdout(Stdio::null());
        if is_root {
            command.uid(user).gid(user);
        }
        command.spawn().unwrap()
    };
    let attached = |process: u32| {
        let mut recorder = of_program(&own, "attaches once");
        recorder.env("PROCESS", process.to_string()).env("LIBRARY", &library).current_dir("/");
        // SAFETY: the closure makes one system call.
        unsafe { recorder.pre_exec(no_new_rights) };
        if is_root {
            recorder.uid(NOBODY).gid(NOBODY);
        }
        let output = recorder.output().unwrap();
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let mut nobodys = run(&copied(program), NOBODY);
    let said = attached(nobodys.id());
    assert!(said.contains("attached and left: 1"), "{said}");
    let mut other = run(program, 0);
    if is_root {
        let said = attached(other.id());
        assert!(said.contains("it belongs to user 0; run sockcap as that user"), "{said}");
    }
    for child in [&mut nobodys, &mut other] {
        drop(child.stdin.take());
        assert_eq!(child.wait().unwrap().code(), Some(7));
    }
}

/// Forbids ptrace(2) to the calling thread, and to the threads that it starts.
fn forbid_ptrace() {
    let step = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    let mut steps = [
        // The number of the call.
        step(0x20, 0, 0, 0),
        step(0x15, 0, 1, libc::SYS_ptrace as u32),
        step(0x06, 0, 0, 0x0005_0000 | libc::EPERM as u32),
        step(0x06, 0, 0, 0x7fff_0000),
    ];
    let filter = libc::sock_fprog { len: 4, filter: steps.as_mut_ptr() };
    no_new_rights().unwrap();
    // SAFETY: the kernel copies the filter, which lives for the whole call.
    let set = unsafe { libc::prctl(libc::PR_SET_SECCOMP, 2, &raw const filter) };
    assert_eq!(set, 0, "{}", std::io::Error::last_os_error());
}

#[test]
fn without_ptrace_a_program_runs_and_the_reason_is_reported() {
    let run = || {
        forbid_ptrace();
        let mut command = Command::new(counted(0));
        command.args(["wait", "1"]).stdin(std::process::Stdio::null());
        let mut spawned = spawn_traced(command, counted(0), Arc::new(counting)).unwrap();
        assert_eq!(wait_child(&mut spawned.child).unwrap().code(), Some(7));
        spawned.result.unwrap_err()
    };
    // The filter ends with its thread.
    let error = std::thread::spawn(run).join().unwrap();
    let text = error.to_string();
    assert!(text.ends_with("may not be traced: Operation not permitted (os error 1)"), "{text}");
    assert!(matches!(error, Error::Seize { tracer: 0, .. }));
}
