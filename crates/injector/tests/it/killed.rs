//! Kills at any moment. A recorder's program runs on as if nothing had happened, and nothing is
//! left of a killed program.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::{ChildStderr, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use injector::{Error, InjectionOutcome, InjectionTarget, spawn_traced, wait_child};
use rustix::process::{Pid, Signal, kill_process};

use crate::helper::recorder;
use crate::made::{First, counted, injection, status};

/// Moments at which a process is killed, spread from before an injection to after it.
const MOMENTS: u32 = 50;

/// Reads up to a line by which a recorder reports its progress.
pub(crate) fn until(errors: &mut BufReader<ChildStderr>, line: &str) {
    assert!(errors.lines().any(|read| read.unwrap() == line), "{line}");
}

/// Time that a recorder takes from its beginning until its program runs.
fn whole_time() -> Duration {
    let mut child = recorder("waits").stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut errors = BufReader::new(child.stderr.take().unwrap());
    until(&mut errors, "begins");
    let begin = Instant::now();
    until(&mut errors, "spawned");
    let time = begin.elapsed();
    assert!(child.wait().unwrap().success());
    time
}

/// Kills a recorder some time after it begins, and returns its program's output until the end: the
/// pipe ends with the last process that has it.
fn output_of_killed(what: &str, after: Option<Duration>) -> String {
    let mut recorder = recorder(what);
    let mut child = recorder.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Kept to the end: a recorder fails if its output is not read.
    let mut errors = BufReader::new(child.stderr.take().unwrap());
    until(&mut errors, "begins");
    if let Some(after) = after {
        thread::sleep(after);
        child.kill().unwrap();
    }
    let mut output = String::new();
    child.stdout.take().unwrap().read_to_string(&mut output).unwrap();
    // At the last moments it may have ended.
    let ended = child.wait().unwrap();
    assert!(ended.signal() == Some(9) || after.is_some() && ended.success(), "{ended}");
    // The output after the harness's own.
    output.split_once("state\n").map(|(_, output)| output.to_owned()).unwrap_or_default()
}

/// Asserts the program's output lines, whichever process is killed.
#[track_caller]
fn assert_whole(output: &str) {
    for line in [
        "nothing given",
        "TracerPid:\t0",
        "SigBlk:\t0000000000000000",
        "a thread",
        "a child",
        "the end",
    ] {
        assert!(output.lines().any(|other| other == line), "{line} is missing in {output:?}");
    }
}

#[test]
fn a_program_runs_normally_if_its_recorder_dies_in_the_middle() {
    for what in ["dies at prepare", "dies at assemble"] {
        assert_whole(&output_of_killed(what, None));
    }
}

#[test]
fn a_recorder_that_is_killed_at_any_moment_leaves_no_stopped_process() {
    let step = whole_time() * 5 / 4 / MOMENTS;
    for moment in 0..MOMENTS {
        // The pipe ends, so no process is left standing still, and the program has run correctly.
        // At the first moments there may be no program yet.
        let output = output_of_killed("waits", Some(step * moment));
        if !output.is_empty() {
            assert_whole(&output);
        }
    }
}

#[test]
fn a_program_that_is_killed_at_any_moment_is_gone() {
    let program = counted(0);
    let mut gone = 0;
    for moment in 0..MOMENTS {
        let prepare = move |target: &InjectionTarget| {
            let process = Pid::from_raw(target.process as i32).unwrap();
            let kill = move || {
                thread::sleep(Duration::from_micros(u64::from(moment) * 20));
                kill_process(process, Signal::KILL).unwrap();
            };
            let mut injection = injection(target, First::Works);
            // From here on the process is being injected into.
            let assemble = injection.assemble;
            injection.assemble = Box::new(move |placed| {
                thread::spawn(kill);
                assemble(placed)
            });
            Ok(Some(injection))
        };
        let mut command = std::process::Command::new(program);
        command.args(["wait", "1"]).stdin(Stdio::piped()).stdout(Stdio::null());
        let mut spawned = spawn_traced(command, program, Arc::new(prepare)).unwrap();
        match spawned.result {
            Ok(InjectionOutcome::Injected(_)) => {}
            Err(Error::Gone { .. }) => gone += 1,
            other => panic!("{other:?}"),
        }
        assert_eq!(wait_child(&mut spawned.child).unwrap().signal(), Some(9));
        assert_eq!(status(spawned.child.id(), "State"), "");
    }
    assert!(gone > 0, "no moment was in an injection");
}
