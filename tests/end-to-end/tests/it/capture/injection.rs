//! The injected library, in static programs as they are executed: from a child of the recorder, and
//! from a recorded program that announces the execution of a static one.

use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use end_to_end::capture::{
    ReadLog, TestRecording, injected_library, program_path, run_successfully,
};
use end_to_end::repository;
use injector::{AnnouncementServer, BlobLibrary, InjectionOutcome, LibraryPatcher};
use socket_log::encode::Direction;
use socket_log::{DamageKind, LogDamage, LogRecord};

/// The library, for any executed program.
fn shared_patcher() -> Arc<LibraryPatcher> {
    let bytes = std::fs::read(injected_library()).unwrap();
    let library = BlobLibrary::parse(&bytes, "sockcap_start", "sockcap_null_slot").unwrap();
    Arc::new(LibraryPatcher::new(library, "sockcap_before", "sockcap_after").unwrap())
}

/// Compiles the program with the pair of sockets.
fn compile_pair(recording: &TestRecording, compiler: &str, flags: &[&str]) -> PathBuf {
    let binary = recording.file_path("static_pair");
    let source = repository().join("tests/programs/static_pair.c");
    let mut command = Command::new(program_path(compiler));
    command.args(["-O1", "-pthread", "-Wall"]).args(flags).arg("-o").arg(&binary).arg(source);
    run_successfully(&mut command);
    binary
}

/// Asserts that a log has the program's thousand messages in both directions, from two threads.
#[track_caller]
fn assert_whole(log: &ReadLog) {
    let sizes = |wanted: Direction| {
        let of = |record: &LogRecord| match record {
            LogRecord::Transfer { direction, bytes, .. } if *direction == wanted => Some(*bytes),
            _ => None,
        };
        log.complete_records().filter_map(of).collect::<Vec<u64>>()
    };
    assert_eq!(sizes(Direction::Send), vec![5; 1000]);
    // A receive may be split.
    assert_eq!(sizes(Direction::Receive).iter().sum::<u64>(), 5000);
    let threads: std::collections::BTreeSet<u32> =
        log.entries.iter().map(|entry| entry.tid).collect();
    assert_eq!(threads.len(), 2);
}

#[test]
fn static_programs_have_logs() {
    let patcher = shared_patcher();
    for (compiler, flags) in
        [("gcc", &["-static"][..]), ("gcc", &["-static-pie", "-fPIE"]), ("musl-gcc", &["-static"])]
    {
        let recording = TestRecording::new();
        let binary = compile_pair(&recording, compiler, flags);
        let mut command = recording.recorded_command(&binary);
        command.stdout(std::process::Stdio::null());
        let mut spawned = injector::spawn_traced(command, &binary, patcher.clone()).unwrap();
        assert!(
            matches!(spawned.result, Ok(InjectionOutcome::Injected(_))),
            "{:?}",
            spawned.result
        );
        assert_eq!(injector::wait_child(&mut spawned.child).unwrap().code(), Some(5), "{flags:?}");
        assert_whole(&recording.only_log());
    }
}

#[test]
fn a_recorded_program_announces_a_static_one() {
    let recording = TestRecording::new();
    let binary = compile_pair(&recording, "gcc", &["-static"]);
    let (sender, reports) = mpsc::channel();
    let sender = Mutex::new(sender);
    let socket = recording.file_path("announced");
    let reporter = Arc::new(move |report| {
        let _ = sender.lock().unwrap().send(report);
    });
    let server = AnnouncementServer::listen(&socket, shared_patcher(), reporter).unwrap();
    let mut shell = recording.recorded_command(program_path("sh"));
    // One program in a child of the shell, and one in place of the shell.
    shell.env("SOCKCAP_INJECTOR", &socket).arg("-c").arg("\"$0\"; exec \"$0\"").arg(&binary);
    assert_eq!(shell.output().unwrap().status.code(), Some(5));
    for _ in 0..2 {
        let report = reports.recv_timeout(Duration::from_secs(60)).unwrap();
        assert!(matches!(report.result, Ok(InjectionOutcome::Injected(_))), "{report:?}");
        assert_eq!(report.program, binary);
    }
    server.close();
    let logs = recording.read_logs();
    assert_eq!(logs.len(), 2);
    logs.iter().for_each(assert_whole);
}

