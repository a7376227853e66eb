//! A flight recorder at one end of a connection: what it still has is matched with the other end,
//! byte by byte.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::Duration;

use end_to_end::capture::{ReadLog, TestRecording, python_path, run_successfully};
use message_trace::{DataDir, MessageTrace};
use reconcile::Options;
use socket_log::LogRecord;
use socket_log::encode::Direction::{self, Receive, Send};

/// Number of rounds in which the ends send to each other: several times what the log holds.
const ROUNDS: usize = 9000;

/// One end of three connections, which alternate. No two messages in one direction have the same
/// size. If there is a second thread, it does most of the work; the first writes so little that its
/// only chunk stays in the log.
const END: &str = r#"
import queue, socket, sys, threading
role, rounds, threads, port = sys.argv[1], *map(int, sys.argv[2:])
if role == "server":
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    ends = [listener.accept()[0] for _ in range(3)]
else:
    ends = [socket.create_connection(("127.0.0.1", port)) for _ in range(3)]
for end in ends: end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
def send(end, size): assert end.send(bytes(size)) == size
def receive(end, size): assert len(end.recv(size, socket.MSG_WAITALL)) == size
def round(n):
    (receive if role == "server" else send)(ends[n % 3], n + 1)
    (send if role == "server" else receive)(ends[n % 3], n + 3)
todo, done = queue.SimpleQueue(), queue.SimpleQueue()
def work():
    while (n := todo.get()) is not None: round(n); done.put(n)
if threads > 1: threading.Thread(target=work).start()
for n in range(rounds):
    if threads > 1 and n % 700: todo.put(n); done.get()
    else: round(n)
todo.put(None)
for end in ends: end.close()
"#;

/// The time when each message was sent or received according to a log, by size.
fn times_by_size(log: &ReadLog, wanted: Direction) -> Vec<Option<i64>> {
    let clock = log.log.clock();
    let mut times = vec![None; ROUNDS + 3];
    for entry in &log.entries {
        if let LogRecord::Transfer { direction, bytes, .. } = entry.record
            && direction == wanted
        {
            let time = &mut times[bytes as usize];
            assert_eq!(*time, None, "{bytes} bytes twice");
            *time = Some(clock.realtime(entry.ticks));
        }
    }
    times
}

/// Records the two ends; `recorder` keeps the newest records. Compares the matching with the sizes.
fn check_recorder(recorder: &str, threads: usize) {
    let recording = TestRecording::new();
    let end = |role: &str, port: &str| {
        let mut command = recording.recorded_command(python_path());
        let (rounds, threads) = (ROUNDS.to_string(), threads.to_string());
        command.args(["-c", END, role, &rounds, &threads, port]);
        if role == recorder {
            command.envs([("SOCKCAP_MAX_BYTES", "64K"), ("SOCKCAP_WHEN_FULL", "newest")]);
        }
        command
    };
    let mut server = end("server", "0").stdout(Stdio::piped()).spawn().unwrap();
    let mut port = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut port).unwrap();
    run_successfully(&mut end("client", port.trim()));
    assert!(server.wait().unwrap().success());

    let mut logs = recording.read_logs();
    let place =
        logs.iter().position(|log| log.log.header().keeps_newest).expect("a flight recorder");
    let (kept, whole) = (logs.remove(place), logs.remove(0));
    assert_eq!((&kept.damage, &whole.damage), (&vec![], &vec![]));
    let mut expected = BTreeSet::new();
    for (sent, received) in [
        (times_by_size(&kept, Send), times_by_size(&whole, Receive)),
        (times_by_size(&whole, Send), times_by_size(&kept, Receive)),
    ] {
        let both = (0..).zip(sent.iter().zip(&received));
        let both: BTreeSet<(i64, i64, i64)> = both
            .filter_map(|(bytes, (sent, received))| Some(((*sent)?, (*received)?, bytes)))
            .collect();
        assert!(both.len() > 500 && both.len() < ROUNDS / 2, "{} are left", both.len());
        expected.extend(both);
    }

    let data = DataDir::new(recording.data_dir());
    let options = Options { fat_gap: Duration::ZERO, ..Options::default() };
    let outcome = reconcile::reconcile(&data, &options, &()).unwrap();
    let trace = MessageTrace::read(data.messages_path(), data.nodes_path()).unwrap();
    let matched: BTreeSet<(i64, i64, i64)> = trace
        .messages()
        .filter_map(|message| Some((message.send_ts?, message.recv_ts?, message.bytes)))
        .collect();
    let (wrong, missing) =
        (matched.difference(&expected).count(), expected.difference(&matched).count());
    assert_eq!((wrong, missing), (0, 0), "of {}: {outcome:#?}", expected.len());
    // The rest is in the trace too, with the end that recorded it.
    let lookups = outcome.messages.get("other").copied().unwrap_or(0);
    assert_eq!(outcome.total_messages() - lookups, 2 * ROUNDS as u64);
}

