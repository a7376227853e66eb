//! Children of this process: the blob counts their calls, and nothing else of them changes.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use injector::{Error, InjectionOutcome, SkipReason, SpawnedChild, spawn_traced, wait_child};

use crate::made::{
    self, ARGUMENT, BUILDS, First, copy_program, counted, counting, injected, status,
};

/// Command of a program with pipes.
fn piped(program: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Output of a program that is started with an injection, and the outcome of that.
fn run(
    command: Command,
    program: &Path,
    prepare: Arc<dyn injector::Prepare>,
) -> (Output, Result<InjectionOutcome, Error>) {
    let SpawnedChild { child, result } = spawn_traced(command, program, prepare).unwrap();
    (child.wait_with_output().unwrap(), result)
}

#[test]
fn calls_of_static_programs_are_counted() {
    for (build, kind) in BUILDS.iter().enumerate() {
        let program = counted(build);
        let command = piped(program, &["wait", "100"]);
        let SpawnedChild { mut child, result } =
            spawn_traced(command, program, Arc::new(counting)).unwrap();
        let injected = injected(&result).clone();
        assert_eq!((injected.process, &*injected.path), (child.id(), program));
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut lines = String::new();
        for _ in 0..100 {
            output.read_line(&mut lines).unwrap();
        }
        assert_eq!(lines, (0..100).map(|i| format!("line {i}\n")).collect::<String>());
        // The child waits for input, or is about to; it is not traced, and has made all its calls
        // except the one that fails.
        assert_eq!(status(child.id(), "TracerPid"), "0");
        let [before, after, argument] = made::counts(child.id(), &injected.placed);
        assert!(before >= 100 && after + 1 >= before, "{kind:?}: {before}, {after}");
        assert_eq!(argument, ARGUMENT);
        child.stdin.take().unwrap().write_all(b"x").unwrap();
        let mut rest = String::new();
        output.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "the end\n");
        assert_eq!(wait_child(&mut child).unwrap().code(), Some(7), "{kind:?}");
    }
}

#[test]
fn a_program_sees_nothing_of_its_injection() {
    for (build, kind) in BUILDS.iter().enumerate() {
        let program = counted(build);
        let command = || {
            let mut command = piped(program, &["state", "", "two words"]);
            command.arg0("another name").env("GIVEN", "what was given");
            // The standard library resets signals differently if no function is called in the
            // child.
            // SAFETY: the closure does nothing.
            unsafe { command.pre_exec(|| Ok(())) };
            command
        };
        let plain = command().output().unwrap();
        let (output, result) = run(command(), program, Arc::new(counting));
        injected(&result);
        let sorted = |output: &Output| {
            let text = String::from_utf8(output.stdout.clone()).unwrap();
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            // The child's output comes at any time.
            lines.sort();
            lines
        };
        assert_eq!(sorted(&output), sorted(&plain), "{kind:?}");
        assert!(sorted(&output).contains(&"TracerPid:\t0".to_owned()));
        assert_eq!((output.status, output.stderr), (plain.status, plain.stderr));
    }
}

#[test]
fn a_failure_leaves_the_program_unchanged() {
    let program = counted(0);
    let says = |first| {
        let prepare =
            move |target: &injector::InjectionTarget| Ok(Some(made::injection(target, first)));
        let (output, result) = run(piped(program, &["wait", "3"]), program, Arc::new(prepare));
        assert_eq!(output.stdout, b"line 0\nline 1\nline 2\nthe end\n");
        assert_eq!(output.status.code(), Some(7));
        result.unwrap_err()
    };
    assert!(matches!(says(First::Refuses), Error::Initialise { status: 5, .. }));
    match says(First::Crashes) {
        Error::Unexpected { stop, .. } => assert_eq!(stop, "signal 11"),
        other => panic!("{other}"),
    }
}

#[test]
#[ignore = "it waits for ten seconds"]
fn a_hanging_first_function_is_abandoned() {
    let program = counted(0);
    let prepare =
        |target: &injector::InjectionTarget| Ok(Some(made::injection(target, First::Hangs)));
    let (output, result) = run(piped(program, &["wait", "1"]), program, Arc::new(prepare));
    assert!(matches!(result, Err(Error::Timeout { .. })), "{result:?}");
    assert_eq!((output.stdout, output.status.code()), (b"line 0\nthe end\n".to_vec(), Some(7)));
}