/// Kills the program at evenly spread moments of its short life. What it has written by then is
/// readable.
fn check_killed(moments: u32) {
    const LIFE: Duration = Duration::from_millis(12);
    let patcher = shared_patcher();
    let recording = TestRecording::new();
    let binary = compile_pair(&recording, "gcc", &["-static"]);
    let mut whole = 0;
    for moment in 0..moments {
        let mut command = recording.recorded_command(&binary);
        command.stdout(std::process::Stdio::null());
        let mut spawned = injector::spawn_traced(command, &binary, patcher.clone()).unwrap();
        assert!(
            matches!(spawned.result, Ok(InjectionOutcome::Injected(_))),
            "{:?}",
            spawned.result
        );
        std::thread::sleep(LIFE * moment / moments);
        // The program may have ended.
        let _ = spawned.child.kill();
        injector::wait_child(&mut spawned.child).unwrap();
        // A process that had not begun its log has none.
        if recording.has_log(spawned.child.id()) {
            whole += 1;
        } else {
            let folder = recording.data_dir().join("hosts/host");
            for file in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
                let own = format!("{}-", spawned.child.id());
                if file.file_name().to_string_lossy().starts_with(&own) {
                    std::fs::remove_file(file.path()).unwrap();
                }
            }
        }
    }
    assert!(whole > moments / 4, "{whole} logs of {moments}");
    let logs = recording.read_logs();
    assert_eq!(logs.len(), whole as usize);
    for log in logs {
        let unfinished = |damage: &LogDamage| damage.fault == DamageKind::Unfinished;
        assert!(log.damage.iter().all(unfinished), "{:?}", log.damage);
        for entry in &log.entries {
            if let LogRecord::Transfer { direction: Direction::Send, bytes, .. } = entry.record {
                assert_eq!(bytes, 5);
            }
        }
    }
}

#[test]
fn a_killed_program_leaves_its_written_records() {
    check_killed(20);
}

#[test]
#[ignore = "kills 200 programs: `scripts/test --all` runs it"]
fn programs_killed_at_any_moment_leave_their_written_records() {
    check_killed(200);
}

/// Programs that are executed by a descriptor: in memory, deleted, below an open folder.
#[test]
fn a_static_program_executed_by_a_descriptor_is_announced() {
    let recording = TestRecording::new();
    let binary = compile_pair(&recording, "gcc", &["-static"]);
    let source = repository().join("tests/programs/executes.c");
    let executes = |name: &str, flags: &[&str]| {
        let launcher = recording.file_path(name);
        let mut compiler = Command::new(program_path("gcc"));
        compiler.args(["-O1", "-Wall"]).args(flags).arg("-o").arg(&launcher).arg(&source);
        run_successfully(&mut compiler);
        launcher
    };
    let launchers = [executes("executes", &[]), executes("executes_static", &["-static"])];
    let (sender, reports) = mpsc::channel();
    let sender = Mutex::new(sender);
    let socket = recording.file_path("announced");
    let reporter = Arc::new(move |report| {
        let _ = sender.lock().unwrap().send(report);
    });
    let server = AnnouncementServer::listen(&socket, shared_patcher(), reporter).unwrap();
    let mut runs = 0;
    for launcher in &launchers {
        for way in ["fexecve", "execveat", "syscall", "path", "deleted", "below"] {
            let mut command = recording.recorded_command(launcher);
            command.env("SOCKCAP_INJECTOR", &socket).arg(way).arg(&binary);
            command.stdout(std::process::Stdio::null());
            let is_static = launcher == &launchers[1];
            let code = if is_static {
                let mut spawned =
                    injector::spawn_traced(command, launcher, shared_patcher()).unwrap();
                assert!(matches!(spawned.result, Ok(InjectionOutcome::Injected(_))), "{way}");
                let status = injector::wait_child(&mut spawned.child).unwrap();
                assert!(status.code().is_some(), "{way}: {status}");
                status.code()
            } else {
                command.output().unwrap().status.code()
            };
            assert_eq!(code, Some(5), "{way}");
            let report = reports.recv_timeout(Duration::from_secs(60)).unwrap();
            assert!(
                matches!(report.result, Ok(InjectionOutcome::Injected(_))),
                "{way}: {report:?}"
            );
            let name = report.program.to_string_lossy().into_owned();
            let named = match way {
                "below" => name == binary.to_string_lossy(),
                "deleted" => name.starts_with("/tmp/executes"),
                _ => name.starts_with("/memfd:in_memory"),
            };
            assert!(named, "{way}: {name}");
            runs += 1;
        }
    }
    server.close();
    let logs = recording.read_logs();
    // The launchers may have logs, too.
    let of_program = super::inject::logs_of_program(&logs, "static_pair");
    assert_eq!(of_program.len(), runs);
    of_program.into_iter().for_each(assert_whole);
}
