//! Programs under both `strace` and the library: what the kernel saw is compared with what was
//! logged, thread by thread.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use socket_log::encode::Direction;

use crate::capture::{FlowTraffic, TestRecording, ThreadTraffic, program_path, run_successfully};
use crate::strace;

/// A recording that strace observes as well.
#[derive(Default)]
pub struct StracedRecording {
    /// The recording.
    pub recording: TestRecording,
    /// strace's output, one file for each command.
    pub traces: Vec<PathBuf>,
    /// strace's options; `None` for those that [`StracedRecording::compare_logs`] needs.
    options: Option<Vec<String>>,
}

/// A server that runs until it is stopped.
pub struct TestServer {
    child: Child,
    name: &'static str,
}

/// A port that nothing listens on.
pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

impl StracedRecording {
    /// An empty recording.
    pub fn new() -> StracedRecording {
        StracedRecording::default()
    }

    /// An empty recording, for which strace is run with `options`.
    pub fn with_options(options: &[&str]) -> StracedRecording {
        let options = options.iter().map(|option| (*option).to_owned()).collect();
        StracedRecording { options: Some(options), ..StracedRecording::default() }
    }

    /// The command, run under strace.
    pub fn under_strace(&mut self, command: &Command) -> Command {
        let output = self.recording.file_path(&format!("trace-{}", self.traces.len()));
        self.traces.push(output.clone());
        let mut command = match &self.options {
            Some(options) => strace::strace_with_options(
                command,
                &options.iter().map(String::as_str).collect::<Vec<_>>(),
                &output,
            ),
            None => strace::strace_command(command, &output),
        };
        // strace names threads, and not the coroutines or goroutines that run on them.
        command.env("SOCKCAP_RUNTIMES", "0");
        command
    }

    /// Runs a command that must succeed, and returns what it printed.
    pub fn run_command(&mut self, command: &Command) -> String {
        run_successfully(&mut self.under_strace(command))
    }

    /// Starts a server and waits until it accepts connections.
    pub fn start_server(&mut self, name: &'static str, command: &Command, port: u16) -> TestServer {
        let command = &mut self.under_strace(command);
        start_server(name, command, port)
    }

    /// Runs redis and its benchmark to the end: `requests` of each of two kinds, from `clients`
    /// clients.
    pub fn run_redis(&mut self, requests: u32, clients: u32) {
        let port = free_port();
        let text = port.to_string();
        let mut server = self.recording.recorded_command(program_path("redis-server"));
        server.args(["--port", &text, "--save", "", "--bind", "127.0.0.1"]);
        let server = self.start_server("redis", &server, port);
        let mut benchmark = self.recording.recorded_command(program_path("redis-benchmark"));
        benchmark.args(["-p", &text, "-n", &requests.to_string(), "-c", &clients.to_string()]);
        self.run_command(benchmark.args(["-q", "-t", "set,get", "-d", "200"]));
        self.stop_server(server, "TERM");
    }

    /// Ends a server by `signal`, with the process id from its log: the child that the test knows
    /// is strace.
    pub fn stop_server(&self, mut server: TestServer, signal: &str) {
        let of_server = |log: &crate::capture::ReadLog| {
            log.log.header().parent_pid == server.child.id()
                || log.log.header().executable.ends_with(server.name)
        };
        let log = self.recording.read_logs().into_iter().find(of_server).expect("the server's log");
        let pid = log.log.header().pid;
        wait_until_idle(pid);
        run_successfully(Command::new("kill").args(["-s", signal, &pid.to_string()]));
        server.child.wait().unwrap();
    }

    /// Compares the logs with what strace saw, thread by thread, and returns the total that was
    /// sent. Every difference must be one of `hidden`: messages that the kernel saw and the log
    /// cannot contain.
    pub fn compare_logs(&self, hidden: &[(Direction, u64)]) -> FlowTraffic {
        let mut logged = ThreadTraffic::new();
        let mut names = std::collections::BTreeMap::new();
        for log in self.recording.read_logs() {
            for (thread, traffic) in log.thread_traffic() {
                names.insert(thread.0, log.log.header().executable.clone());
                let sum = logged.entry(thread).or_default();
                sum.calls += traffic.calls;
                sum.bytes += traffic.bytes;
            }
        }
        let text: String =
            self.traces.iter().map(|trace| fs::read_to_string(trace).unwrap()).collect();
        let seen = strace::traffic_of_threads(&text);
        let differences: Vec<_> = seen
            .keys()
            .chain(logged.keys().filter(|thread| !seen.contains_key(thread)))
            .filter(|thread| seen.get(thread) != logged.get(thread))
            .map(|thread| (thread, seen.get(thread), logged.get(thread), names.get(&thread.0)))
            .collect();
        let total = |traffic: &ThreadTraffic, wanted: Direction| {
            traffic.iter().filter(|((_, direction), _)| *direction == wanted).fold(
                FlowTraffic::default(),
                |sum, (_, traffic)| FlowTraffic {
                    calls: sum.calls + traffic.calls,
                    bytes: sum.bytes + traffic.bytes,
                },
            )
        };
        for direction in [Direction::Send, Direction::Receive] {
            let mut expected = total(&logged, direction);
            for (_, bytes) in hidden.iter().filter(|(of, _)| *of == direction) {
                expected.calls += 1;
                expected.bytes += bytes;
            }
            let kernel = total(&seen, direction);
            assert_eq!(
                kernel, expected,
                "{direction:?}; thread, kernel, log, program: {differences:#?}"
            );
        }
        assert!(!hidden.is_empty() || differences.is_empty(), "{differences:#?}");
        // For the table in docs/capture.md.
        let mut programs = std::collections::BTreeMap::<_, FlowTraffic>::new();
        for ((tid, direction), traffic) in &logged {
            let name = names[tid].rsplit('/').next().unwrap_or_default();
            let sum = programs.entry((name, *direction)).or_default();
            sum.calls += traffic.calls;
            sum.bytes += traffic.bytes;
        }
        for ((name, direction), traffic) in programs {
            println!("{name} {direction:?}: {} messages, {} bytes", traffic.calls, traffic.bytes);
        }
        total(&logged, Direction::Send)
    }
}

/// Starts a server and waits until it accepts connections.
pub fn start_server(name: &'static str, command: &mut Command, port: u16) -> TestServer {
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    for _ in 0..2000 {
        if TcpStream::connect(("127.0.0.1", port)).is_ok() {
            return TestServer { child, name };
        }
        assert!(child.try_wait().unwrap().is_none(), "{command:?} ended");
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    panic!("{command:?} does not listen on port {port}");
}

/// Waits until all threads of a process sleep. A thread that is returning from a call has not yet
/// recorded what the kernel has sent; if the process ended now, the record would be lost.
pub(crate) fn wait_until_idle(pid: u32) {
    let sleeps = |task: fs::DirEntry| {
        let stat = fs::read_to_string(task.path().join("stat")).unwrap_or_default();
        // The state follows the name, which may contain any characters.
        stat.rsplit_once(')').is_none_or(|(_, rest)| rest.trim_start().starts_with('S'))
    };
    let idle = || fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten().all(sleeps);
    let mut looks = 0;
    for _ in 0..1000 {
        looks = if idle() { looks + 1 } else { 0 };
        if looks == 3 {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("process {pid} does not come to rest");
}
