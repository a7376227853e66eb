//! Activities of programs that are not captured are noted in their logs, and `record` and `info`
//! name them: sockets of other kinds, `io_uring`, and system calls past libc.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use end_to_end::capture::{ReadLog, TestRecording, program_path, python_path, run_successfully};
use end_to_end::command::{assert_succeeds, run_sockcap, to_text};
use end_to_end::repository;
use reconcile::uncaptured::UncapturedThing;
use socket_log::LogRecord;
use socket_log::encode::FlowRole;

use super::inject::{compile_go, go_command};

/// Version of Go.
const GO: &str = "1.27.3";

/// The uncaptured uses in a log, in words, and the number of its flows.
fn uncaptured_uses(log: &ReadLog) -> (Vec<String>, usize) {
    let things = log
        .complete_records()
        .filter_map(UncapturedThing::from_record)
        .map(|thing| thing.describe_count(1));
    let flows =
        log.complete_records().filter(|record| matches!(record, LogRecord::Flow(_))).count();
    let mut things: Vec<String> = things.collect();
    things.sort();
    (things, flows)
}

/// Compiles `past_libc.c` as `name`.
fn past_libc(directory: &Path, name: &str, arguments: &[&str]) -> PathBuf {
    let (binary, source) = (directory.join(name), repository().join("tests/programs/past_libc.c"));
    let mut command = Command::new(program_path("cc"));
    run_successfully(
        command.args(["-O1", "-Wall"]).args(arguments).arg("-o").arg(&binary).arg(source),
    );
    binary
}

