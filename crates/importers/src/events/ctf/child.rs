//! babeltrace2 as a child process.

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::error::Error;
use crate::summary::FilePosition;

/// Name of the program that is run.
const PROGRAM: &str = "babeltrace2";

/// Maximum size of the program's error output that is kept, in bytes.
const MAX_ERROR_OUTPUT_BYTES: u64 = 64 << 10;

/// Running program that writes the events of a trace, and its error output.
pub(super) struct Babeltrace {
    child: Child,
    error_output: Option<std::thread::JoinHandle<String>>,
}

/// Failure of the program.
pub(super) struct BabeltraceFailure {
    /// Reason as a sentence.
    pub(super) why: String,
    /// Complete error output of the program.
    pub(super) error_output: String,
}

impl Babeltrace {
    /// Runs babeltrace2 on the trace in the directory `path`.
    ///
    /// # Errors
    /// When babeltrace2 cannot be run: the error says how to install it.
    pub(super) fn spawn_on(path: &Path) -> Result<Babeltrace, Error> {
        let mut command = Command::new(PROGRAM);
        command.args(["--clock-seconds", "--no-delta", "--names=all", "--fields=all"]).arg(path);
        Babeltrace::start_command(command, path)
    }

    /// Runs babeltrace2 on the trace in the directory `path`, which has one stream only, without
    /// the component that merges streams by time.
    ///
    /// # Errors
    /// When babeltrace2 cannot be run: the error says how to install it.
    pub(super) fn spawn_alone(path: &Path) -> Result<Babeltrace, Error> {
        // A string in the syntax of its parameters.
        let text = path.display().to_string().replace('\\', "\\\\").replace('"', "\\\"");
        let mut command = Command::new(PROGRAM);
        command.args(["run", "--component=from:source.ctf.fs", "--params"]);
        command.arg(format!("inputs=[\"{text}\"]"));
        command.args(["--component=to:sink.text.pretty", "--params"]);
        command.arg("clock-seconds=yes,no-delta=yes,name-default=show,field-default=show");
        command.arg("--connect=from:to");
        Babeltrace::start_command(command, path)
    }

    fn start_command(mut command: Command, path: &Path) -> Result<Babeltrace, Error> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| {
            let why = format!(
                "the program {PROGRAM} cannot be run: {error}; it is in Debian's package \
                 babeltrace2"
            );
            Error::malformed_at(path, FilePosition::File, why)
        })?;
        let error_output = child.stderr.take().map(|stderr| {
            std::thread::spawn(move || {
                let mut text = Vec::new();
                let mut stderr = stderr;
                // Further output is read and dropped, so that the program does not block.
                let _ = stderr.by_ref().take(MAX_ERROR_OUTPUT_BYTES).read_to_end(&mut text);
                let _ = std::io::copy(&mut stderr, &mut std::io::sink());
                String::from_utf8_lossy(&text).into_owned()
            })
        });
        Ok(Babeltrace { child, error_output })
    }

    /// Takes the output pipe of babeltrace2 out of this struct; `None` if it was taken before.
    pub(super) fn take_output(&mut self) -> Option<impl Read + use<>> {
        self.child.stdout.take()
    }

    /// Waits for the program's end; returns its failure, if any.
    pub(super) fn wait_for_end(&mut self) -> Option<BabeltraceFailure> {
        let status = self.child.wait();
        let error_output = self
            .error_output
            .take()
            .and_then(|error_output| error_output.join().ok())
            .unwrap_or_default();
        let why = match status {
            Ok(status) if status.success() => return None,
            Ok(status) => format!("{PROGRAM} ended with {status}: {}", last_cause(&error_output)),
            Err(error) => error.to_string(),
        };
        Some(BabeltraceFailure { why, error_output })
    }
}

impl Drop for Babeltrace {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reason in an error message: the last of its causes, which is nearest to the file. The error is
/// preceded by log lines, and each cause begins with a place in the program's own code.
fn last_cause(error_output: &str) -> String {
    let mut cause: Option<Vec<&str>> = None;
    for line in error_output.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if line.starts_with("ERROR:") || line.starts_with("CAUSED BY") {
            cause = Some(Vec::new());
        } else if let Some(cause) = &mut cause {
            cause.push(line);
        }
    }
    let cause = cause.unwrap_or_default().join(" ");
    if cause.is_empty() { "it gives no reason".to_owned() } else { cause }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cause_nearest_to_the_file_is_reported() {
        let error_output = "11-29 22:31:00.123  5 5 E PLUGIN/X something\n\
                    ERROR:    [Babeltrace CLI] (main.c:1)\n  Graph failed.\n\
                    CAUSED BY [x: 'source.ctf.fs'] (fs.c:2)\n  Cannot read the\n  packet: at=7\n";
        assert_eq!(last_cause(error_output), "Cannot read the packet: at=7");
        assert_eq!(last_cause("a line of its log"), "it gives no reason");
    }
}
