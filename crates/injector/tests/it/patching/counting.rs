//! Counts of the hooks in a program, compared with strace.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use injector::patching::is_wanted;

/// A run of a program.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) output: String,
    pub(crate) code: Option<i32>,
    /// Calls that the hooks saw, by number, at the end of the program.
    pub(crate) counted: BTreeMap<u32, u64>,
    /// Number of them that returned.
    pub(crate) came_back: u64,
    /// Calls of the first process that strace saw, of the wanted numbers.
    pub(crate) seen: BTreeMap<u32, u64>,
}

/// Runs a program under strace.
pub(crate) fn observe(program: &Path, arguments: &[&str], directory: &Path) -> Run {
    let (trace, errors) = (directory.join("trace"), directory.join("errors"));
    let output = Command::new("strace")
        .args(["-f", "-qq", "-n", "-s0", "-o"])
        .arg(&trace)
        .arg(program)
        .args(arguments)
        .stderr(File::create(&errors).unwrap())
        .output()
        .unwrap_or_else(|error| panic!("strace is needed: {error}"));
    let words: Vec<u64> = fs::read(&errors)
        .unwrap()
        .as_chunks::<8>()
        .0
        .iter()
        .map(|word| u64::from_le_bytes(*word))
        .collect();
    let counted = (0u32..).zip(words.iter().copied().take(512)).filter(|(_, count)| *count > 0);
    Run {
        output: String::from_utf8_lossy(&output.stdout).into_owned(),
        code: output.status.code(),
        counted: counted.collect(),
        came_back: words.get(512).copied().unwrap_or_default(),
        seen: seen(&fs::read_to_string(&trace).unwrap()),
    }
}

/// Wanted calls of all processes as the program made them, except those before its start.
fn seen(trace: &str) -> BTreeMap<u32, u64> {
    let mut counts = BTreeMap::new();
    let mut threads: BTreeMap<&str, Thread> = BTreeMap::new();
    // The first call is strace's own.
    for line in trace.lines().skip(1) {
        let (thread, call) = line.split_once(char::is_whitespace).unwrap();
        let (thread, call) = (threads.entry(thread).or_default(), call.trim_start());
        if call.contains("] --- SIG") {
            let interrupted = thread.interrupted.take();
            thread.handlers.push(interrupted);
            continue;
        }
        let Some((number, call)) = call.strip_prefix('[').and_then(|call| call.split_once(']'))
        else {
            continue;
        };
        let number = number.trim().parse().unwrap();
        if call.contains("resumed>") {
            thread.end(number, call);
            continue;
        }
        // This call reports the counts.
        if number == 438 {
            *counts.entry(number).or_default() += 1;
            break;
        }
        // A call that the kernel restarts after a handler was made once by the program.
        let is_restarted = thread.restarts.take() == Some(number);
        if is_wanted(number) && !is_restarted {
            *counts.entry(number).or_default() += 1;
        }
        thread.end(number, call);
    }
    counts
}

/// State of a thread.
#[derive(Default)]
struct Thread {
    interrupted: Option<u32>,
    /// For each signal handler that has not ended, the call that it interrupted.
    handlers: Vec<Option<u32>>,
    /// The call that restarts now, unless the handler lets the thread continue elsewhere.
    restarts: Option<u32>,
}

impl Thread {
    fn end(&mut self, number: u32, call: &str) {
        if call.contains("= ? ERESTART") {
            self.interrupted = Some(number);
        } else if call.contains("rt_sigreturn")
            && let Some((_, result)) = call.rsplit_once(" = ")
        {
            let interrupted = self.handlers.pop().flatten();
            self.restarts = interrupted.filter(|number| result.trim() == number.to_string());
        }
    }
}