/// Text without line breaks, as messages are folded.
fn unfold_text(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn sockets_of_other_kinds_and_rings_are_in_the_log() {
    let recording = TestRecording::new();
    let binary = recording.compile_program("uncaptured");
    let mut command = recording.recorded_command(&binary);
    // ICMP without rights is permitted by group.
    let printed = run_successfully(&mut command);
    let [raw, icmp, packet, netlink, ring] = printed
        .split_whitespace()
        .map(|count| count.parse::<usize>().unwrap())
        .collect::<Vec<_>>()
        .try_into()
        .unwrap();
    assert_eq!([raw, packet, netlink, ring], [1, 2, 1, 1], "this test must run as root");
    let (things, flows) = uncaptured_uses(&recording.only_log());
    let wanted = [
        vec!["1 ICMP socket"; icmp],
        vec!["1 netlink socket"; netlink],
        vec!["1 packet socket"; packet],
        vec!["1 raw (ICMP) socket"; raw],
        vec!["1 ring of io_uring"; ring],
    ]
    .concat();
    assert_eq!(things, wanted);
    assert_eq!(flows, 0, "nothing of them is recorded");
}

#[test]
fn record_and_info_name_uncaptured_uses() {
    let recording = TestRecording::new();
    let directory = recording.file_path("");
    recording.compile_program("uncaptured");
    let output = run_sockcap(&["record", "--host", "web1", "--", "./uncaptured"], &directory);
    let said = unfold_text(&to_text(&output.stderr));
    assert!(output.status.success(), "{said}");
    let sockets = "not captured: 2 packet sockets in uncaptured, 1 raw (ICMP) socket in uncaptured";
    let rings = "not captured: 1 ring of io_uring in uncaptured; io_uring transfers bytes without \
                 calls; turn it off in the program, if possible, or capture its packets, then \
                 'sockcap import pcap'";
    let without_icmp = said.replace("1 ICMP socket in uncaptured, ", "");
    assert!(without_icmp.contains(sockets), "{said}");
    assert!(said.contains(rings), "{said}");
    assert!(!said.contains("netlink"), "each tool for the network has some: {said}");
    let info = unfold_text(&assert_succeeds(&["info"], &directory));
    for line in [
        "used by recorded programs and not captured:",
        "1 netlink socket: uncaptured on web1",
        "2 packet sockets: uncaptured on web1",
        "1 raw (ICMP) socket: uncaptured on web1",
        "1 ring of io_uring: uncaptured on web1",
        "io_uring transfers bytes without calls;",
    ] {
        assert!(info.contains(line), "{line}: {info}");
    }
    assert!(!info.contains("used no socket"), "{info}");
    let json: serde_json::Value =
        serde_json::from_str(&assert_succeeds(&["info", "--json"], &directory)).unwrap();
    let listed = json["not_seen"]["uncaptured"].as_array().unwrap();
    assert!(
        listed.iter().any(|found| found["kind"] == "ring"
            && found["program"] == "uncaptured"
            && found["host"] == "web1"
            && found["count"] == 1),
        "{listed:?}"
    );
}

#[test]
fn netlink_alone_is_reported_by_info_and_not_by_record() {
    let recording = TestRecording::new();
    let directory = recording.file_path("");
    recording.compile_program("uncaptured");
    let output = run_sockcap(&["record", "--", "./uncaptured", "netlink"], &directory);
    let said = unfold_text(&to_text(&output.stderr));
    assert!(output.status.success() && !said.contains("not captured"), "{said}");
    assert!(!said.contains("used no socket"), "{said}");
    let info = unfold_text(&assert_succeeds(&["info"], &directory));
    assert!(info.contains("1 netlink socket: uncaptured on "), "{info}");
}

#[test]
fn programs_that_call_the_kernel_past_libc_are_named() {
    let recording = TestRecording::new();
    let directory = recording.file_path("");
    past_libc(&directory, "direct", &[]);
    past_libc(&directory, "any", &["-DANY"]);
    for (name, arguments) in
        [("direct", &["close"] as &[&str]), ("any", &["close"]), ("direct", &[]), ("any", &[])]
    {
        let data = format!("{name}{}", arguments.len());
        let command = format!("./{name}");
        let record = [&["record", "-d", &data, "--", &command], arguments].concat();
        let output = run_sockcap(&record, &directory);
        let said = unfold_text(&to_text(&output.stderr));
        assert!(output.status.success(), "{said}");
        let object = format!("system calls of {name} in {name}");
        let sockets = format!("3 TCP sockets made past libc in {name}");
        assert!(said.contains(&object), "{data}: {said}");
        // Sockets that were closed before the end are no longer visible.
        assert_eq!(said.contains(&sockets), arguments.is_empty(), "{data}: {said}");
        let advice = "system calls past libc are not recorded; run it under strace, then 'sockcap \
                      import strace'";
        assert!(said.contains(advice), "{data}: {said}");
        assert!(!said.contains("used no socket"), "{data}: {said}");
        let info = unfold_text(&assert_succeeds(&["info", "-d", &data], &directory));
        let object = format!("system calls of {name}: {name} on ");
        assert!(info.contains(&object) && info.contains(advice), "{data}: {info}");
        assert!(!info.contains("used no socket"), "{data}: {info}");
    }
}

#[test]
fn a_ring_that_is_set_up_past_libc_is_seen_at_the_end() {
    let recording = TestRecording::new();
    let binary = past_libc(&recording.file_path(""), "direct", &[]);
    run_successfully(recording.recorded_command(binary).args(["close", "ring"]));
    let (things, _) = uncaptured_uses(&recording.only_log());
    assert_eq!(things, ["1 ring of io_uring", "system calls of direct"]);
}

#[test]
fn a_small_program_that_calls_the_kernel_by_itself_is_named_though_it_is_killed() {
    let recording = TestRecording::new();
    let binary = past_libc(&recording.file_path(""), "direct", &[]);
    let mut command = recording.recorded_command(binary);
    let mut child = command.args(["close", "wait"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(line, "done\n");
    assert_eq!(
        uncaptured_uses(&recording.only_log()),
        (vec!["system calls of direct".to_owned()], 0)
    );
}

/// A library that is loaded while the program runs, by Python. The process has to live for a while
/// before its libraries are searched.
#[test]
fn a_library_that_calls_the_kernel_by_itself_is_named_with_its_program() {
    let recording = TestRecording::new();
    past_libc(&recording.file_path(""), "libtalk.so", &["-shared", "-fPIC", "-DLIBRARY"]);
    let script = "import ctypes, time; time.sleep(0.1); \
                  assert ctypes.CDLL('./libtalk.so').talk(1) == 0";
    recording.run_python(script);
    let log = recording.only_log();
    assert_eq!(uncaptured_uses(&log), (vec!["system calls of libtalk.so".to_owned()], 0));
    let object = log.complete_records().find_map(|record| match record {
        LogRecord::Uncaptured { object, .. } => Some(object.clone()),
        _ => None,
    });
    assert!(object.unwrap().ends_with("/libtalk.so"));
}

/// Debian's liburing calls the kernel by itself, and a program may open it privately. A ring is
/// seen while it is open, and the library whether it is open or not.
#[test]
fn rings_of_liburing_are_in_the_log() {
    run_successfully(Command::new(repository().join("scripts/install-servers")).arg("liburing2"));
    for (mode, closes) in [("GLOBAL", false), ("LOCAL", false), ("LOCAL", true)] {
        let recording = TestRecording::new();
        let end = if closes { "library.io_uring_queue_exit(ring)" } else { "pass" };
        let script = format!(
            "import ctypes, time\n\
             time.sleep(0.1)\n\
             library = ctypes.CDLL('liburing.so.2', mode=ctypes.RTLD_{mode})\n\
             ring = ctypes.create_string_buffer(1024)\n\
             assert library.io_uring_queue_init(4, ring, 0) == 0\n\
             {end}\n"
        );
        recording.run_python(&script);
        let things = uncaptured_uses(&recording.only_log()).0;
        assert!(things.iter().any(|it| it.starts_with("system calls of liburing")), "{things:?}");
        assert_eq!(things.contains(&"1 ring of io_uring".to_owned()), !closes, "{things:?}");
    }
}

#[test]
fn programs_that_use_only_libc_have_no_uncaptured_uses() {
    let recording = TestRecording::new();
    let script = r#"
import socket, subprocess, syslog, os, time
time.sleep(0.1)
listener = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(listener.getsockname()); server, _ = listener.accept()
client.sendall(b"a"); server.recv(1)
kept = os.dup(client.fileno())
socket.getaddrinfo("localhost", 80); syslog.syslog("a line"); socket.if_nameindex()
one, two = socket.socketpair()
socket.send_fds(one, [b"f"], [server.fileno()]); passed = socket.recv_fds(two, 1, 1)
subprocess.run(["/bin/true"], check=True)
if os.fork() == 0: os._exit(0)
os.wait()
"#;
    recording.run_python(script);
    for log in recording.read_logs() {
        assert_eq!(uncaptured_uses(&log).0, [""; 0], "{:?}", log.path);
    }
    // Inherited sockets are not the program's own.
    let recording = TestRecording::new();
    let (one, _two) = UnixStream::pair().unwrap();
    let mut command = recording.recorded_command(python_path());
    command.args(["-c", "import os; os.dup(0); os.dup(0)"]);
    run_successfully(command.stdin(Stdio::from(OwnedFd::from(one))));
    assert_eq!(recording.read_logs().len(), 0);
}

/// No machine of the tests can have a connection over vsock: its kernel has no route to itself. The
/// server's calls on its socket are enough for its name, and matching is tested on logs.
#[test]
fn a_server_of_vsock_is_captured_like_one_of_tcp() {
    let recording = TestRecording::new();
    let script = "import socket\n\
                  server = socket.socket(socket.AF_VSOCK)\n\
                  server.bind((socket.VMADDR_CID_ANY, 5123)); server.listen()\n\
                  datagrams = None\n\
                  try: socket.socket(socket.AF_VSOCK, socket.SOCK_SEQPACKET); datagrams = 1\n\
                  except OSError: datagrams = 0\n\
                  print(datagrams)";
    let datagrams: usize = recording.run_python(script).trim().parse().unwrap();
    let log = recording.only_log();
    assert_eq!(uncaptured_uses(&log), (vec!["1 vsock socket".to_owned(); datagrams], 1));
    let names = log.complete_records().find_map(|record| match record {
        LogRecord::Endpoints { local: Some(local), role: FlowRole::Listen, .. } => Some(local),
        _ => None,
    });
    assert_eq!(names.unwrap().to_string(), "vsock:*:5123");
}

#[test]
fn a_library_of_go_is_named_with_its_program() {
    let recording = TestRecording::new();
    let library = recording.file_path("libshared.so");
    run_successfully(
        go_command(&recording, GO)
            .args(["build", "-buildmode=c-shared", "-o"])
            .arg(&library)
            .arg(repository().join("tests/programs/shared_in_go.go"))
            .env("CGO_ENABLED", "1"),
    );
    recording.run_python(
        "import ctypes, time; time.sleep(0.1); \
         assert ctypes.CDLL('./libshared.so').Talk() == 5",
    );
    let log = recording.only_log();
    assert_eq!(uncaptured_uses(&log), (vec!["system calls of libshared.so (Go)".to_owned()], 0));
}

/// Programs of Go and of C without a dynamic linker, started by a shell script: two in children of
/// the shell, the last one in its place.
#[test]
fn static_programs_of_a_script_are_named_with_the_command_that_records_them() {
    let recording = TestRecording::new();
    let directory = recording.file_path("");
    compile_go(&recording, GO);
    past_libc(&directory, "fixed", &["-static"]);
    let script = "./goroutines 1 0\n./fixed close\nexec ./goroutines 1 0\n";
    fs::write(directory.join("serve.sh"), script).unwrap();
    let record = |flags: &[&str]| {
        let arguments = [&["record", "--host", "web1"], flags, &["--", "sh", "serve.sh"]].concat();
        let output = run_sockcap(&arguments, &directory);
        let said = unfold_text(&to_text(&output.stderr));
        assert!(output.status.success(), "{said}");
        said
    };
    let advice = "record with --inject (x86-64), or run it under strace, then 'sockcap import \
                  strace'";
    let said = record(&["-d", "plain"]);
    let programs = "not recorded: fixed, goroutines: statically linked";
    assert!(said.contains(&format!("{programs}; {advice}")), "{said}");
    let info = unfold_text(&assert_succeeds(&["info", "-d", "plain"], &directory));
    for words in [
        "programs that recorded processes started and that are not recorded: 3",
        &format!("statically linked: {advice}"),
    ] {
        assert!(info.contains(words), "{words}: {info}");
    }
    let json = assert_succeeds(&["info", "-d", "plain", "--json"], &directory);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let unseen = json["not_seen"]["unseen"].as_array().unwrap();
    let in_place = |program: &serde_json::Value| program["pid"] == program["by"]["pid"];
    let found: Vec<_> =
        unseen.iter().map(|it| (it["program"].as_str().unwrap(), in_place(it))).collect();
    assert_eq!(found, [("./goroutines", false), ("./fixed", false), ("./goroutines", true)]);
    for program in unseen {
        assert_eq!(program["cause"], "statically linked", "{program}");
        assert_eq!(program["by"]["host"], "web1", "{program}");
        assert_eq!(program["by"]["command"], "sh serve.sh", "{program}");
    }
    // The advice helps.
    let said = record(&["-d", "injected", "--inject"]);
    assert!(!said.contains("not recorded"), "{said}");
    let info = assert_succeeds(&["info", "-d", "injected"], &directory);
    assert!(!info.contains("not recorded"), "{info}");
}
