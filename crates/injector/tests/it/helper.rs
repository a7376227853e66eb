//! Recorder in a process of its own: this test program, started once more with the one test that
//! does what its variable `RECORDER` states. It can thus belong to another user, and be killed.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use injector::{
    Injection, InjectionOutcome, InjectionTarget, PrepareError, spawn_traced, wait_child,
};

use crate::made::{counted, counting, injection};

/// Command of a recorder.
pub(crate) fn recorder(what: &str) -> Command {
    of_program(&std::env::current_exe().unwrap(), what)
}

/// Command of a recorder from a program file that was copied elsewhere.
pub(crate) fn of_program(program: &Path, what: &str) -> Command {
    let mut command = Command::new(program);
    command.args(["--exact", "helper::records", "--ignored", "--nocapture"]);
    command.env("RECORDER", what).env("PROGRAM", counted(0)).env("RUST_BACKTRACE", "0");
    command
}

/// Command of a recorder that attaches to a process repeatedly.
pub(crate) fn attaching(process: u32) -> Command {
    let mut command = recorder("attaches");
    command.env("PROCESS", process.to_string()).stderr(Stdio::piped()).stdout(Stdio::null());
    command
}

/// Ends this process as `kill -9` does.
fn die() -> ! {
    let own = rustix::process::getpid();
    let _ = rustix::process::kill_process(own, rustix::process::Signal::KILL);
    unreachable!("it was killed");
}

/// Dies before anything is changed in the process.
fn dying_at_prepare(_: &InjectionTarget) -> Result<Option<Injection>, PrepareError> {
    die()
}

/// Dies while the process stands in the middle of its injection.
fn dying_at_assemble(target: &InjectionTarget) -> Result<Option<Injection>, PrepareError> {
    let mut injection = injection(target, crate::made::First::Works);
    injection.assemble = Box::new(|_| die());
    Ok(Some(injection))
}

#[test]
#[ignore = "it is started by other tests"]
fn records() {
    let Ok(what) = std::env::var("RECORDER") else { return };
    if let Ok(process) = std::env::var("PROCESS") {
        let process = process.parse().unwrap();
        match what.as_str() {
            "attaches once" => return crate::attaching::attach_once(process),
            "stays" => return crate::attaching::attach_and_stay(process),
            "tries" => return crate::attaching::attach_beside_another(process),
            _ => crate::attaching::attach_for_ever(process),
        }
    }
    let program = std::env::var_os("PROGRAM").unwrap();
    let program = Path::new(&program);
    let mut command = Command::new(program);
    command.args(["state"]).stdin(Stdio::null());
    let prepare: Arc<dyn injector::Prepare> = match what.as_str() {
        "dies at prepare" => Arc::new(dying_at_prepare),
        "dies at assemble" => Arc::new(dying_at_assemble),
        _ => Arc::new(counting),
    };
    eprintln!("begins");
    let mut spawned = spawn_traced(command, program, prepare).unwrap();
    eprintln!("spawned");
    let status = wait_child(&mut spawned.child).unwrap();
    match spawned.result {
        Ok(InjectionOutcome::Injected(injected)) => {
            eprintln!("injected, {} changes", injected.patches)
        }
        other => eprintln!("{other:?}"),
    }
    assert_eq!(status.code(), Some(3));
}
