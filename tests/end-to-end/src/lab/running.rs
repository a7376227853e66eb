//! Programs in the background: waited for, stopped by a signal, and killed when the test drops
//! them.

use std::fs::{self, File};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::NamedTempFile;

/// Maximum time that a test waits for an expected event.
const MAX_WAIT: Duration = Duration::from_secs(60);

/// A program in the background.
pub struct RunningProgram {
    name: String,
    child: Child,
    output: NamedTempFile,
}

impl RunningProgram {
    /// Starts a program, whose output goes to a temporary file.
    pub fn start_program(name: &str, command: &mut Command) -> RunningProgram {
        let output = NamedTempFile::new().expect("a temporary file");
        let open =
            || Stdio::from(File::options().append(true).open(output.path()).expect("the file"));
        let child = command.stdin(Stdio::null()).stdout(open()).stderr(open()).spawn();
        let child = child.unwrap_or_else(|error| panic!("{name}: {command:?}: {error}"));
        RunningProgram { name: name.to_owned(), child, output }
    }

    /// The name of the program in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The process id of the program.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Text that the program has printed so far, on standard output and standard error.
    pub fn output(&self) -> String {
        String::from_utf8_lossy(&fs::read(self.output.path()).unwrap_or_default()).into_owned()
    }

    /// Fails the test if the program has ended.
    pub fn check_running(&mut self) {
        let status = self.child.try_wait().expect("it is a child");
        assert!(status.is_none(), "{} has ended: {status:?}\n{}", self.name, self.output());
    }

    /// Waits until the program has printed `text`.
    pub fn wait_for(&self, text: &str) {
        let deadline = Instant::now() + MAX_WAIT;
        while !self.output().contains(text) {
            assert!(
                Instant::now() < deadline,
                "{} does not say {text:?}\n{}",
                self.name,
                self.output()
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Sends a signal to the program, waits for its end, and returns what it printed.
    pub fn stop_by(mut self, signal: Signal) -> String {
        self.send_signal(signal);
        self.wait_end();
        self.output()
    }

    /// Sends a signal to the program.
    pub fn send_signal(&self, signal: Signal) {
        let pid =
            i32::try_from(self.child.id()).ok().and_then(Pid::from_raw).expect("a process id");
        kill_process(pid, signal).unwrap_or_else(|error| panic!("{}: {error}", self.name));
    }

    /// Waits for the end of the program, which must succeed, and returns what it printed.
    pub fn wait_success(mut self) -> String {
        let status = self.wait_end();
        assert!(status.success(), "{}: {status}\n{}", self.name, self.output());
        self.output()
    }

    /// Waits for the end of the program, whatever its status, and returns what it printed.
    pub fn finish_by_any_status(mut self) -> String {
        self.wait_end();
        self.output()
    }

    fn wait_end(&mut self) -> ExitStatus {
        let deadline = Instant::now() + 5 * MAX_WAIT;
        loop {
            if let Some(status) = self.child.try_wait().expect("it is a child") {
                return status;
            }
            assert!(Instant::now() < deadline, "{} does not end\n{}", self.name, self.output());
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for RunningProgram {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
