//! libc's files over sockets: their reads and writes from within libc are logged as the kernel saw
//! them.

use end_to_end::capture::{program_path, python_path};
use end_to_end::oracle::StracedRecording;
use end_to_end::repository;
use message_trace::{DataDir, MessageTrace};
use reconcile::{Options, reconcile};
use socket_log::LogRecord;
use socket_log::encode::{Direction, ProcessEvent};
use socket_log::layout::state;

/// Runs a mode of the program, recorded and under strace, which must have seen the same.
fn run_witnessed(way: &str) -> StracedRecording {
    let mut witnessed = StracedRecording::new();
    let binary = witnessed.recording.compile_program("buffered");
    let mut command = witnessed.recording.recorded_command(binary);
    assert_eq!(witnessed.run_command(command.arg(way)), "right\n", "{way}");
    assert!(witnessed.compare_logs(&[]).bytes > 0 || way == "failure", "{way}");
    witnessed
}

#[test]
fn texts_and_large_writes_are_logged_as_the_kernel_saw_them() {
    run_witnessed("texts");
    run_witnessed("much");
    run_witnessed("messages");
}

#[test]
fn a_write_that_fails_is_a_failure() {
    let log = run_witnessed("failure").recording.only_log();
    let failed =
        LogRecord::Failure { flow: 1, direction: Direction::Send, errno: libc::EPIPE as u16 };
    assert!(log.complete_records().any(|record| *record == failed));
}

#[test]
fn writes_left_to_libc_are_in_the_log() {
    let witnessed = run_witnessed("rest");
    let child = witnessed.recording.read_logs().into_iter().nth(1).expect("the child's log");
    let sent = child.complete_records().filter(|record| {
        matches!(record, LogRecord::Transfer { direction: Direction::Send, bytes: 20, .. })
    });
    assert_eq!(sent.count(), 1, "its only use of a socket");
    let end = LogRecord::Process { event: ProcessEvent::Exit, value: 3 };
    assert_eq!(child.complete_records().last(), Some(&end));
    let progress = child.log.header().state;
    assert_eq!(progress, state::EXITED);
}

/// Records a service that has each connection as its standard input and output. Returns the number
/// of bytes that it received and sent. All messages have both ends.
fn bytes_of_service(service: &[&str]) -> (i64, i64) {
    let mut witnessed = StracedRecording::new();
    let own = witnessed.recording.compile_program("inetd_service");
    let mut command = witnessed.recording.recorded_command(python_path());
    command.arg(repository().join("tests/programs/inetd.py"));
    let (name, arguments) = service.split_first().expect("a program");
    if *name == "inetd_service" {
        command.arg(own)
    } else {
        command.arg(program_path(name))
    };
    witnessed.run_command(command.args(arguments));
    witnessed.compare_logs(&[]);

    let data = DataDir::new(witnessed.recording.data_dir());
    reconcile(&data, &Options::default(), &()).unwrap();
    let trace = MessageTrace::read(data.messages_path(), data.nodes_path()).unwrap();
    let is_service =
        |node| trace.nodes.get(node).is_some_and(|node| node.traced && node.command == *name);
    let (mut received, mut sent) = (0, 0);
    for message in trace.messages() {
        assert!(
            message.send_first.is_some() && message.recv_first.is_some(),
            "{name}: {message:?}"
        );
        assert!(is_service(message.src) != is_service(message.dst), "{message:?}");
        let sum = if is_service(message.src) { &mut sent } else { &mut received };
        *sum += message.bytes;
    }
    (received, sent)
}

#[test]
fn services_on_standard_input_and_output_are_recorded() {
    const LINES: i64 = 15;
    const SAID: i64 = LINES * 12;
    // `bye` comes once for each connection.
    assert_eq!(bytes_of_service(&["inetd_service"]), (SAID, SAID + LINES * 9 + 5 * 4));
    assert_eq!(bytes_of_service(&["sed", "-u", "s/line/LINE/"]), (SAID, SAID));
    let mawk = ["mawk", "-W", "interactive", "{ print \"awk\", $0; fflush() }"];
    assert_eq!(bytes_of_service(&mawk), (SAID, SAID + LINES * 4));
    let bash = ["bash", "-c", "while read -r line; do echo \"bash $line\"; done"];
    assert_eq!(bytes_of_service(&bash), (SAID, SAID + LINES * 5));
}
