//! Execs that programs announce over a socket: from a child, from a vforked one, from a thread that
//! is not the first, and execs that fail.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use injector::{
    AnnouncementServer, Error, ExecReport, InjectionOutcome, Prepare, SkipReason, announce_exec,
    spawn_traced, wait_child,
};

use crate::made::{announcing, copy_program, counted, counting, counts, injected, status};

/// Server that sends its reports over a channel.
pub(crate) struct Listening {
    pub server: AnnouncementServer,
    pub reports: mpsc::Receiver<ExecReport>,
    pub folder: tempfile::TempDir,
}

impl Listening {
    pub(crate) fn begin(prepare: impl Prepare + 'static) -> Listening {
        Listening::begin_with(prepare, |_| {})
    }

    /// Begins to listen; `first` is called with each report before it is sent.
    fn begin_with(
        prepare: impl Prepare + 'static,
        first: impl Fn(&ExecReport) + Send + Sync + 'static,
    ) -> Listening {
        let folder = tempfile::tempdir().unwrap();
        let (sender, reports) = mpsc::channel();
        let sender = Mutex::new(sender);
        let reporter = Arc::new(move |report| {
            first(&report);
            // A test that has failed no longer receives.
            let _ = sender.lock().unwrap().send(report);
        });
        let server = AnnouncementServer::listen(
            &folder.path().join("announced"),
            Arc::new(prepare),
            reporter,
        )
        .unwrap();
        Listening { server, reports, folder }
    }

    pub(crate) fn path(&self) -> std::path::PathBuf {
        self.folder.path().join("announced")
    }

    pub(crate) fn report(&self) -> ExecReport {
        self.reports.recv_timeout(Duration::from_secs(60)).unwrap()
    }
}

/// Starts the announcing program, with pipes.
fn start(at: &Path, way: &str, command: &[&str]) -> Child {
    let mut announcing = Command::new(announcing());
    announcing.arg(at).arg(way).args(command).stdin(Stdio::piped()).stdout(Stdio::piped());
    announcing.spawn().unwrap()
}

/// Reads a child's output up to a number of lines.
pub(crate) fn lines(child: &mut Child, count: usize) -> String {
    let (mut text, mut byte) = (Vec::new(), [0]);
    let output = child.stdout.as_mut().unwrap();
    while text.iter().filter(|byte| **byte == b'\n').count() < count {
        output.read_exact(&mut byte).unwrap();
        text.push(byte[0]);
    }
    String::from_utf8(text).unwrap()
}

#[test]
fn execs_of_all_kinds_are_followed() {
    let listening = Listening::begin(counting);
    for way in ["plain", "vfork", "thread"] {
        let program = counted(0).to_str().unwrap();
        let mut child = start(&listening.path(), way, &[program, "wait", "2"]);
        let report = listening.report();
        assert_eq!(report.program, counted(0), "{way}");
        let injected = injected(&report.result);
        assert_eq!(injected.process, report.process, "{way}");
        assert_eq!(report.process == child.id(), way != "vfork", "{way}");
        assert_eq!(lines(&mut child, 2), "line 0\nline 1\n", "{way}");
        assert_eq!(status(report.process, "TracerPid"), "0", "{way}");
        assert!(counts(report.process, &injected.placed)[0] >= 2, "{way}");
        drop(child.stdin.take());
        // With vfork, the parent prints the status of its child.
        assert_eq!(wait_child(&mut child).unwrap().code(), Some(7), "{way}");
    }
    listening.server.close();
    assert!(!listening.folder.path().join("announced").exists());
}

/// Programs that libc executes in a child of its own, which the announcing thread does not see.
#[test]
fn programs_that_libc_executes_in_a_child_are_followed() {
    let listening = Listening::begin(counting);
    for (build, way) in [(0, "spawn"), (1, "spawn-fails"), (2, "spawn")] {
        let program = counted(build).to_str().unwrap();
        let mut child = start(&listening.path(), way, &[program, "wait", "2"]);
        if way == "spawn-fails" {
            let report = listening.report();
            assert!(
                matches!(report.result, Ok(InjectionOutcome::Left(SkipReason::NoExec))),
                "{report:?}"
            );
        }
        let report = listening.report();
        assert_eq!((report.process, &*report.program), (child.id(), counted(build)), "{way}");
        let injected = injected(&report.result);
        assert_ne!(injected.process, child.id(), "{way}");
        assert_eq!(lines(&mut child, 2), "line 0\nline 1\n", "{way}");
        for process in [injected.process, child.id()] {
            assert_eq!(status(process, "TracerPid"), "0", "{way}");
        }
        assert!(counts(injected.process, &injected.placed)[0] >= 2, "{way}");
        drop(child.stdin.take());
        assert_eq!(wait_child(&mut child).unwrap().code(), Some(7), "{way}");
    }
}

/// Announces twenty programs concurrently, in this way.
fn many_are_followed(way: &str) {
    let listening = Listening::begin(counting);
    let program = counted(2).to_str().unwrap();
    let start = |_| start(&listening.path(), way, &[program, "wait", "1"]);
    let mut children: Vec<Child> = (0..20).map(start).collect();
    for _ in 0..20 {
        injected(&listening.report().result);
    }
    for child in &mut children {
        drop(child.stdin.take());
        assert_eq!(lines(child, 2), "line 0\nthe end\n");
        assert_eq!(wait_child(child).unwrap().code(), Some(7));
    }
}

#[test]
fn many_concurrent_execs_are_followed() {
    many_are_followed("thread");
}

