//! babeltrace2, run on a trace.

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::error::Error;
use crate::summary::At;

/// The program.
const PROGRAM: &str = "babeltrace2";

/// Text that tells what went wrong, of what the program says about errors.
const SAID_BYTES: u64 = 64 << 10;

/// The program that writes the events of a trace, and what it says.
pub(super) struct Babeltrace {
    child: Child,
    said: Option<std::thread::JoinHandle<String>>,
}

/// What went wrong.
pub(super) struct Failure {
    /// In a sentence.
    pub(super) why: String,
    /// All that the program said.
    pub(super) said: String,
}

impl Babeltrace {
    /// Runs it on the trace in the directory `path`.
    ///
    /// # Errors
    /// When it cannot be run: the error says how to install it.
    pub(super) fn run(path: &Path) -> Result<Babeltrace, Error> {
        let mut command = Command::new(PROGRAM);
        command.args(["--clock-seconds", "--no-delta", "--names=all", "--fields=all"]);
        command.arg(path).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| {
            let why = format!(
                "the program {PROGRAM} cannot be run: {error}; it is in Debian's package \
                 babeltrace2"
            );
            Error::malformed(path, At::File, why)
        })?;
        let said = child.stderr.take().map(|stderr| {
            std::thread::spawn(move || {
                let mut text = Vec::new();
                let mut stderr = stderr;
                // What is more is read and dropped, so that the program does not wait.
                let _ = stderr.by_ref().take(SAID_BYTES).read_to_end(&mut text);
                let _ = std::io::copy(&mut stderr, &mut std::io::sink());
                String::from_utf8_lossy(&text).into_owned()
            })
        });
        Ok(Babeltrace { child, said })
    }

    /// Its output.
    pub(super) fn output(&mut self) -> Option<impl Read + use<>> {
        self.child.stdout.take()
    }

    /// Waits for its end; returns what went wrong, if something did.
    pub(super) fn finish(&mut self) -> Option<Failure> {
        let status = self.child.wait();
        let said = self.said.take().and_then(|said| said.join().ok()).unwrap_or_default();
        let why = match status {
            Ok(status) if status.success() => return None,
            Ok(status) => format!("{PROGRAM} ended with {status}: {}", first_cause(&said)),
            Err(error) => error.to_string(),
        };
        Some(Failure { why, said })
    }
}

impl Drop for Babeltrace {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The first line of what it says of an error that is no place in its own code.
fn first_cause(said: &str) -> &str {
    let mut lines = said.lines().map(str::trim).filter(|line| !line.is_empty());
    let is_place = |line: &&str| !(line.starts_with("ERROR:") || line.starts_with("CAUSED BY"));
    lines.find(is_place).unwrap_or("it says nothing of it")
}
