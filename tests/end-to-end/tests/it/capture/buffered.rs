//! Files of libc's over sockets: what they read and write from within libc is what the kernel saw.

use end_to_end::capture::{program, python};
use end_to_end::oracle::Witnessed;
use end_to_end::repository;
use message_trace::{DataDir, MessageTrace};
use reconcile::{Options, reconcile};
use socket_log::Record;
use socket_log::encode::{Direction, ProcessEvent};
use socket_log::layout::state;

/// Runs a way of the program, recorded and seen by strace, which must have seen the same.
fn witnessed(way: &str) -> Witnessed {
    let mut witnessed = Witnessed::new();
    let binary = witnessed.recording.compile("buffered");
    let mut command = witnessed.recording.command(binary);
    assert_eq!(witnessed.run(command.arg(way)), "right\n", "{way}");
    assert!(witnessed.compare(&[]).bytes > 0 || way == "failure", "{way}");
    witnessed
}

#[test]
fn texts_and_large_writes_are_seen_as_by_the_kernel() {
    witnessed("texts");
    witnessed("much");
    witnessed("messages");
}

#[test]
fn a_write_that_fails_is_a_failure() {
    let log = witnessed("failure").recording.log();
    let failed = Record::Failure { flow: 1, direction: Direction::Send, errno: libc::EPIPE as u16 };
    assert!(log.records().any(|record| *record == failed));
}

#[test]
fn what_a_process_leaves_to_libc_is_in_its_log() {
    let witnessed = witnessed("rest");
    let child = witnessed.recording.logs().into_iter().nth(1).expect("the child's log");
    let sent = child.records().filter(|record| {
        matches!(record, Record::Transfer { direction: Direction::Send, bytes: 20, .. })
    });
    assert_eq!(sent.count(), 1, "its only use of a socket");
    let end = Record::Process { event: ProcessEvent::Exit, value: 3 };
    assert_eq!(child.records().last(), Some(&end));
    let progress = child.log.header().state;
    assert_eq!(progress, state::EXITED);
}

/// Records a service that has each connection as its standard input and output. Returns how many
/// bytes it received and sent, by its name. All messages have both ends.
fn served(service: &[&str]) -> (i64, i64) {
    let mut witnessed = Witnessed::new();
    let own = witnessed.recording.compile("inetd_service");
    let mut command = witnessed.recording.command(python());
    command.arg(repository().join("tests/programs/inetd.py"));
    let (name, arguments) = service.split_first().expect("a program");
    if *name == "inetd_service" {
        command.arg(own)
    } else {
        command.arg(program(name))
    };
    witnessed.run(command.args(arguments));
    witnessed.compare(&[]);

    let data = DataDir::new(witnessed.recording.data());
    reconcile(&data, &Options::default(), &()).unwrap();
    let trace = MessageTrace::read(data.messages(), data.nodes()).unwrap();
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
fn services_on_standard_input_and_output_are_seen() {
    const LINES: i64 = 15;
    const SAID: i64 = LINES * 12;
    // `bye` comes once for each connection.
    assert_eq!(served(&["inetd_service"]), (SAID, SAID + LINES * 9 + 5 * 4));
    assert_eq!(served(&["sed", "-u", "s/line/LINE/"]), (SAID, SAID));
    let mawk = ["mawk", "-W", "interactive", "{ print \"awk\", $0; fflush() }"];
    assert_eq!(served(&mawk), (SAID, SAID + LINES * 4));
    let bash = ["bash", "-c", "while read -r line; do echo \"bash $line\"; done"];
    assert_eq!(served(&bash), (SAID, SAID + LINES * 5));
}