#[test]
fn other_bytes_than_expected_change_nothing() {
    let program = counted(0);
    let wrong = |change: fn(&mut injector::InjectionPatches)| {
        let prepare = move |target: &injector::InjectionTarget| {
            let mut injection = made::injection(target, First::Works);
            let right = injection.assemble;
            injection.assemble = Box::new(move |placed| {
                let mut patches = right(placed)?;
                change(&mut patches);
                Ok(patches)
            });
            Ok(Some(injection))
        };
        let (output, result) = run(piped(program, &["wait", "2"]), program, Arc::new(prepare));
        assert_eq!(output.stdout, b"line 0\nline 1\nthe end\n");
        assert_eq!(output.status.code(), Some(7));
        result.unwrap_err()
    };
    let last_byte = |patches: &mut injector::InjectionPatches| {
        let patch = patches.patches.last_mut().unwrap();
        *patch.old.last_mut().unwrap() ^= 1;
    };
    assert!(matches!(wrong(last_byte), Error::OtherBytes { .. }));
    let elsewhere = |patches: &mut injector::InjectionPatches| patches.patches[0].address = 0x1000;
    assert!(matches!(wrong(elsewhere), Error::BadPatch { address: 0x1000, .. }));
    let longer = |patches: &mut injector::InjectionPatches| patches.patches[0].new.push(0x90);
    assert!(matches!(wrong(longer), Error::BadPatch { .. }));
    let stubs = |patches: &mut injector::InjectionPatches| patches.stubs.resize(0x4001, 0);
    assert!(matches!(wrong(stubs), Error::Blob(_)));
}

#[test]
fn a_program_without_an_injection_runs_unchanged() {
    let (output, result) =
        run(piped(Path::new("/bin/echo"), &["a", "b"]), Path::new("/bin/echo"), {
            Arc::new(|target: &injector::InjectionTarget| {
                assert!(target.interpreted && target.path.ends_with("echo"), "{target:?}");
                Ok(None)
            })
        });
    assert!(matches!(result, Ok(InjectionOutcome::Left(SkipReason::Unwanted))), "{result:?}");
    assert_eq!(output.stdout, b"a b\n");
    let refused = |_: &injector::InjectionTarget| Err("because".into());
    let (output, result) = run(piped(counted(0), &["wait", "1"]), counted(0), Arc::new(refused));
    assert_eq!(output.status.code(), Some(7));
    assert_eq!(result.unwrap_err().to_string(), "the injection could not be prepared: because");
}

#[test]
fn a_command_that_cannot_be_started_is_an_error() {
    let nowhere = Path::new("/nowhere/at/all");
    let error = spawn_traced(Command::new(nowhere), nowhere, Arc::new(counting)).unwrap_err();
    assert!(error.to_string().starts_with("/nowhere/at/all: No such file"), "{error}");
}

#[test]
fn a_program_with_rights_of_its_own_is_not_traced() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("program");
    copy_program(counted(0), &program);
    // A user that has the privileges anyway loses none.
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o6755)).unwrap();
    let (output, result) = run(piped(&program, &["wait", "1"]), &program, Arc::new(counting));
    injected(&result);
    assert_eq!(output.status.code(), Some(7));
    if std::os::unix::fs::chown(&program, Some(12345), Some(12345)).is_err() {
        return; // Only root can give it away.
    }
    for (mode, right) in [(0o4755, "setuid"), (0o2755, "setgid")] {
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(mode)).unwrap();
        let (output, result) = run(piped(&program, &["wait", "1"]), &program, Arc::new(counting));
        assert_eq!(output.status.code(), Some(7));
        let Ok(InjectionOutcome::Left(left)) = result else { panic!("{result:?}") };
        assert!(left.to_string().contains(right), "{left}");
    }
}

#[test]
fn a_program_without_unused_code_is_injected_through_the_vdso() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("program");
    std::fs::write(&program, made::with_full_pages(counted(2))).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let (output, result) = run(piped(&program, &["wait", "2"]), &program, Arc::new(counting));
    injected(&result);
    assert_eq!(output.stdout, b"line 0\nline 1\nthe end\n");
    assert_eq!(output.status.code(), Some(7));
}