#[test]
fn the_kept_part_of_a_clients_log_is_matched() {
    check_recorder("client", 1);
}

#[test]
fn the_kept_part_of_a_servers_log_is_matched() {
    check_recorder("server", 1);
}

#[test]
fn the_kept_parts_of_several_threads_are_matched() {
    check_recorder("client", 2);
}

/// The start and end of each send of the only stream, in order, and how many of them have a
/// position before them.
fn count_fragments(log: &ReadLog) -> (Vec<(u64, u64)>, usize) {
    assert_eq!(log.damage, []);
    let (mut pieces, mut positions) = (Vec::new(), 0);
    for chunk in log.log.chunks() {
        let mut next = 0;
        chunk.for_each(|entry| match entry.record {
            LogRecord::Position { direction: Send, before, .. } => {
                positions += 1;
                next = before;
            }
            LogRecord::Transfer { direction: Send, bytes, .. } => {
                pieces.push((next, next + bytes));
                next += bytes;
            }
            _ => {}
        });
    }
    pieces.sort_unstable();
    (pieces, positions)
}

#[test]
fn positions_are_right_with_interleaved_processes() {
    let recording = TestRecording::new();
    let mut command = recording.recorded_command(recording.compile_program("shared_stream"));
    command.envs([("SOCKCAP_MAX_BYTES", "256K"), ("SOCKCAP_WHEN_FULL", "newest")]);
    let all: u64 = run_successfully(&mut command).trim().parse().unwrap();
    let log = recording.only_log();
    let ((pieces, positions), chunks) = (count_fragments(&log), log.log.chunks().count());
    let sends = pieces.len();
    assert!(positions > chunks && sends > positions, "{sends} in {chunks} chunks, {positions}");
    let overlapping = pieces.windows(2).filter(|pair| pair[0].1 > pair[1].0).count();
    assert_eq!((overlapping, pieces.last().map(|last| last.1)), (0, Some(all)), "of {sends}");
}

#[test]
fn positions_are_right_wherever_a_handler_interrupts() {
    let recording = TestRecording::new();
    let mut command = recording.recorded_command(recording.compile_program("flood"));
    command.arg("once").envs([("SOCKCAP_MAX_BYTES", "64K"), ("SOCKCAP_WHEN_FULL", "newest")]);
    // Cycles would be recorded with more anchors at first, and a position follows an anchor in any
    // case.
    command.env("SOCKCAP_CLOCK", "monotonic");
    let instructions: usize = run_successfully(&mut command).trim().parse().unwrap();
    let logs = recording.read_logs();
    assert_eq!(logs.len(), instructions + 1, "a child for each, and one that got through");
    assert!(instructions > 30, "{instructions}");
    // The counter decides which of two concurrent sends was first.
    let orders = [[(0, 7), (7, 14), (14, 16), (16, 23)], [(0, 7), (7, 9), (9, 16), (16, 23)]];
    for (child, log) in logs[..instructions].iter().enumerate() {
        let pieces = count_fragments(log).0;
        assert!(orders.contains(&pieces.try_into().unwrap()), "interrupted at {child}");
    }
}
