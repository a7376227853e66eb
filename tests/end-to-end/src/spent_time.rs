//! Recordings, with resources, of `tests/programs/spent.c`: a server whose requests each spend
//! their time in one way, and which prints how.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::capture::{TestRecording, copy_program, run_successfully};
use crate::sockcap_program;

/// The ways in which requests spend their time.
pub const REQUEST_KINDS: [&str; 6] = ["sleep", "spin", "sync", "lock", "call", "push"];

/// The server's output about a request, in nanoseconds.
#[derive(Clone, Debug)]
pub struct ServerFigures {
    /// The kind of the request.
    pub kind: String,
    /// The time for which the thread of the request was blocked, in nanoseconds.
    pub blocked: i64,
}

/// A recording of `spent.c`.
#[derive(Clone, Debug, Default)]
pub struct SpentRecording {
    /// The kinds, each with the port for its requests.
    pub ports: Vec<(String, u16)>,
    /// The requests, in order.
    pub requests: Vec<ServerFigures>,
}

impl SpentRecording {
    /// The name of the operation of a kind.
    pub fn operation_name(&self, kind: &str) -> String {
        let port = self.ports.iter().find(|(name, _)| name == kind).map(|(_, port)| port);
        format!("server:{}", port.expect("a port for each kind"))
    }
}

/// Records this number of requests of each kind, one after the other.
pub fn record_requests(recording: &TestRecording, rounds: usize) -> SpentRecording {
    let program = recording.compile_program("spent");
    let of = |name: &str| recording.file_path(name);
    for name in ["client", "server", "backend"] {
        copy_program(&program, &of(name));
    }
    fs::create_dir_all(recording.data_dir()).expect("a data directory");
    let mut command = Command::new(sockcap_program());
    command.args(["record", "--resources", "--host", "host", "-d"]).arg(recording.data_dir());
    command.arg("--").arg(of("client")).arg(rounds.to_string()).current_dir(of(""));
    parse_figures(&run_successfully(&mut command))
}

fn parse_figures(printed: &str) -> SpentRecording {
    let mut spent = SpentRecording::default();
    for line in printed.lines() {
        match line.split_whitespace().collect::<Vec<_>>()[..] {
            [kind, port] => spent.ports.push((kind.to_owned(), port.parse().expect("a port"))),
            [kind, _, _, blocked] => spent.requests.push(ServerFigures {
                kind: kind.to_owned(),
                blocked: blocked.parse().expect("nanoseconds"),
            }),
            _ => {}
        }
    }
    assert_eq!(spent.ports.len(), REQUEST_KINDS.len(), "{printed}");
    spent
}

/// The arguments of a command on a data directory.
pub fn arguments_for<'a>(command: &[&'a str], data: &'a Path) -> Vec<&'a str> {
    [command, &["-d", data.to_str().expect("a path of letters")]].concat()
}