#[test]
fn many_concurrent_children_of_libc_are_followed() {
    many_are_followed("spawn");
}

#[test]
fn a_thread_ended_by_another_threads_exec_is_released() {
    static EXECUTED: AtomicBool = AtomicBool::new(false);
    let prepare = |target: &injector::InjectionTarget| {
        EXECUTED.store(true, SeqCst);
        counting(target)
    };
    // The exec waits for the end of the other thread, which must not wait for this work.
    let slow = |report: &ExecReport| {
        for _ in 0..20_000 {
            if EXECUTED.load(SeqCst) || !matches!(report.result, Ok(InjectionOutcome::Left(_))) {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    };
    let listening = Listening::begin_with(prepare, slow);
    let mut child = start(&listening.path(), "race", &[counted(0).to_str().unwrap(), "wait", "1"]);
    let reports = [listening.report(), listening.report()];
    let made =
        reports.iter().filter(|report| matches!(report.result, Ok(InjectionOutcome::Injected(_))));
    let none = |report: &&ExecReport| {
        matches!(report.result, Ok(InjectionOutcome::Left(SkipReason::NoExec)))
    };
    assert_eq!((made.count(), reports.iter().filter(none).count()), (1, 1), "{reports:?}");
    drop(child.stdin.take());
    assert_eq!(lines(&mut child, 2), "line 0\nthe end\n");
    assert_eq!(wait_child(&mut child).unwrap().code(), Some(7));
}

#[test]
fn an_exec_that_fails_leaves_its_thread_untraced() {
    let listening = Listening::begin(counting);
    let mut child = start(&listening.path(), "fails", &[counted(0).to_str().unwrap(), "wait", "1"]);
    let report = listening.report();
    assert!(matches!(report.result, Ok(InjectionOutcome::Left(SkipReason::NoExec))), "{report:?}");
    assert_eq!(lines(&mut child, 1), "line 0\n");
    assert_eq!(status(child.id(), "TracerPid"), "0");
    drop(child.stdin.take());
    assert_eq!(wait_child(&mut child).unwrap().code(), Some(7));
}

#[test]
fn an_own_child_announces_a_second_exec() {
    let listening = Listening::begin(counting);
    let path = listening.path();
    let program = announcing();
    let mut command = Command::new(program);
    command.arg(&path).arg("plain").arg(counted(1)).args(["wait", "1"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut spawned = spawn_traced(command, program, Arc::new(counting)).unwrap();
    injected(&spawned.result);
    // Waits while another thread of this process follows the second exec.
    let mut input = spawned.child.stdin.take().unwrap();
    let output = spawned.child.stdout.take().unwrap();
    let waiting = std::thread::spawn(move || wait_child(&mut spawned.child).unwrap());
    let report = listening.report();
    let injected = injected(&report.result);
    assert_eq!(injected.path, counted(1));
    input.write_all(b"x").unwrap();
    assert_eq!(waiting.join().unwrap().code(), Some(7));
    assert_eq!(std::io::read_to_string(output).unwrap(), "line 0\nthe end\n");
}

#[test]
fn a_program_of_rust_announces_its_exec() {
    let listening = Listening::begin(counting);
    let path = listening.path();
    let mut command = Command::new(counted(2));
    command.args(["wait", "1"]).stdin(Stdio::null()).stdout(Stdio::piped());
    let announced = move || {
        let announced = announce_exec(&path, counted(2))?;
        assert!(announced.is_traced());
        // The trace lasts until the exec.
        std::mem::forget(announced);
        Ok(())
    };
    let _ = counted(2);
    // SAFETY: the child has one thread, and allocations of the closure are safe here: no other
    // thread of this process holds a lock of glibc's allocator across a fork.
    unsafe { command.pre_exec(announced) };
    let output = command.output().unwrap();
    injected(&listening.report().result);
    assert_eq!(output.stdout, b"line 0\nthe end\n");
}

#[test]
fn invalid_announcements_are_answered_no() {
    let listening = Listening::begin(counting);
    for bytes in [&b"GET / HTTP/1.1\r\n"[..], b"SCX1\xff\xff\xff\x7f\x01\0a", b"SCX1"] {
        let mut connection = UnixStream::connect(listening.path()).unwrap();
        connection.write_all(bytes).unwrap();
        let report = listening.report();
        assert_eq!(report.process, std::process::id());
        assert!(matches!(report.result, Err(Error::Announcement(_))), "{report:?}");
        let mut answer = [0];
        connection.read_exact(&mut answer).unwrap();
        assert_eq!(answer, *b"0");
    }
}

#[test]
fn a_program_with_rights_is_answered_no() {
    use std::os::unix::fs::PermissionsExt;
    let listening = Listening::begin(counting);
    let program = listening.folder.path().join("program");
    copy_program(counted(0), &program);
    if std::os::unix::fs::chown(&program, Some(12345), None).is_err() {
        return; // Only root can give it away, and only then does it give privileges.
    }
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o4755)).unwrap();
    let mut child = start(&listening.path(), "plain", &[program.to_str().unwrap(), "wait", "1"]);
    let report = listening.report();
    assert!(
        matches!(report.result, Ok(InjectionOutcome::Left(SkipReason::GainsRights { .. }))),
        "{report:?}"
    );
    drop(child.stdin.take());
    assert_eq!(lines(&mut child, 2), "line 0\nthe end\n");
    assert_eq!(wait_child(&mut child).unwrap().code(), Some(7));
}
