//! `sockcap record -p` of both ends of open connections: the bytes of one end are matched with
//! those of the other.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use end_to_end::capture::{TestRecording, python_path};
use end_to_end::repository;
use message_trace::{DataDir, Message, MessageTrace};
use reconcile::{Options, Reconciliation, reconcile};

use super::attach::AttachedRecorder;

/// A server and clients that continuously exchange messages over open connections.
struct OpenTalk {
    parent: Child,
    lines: Lines<BufReader<ChildStdout>>,
    server: u32,
    client: u32,
}

impl OpenTalk {
    /// Starts clients that send this number of requests `ahead` of the responses.
    fn begin_talk(recording: &TestRecording, family: &str, ahead: u32) -> OpenTalk {
        let mut command = Command::new(python_path());
        command.arg(repository().join("tests/programs/open_talk.py"));
        command.arg(recording.file_path("")).arg(family).arg(ahead.to_string());
        let mut parent = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(parent.stdout.take().unwrap()).lines();
        let ids = lines.next().unwrap().unwrap();
        let (server, client) = ids.split_once(' ').unwrap();
        let [server, client] = [server, client].map(|id| id.parse().unwrap());
        OpenTalk { parent, lines, server, client }
    }

    /// Waits until this many further requests were sent.
    fn go_on(&mut self, questions: usize) {
        writeln!(self.parent.stdin.as_mut().unwrap(), "{questions}").unwrap();
        self.lines.next().unwrap().unwrap();
    }

    fn end_talk(mut self) {
        drop(self.parent.stdin.take());
        self.lines.by_ref().for_each(drop);
        assert!(self.parent.wait().unwrap().success());
    }
}

/// The time before and after the sending or receipt of each message, by size.
fn message_spans(recording: &TestRecording, side: &str, verb: &str) -> BTreeMap<i64, [i64; 2]> {
    let text = fs::read_to_string(recording.file_path(side)).unwrap();
    let lines = text.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    let of_verb = lines.filter(|words| words[0] == verb);
    let number = |word: &str| word.parse::<i64>().unwrap();
    of_verb.map(|words| (number(words[1]), [number(words[2]), number(words[3])])).collect()
}

/// Compares the recording with what the programs report: the number of messages with the times of
/// both ends, of the sender only, and of the receiver only.
fn held_against_programs(recording: &TestRecording, ahead: u32) -> ([usize; 3], Reconciliation) {
    let data = DataDir::new(recording.data_dir());
    let mut options = Options::default();
    if ahead > 1 {
        // Each send is a message.
        options.fat_gap = Duration::ZERO;
    }
    let outcome = reconcile(&data, &options, &()).unwrap();
    let trace = MessageTrace::read(data.messages_path(), data.nodes_path()).unwrap();
    let of_both = |verb| {
        let mut of_both = message_spans(recording, "client", verb);
        of_both.extend(message_spans(recording, "server", verb));
        of_both
    };
    let (sent, received) = (of_both("send"), of_both("receive"));
    // The logs' clock and the program's are read at slightly different moments, and diverge while
    // one is slewed.
    const SLACK: i64 = 1_000_000;
    let within =
        |time: i64, [before, after]: [i64; 2]| (before - SLACK..=after + SLACK).contains(&time);
    let mut kinds = [0; 3];
    let mut others = 0;
    for message in trace.messages() {
        let Message { send_ts, recv_ts, bytes, .. } = message;
        let is_one = sent.get(&bytes).zip(received.get(&bytes)).is_some_and(|(sent, received)| {
            send_ts.is_none_or(|time| within(time, *sent))
                && recv_ts.is_none_or(|time| within(time, *received))
        });
        match (send_ts, recv_ts) {
            // For a message without a recorded send, each receive is a message of its own.
            (None, _) if ahead > 1 => {}
            _ if !is_one => others += 1,
            (Some(_), Some(_)) => kinds[0] += 1,
            (Some(_), None) => kinds[1] += 1,
            _ => kinds[2] += 1,
        }
    }
    // Parts of messages that were in transit as a recording began or ended: in each of the four
    // recordings at most two per connection and direction.
    println!("{others} are not what the programs say");
    assert!(others <= 4 * 4 * 2 * 2, "{others} are not what the programs say, {kinds:?}");
    (kinds, outcome)
}

/// Records both ends of open connections, twice and in either order, and compares the result with
/// what the programs report.
fn recorded_from_the_middle(family: &str, ahead: u32) -> ([usize; 3], Reconciliation) {
    let recording = TestRecording::new();
    let mut talk = OpenTalk::begin_talk(&recording, family, ahead);
    talk.go_on(40);
    for order in 0..2 {
        let (server, client) = (talk.server, talk.client);
        let ends = if order == 0 { [server, client] } else { [client, server] };
        let first = AttachedRecorder::begin_recording(&recording, ends[0]);
        talk.go_on(20);
        let second = AttachedRecorder::begin_recording(&recording, ends[1]);
        talk.go_on(200);
        second.end_with_or_without_warning();
        talk.go_on(20);
        first.end_with_or_without_warning();
        talk.go_on(20);
    }
    talk.end_talk();
    held_against_programs(&recording, ahead)
}

/// Bytes of the two ends are matched with each other. On a busy machine, for one of the four
/// connections there may be no moment at which its position is certain; it is left out and named.
#[track_caller]
fn all_have_their_places(family: &str, ahead: u32) {
    let ([both, sent, received], outcome) = recorded_from_the_middle(family, ahead);
    println!("{both} with both ends, {sent} and {received} with one");
    let left_out: u64 = outcome.unplaced_streams.values().sum();
    assert!(left_out <= 1, "{:?}", outcome.unplaced_streams);
    assert!(outcome.unplaced_streams.keys().all(|name| !name.is_empty()));
    // Twice a hundred requests and their responses, except those in transit.
    assert!(both as u64 >= (4 - left_out) * 80, "{both} {sent} {received}, {left_out} left out");
    assert!(sent > 0 && received > 0, "of those that one end alone saw");
}

#[test]
fn bytes_of_open_connections_match_the_other_end() {
    all_have_their_places("tcp", 1);
}

#[test]
fn bytes_of_open_unix_connections_match_the_other_end() {
    all_have_their_places("unix", 1);
}

#[test]
fn bytes_of_open_socketpairs_match_the_other_end() {
    all_have_their_places("pair", 1);
}

#[test]
fn messages_of_open_unix_sockets_with_boundaries_match_the_other_end() {
    for family in ["packets", "datagrams"] {
        all_have_their_places(family, 1);
    }
}

/// If large messages continuously fill a queue, there may be no moment at which the position is
/// certain.
#[test]
fn many_concurrent_requests_over_open_unix_connections_are_right_or_left_out() {
    let ([both, sent, received], outcome) = recorded_from_the_middle("unix", 8);
    let left_out: u64 = outcome.unplaced_streams.values().sum();
    println!("{both} with both ends, {sent} and {received} with one; {left_out} left out");
    assert!(left_out <= 2, "{left_out} of the two with large messages");
    assert!(outcome.unplaced_streams.keys().all(|name| !name.is_empty()));
    assert!(both >= 2 * 2 * 40, "{both} {sent} {received}");
}
