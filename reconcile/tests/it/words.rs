//! Logs with rare words: each word belongs to the message of its call, at the end that saw it.

use message_trace::table::words::{WordReader, WordRow};
use socket_log::encode::Direction::{Receive, Send};
use socket_log::encode::{Direction, RareWords};
use socket_log::write::LogWriter;

use crate::common::{System, accept, bind, connect, log, receive_from, send_to};

const CLIENT: &str = "10.0.0.1:40000";
const SERVER: &str = "10.0.0.2:80";

/// A client and a server with a connection between them.
fn ends() -> (LogWriter, LogWriter) {
    let (mut client, mut server) = (log(10, "client"), log(20, "server"));
    connect(&mut client, 100, 1, 11, CLIENT, SERVER);
    accept(&mut server, 200, 1, 12, SERVER, CLIENT);
    (client, server)
}

/// Writes a transfer of flow 1 with words.
fn transfer(log: &mut LogWriter, direction: Direction, ticks: u64, bytes: u64, words: &[u32]) {
    let words = RareWords::from_values(words.iter().copied());
    log.transfer_with_words(ticks, 1, direction, bytes, &words);
}

impl System {
    /// The words of messages, in the order of the table: `message end word`.
    fn words(&self) -> Vec<String> {
        let mut rows: Vec<WordRow> = Vec::new();
        let mut reader = WordReader::open(self.data().words_path()).unwrap().unwrap();
        while reader.read_batch(|row| rows.push(row)).unwrap() {}
        assert!(rows.is_sorted_by(|one, next| one < next), "sorted and unique: {rows:?}");
        let line =
            |row: WordRow| format!("{} {} {}", row.message, u8::from(row.received), row.word);
        rows.into_iter().map(line).collect()
    }
}

#[test]
fn merged_messages_have_the_words_of_all_their_calls() {
    let (mut client, mut server) = ends();
    transfer(&mut client, Send, 1_000, 10, &[5, 3]);
    transfer(&mut client, Send, 1_010, 10, &[3, u32::MAX]);
    transfer(&mut server, Receive, 2_000, 20, &[8]);
    transfer(&mut server, Send, 3_000, 7, &[5]);
    transfer(&mut client, Receive, 4_000, 3, &[]);
    transfer(&mut client, Receive, 4_010, 4, &[6]);
    let system = System::new();
    let outcome = system.add("one", "a", &client).add("two", "b", &server).reconcile();
    assert_eq!(outcome.lines().len(), 2, "{:?}", outcome.lines());
    assert_eq!(system.words(), ["0 0 -1", "0 0 3", "0 0 5", "0 1 8", "1 0 5", "1 1 6"]);
}

#[test]
fn words_of_a_call_belong_to_the_only_message_of_its_call() {
    let (mut client, mut server) = ends();
    // Four requests: the second one is read together with the end of the first one, and the third
    // one together with the fourth one.
    for (ticks, word) in [(1_000, 1), (200_001_000, 2), (400_001_000, 3), (600_001_000, 4)] {
        transfer(&mut client, Send, ticks, 10, &[word]);
    }
    transfer(&mut server, Receive, 300_000_000, 4, &[11]);
    transfer(&mut server, Receive, 300_000_100, 16, &[12]);
    transfer(&mut server, Receive, 700_000_000, 20, &[13]);
    let system = System::new();
    let outcome = system.add("one", "a", &client).add("two", "b", &server).reconcile();
    assert_eq!(outcome.lines().len(), 4, "{:?}", outcome.lines());
    let expected = ["0 0 1", "0 1 11", "1 0 2", "2 0 3", "3 0 4"];
    assert_eq!(system.words(), expected);
}

#[test]
fn words_of_datagrams_belong_to_the_datagram_of_their_process() {
    let (mut client, mut server) = (log(10, "client"), log(20, "server"));
    bind(&mut client, 100, 1, 11, CLIENT);
    bind(&mut server, 100, 1, 12, SERVER);
    let words = |log: &mut LogWriter, direction, ticks, words: &[u32]| {
        let words = RareWords::from_values(words.iter().copied());
        let head = socket_log::encode::rare_words_head(direction, 1, words.as_slice().len());
        let record: Vec<u32> = [head].into_iter().chain(words.as_slice().iter().copied()).collect();
        log.raw_record(ticks, &record);
    };
    for (ticks, content) in [(1_000, 7), (1_000, 8), (2_000, 9)] {
        send_to(&mut client, 1, ticks, content, SERVER);
        words(&mut client, Send, ticks, &[content + 10]);
        receive_from(&mut server, 1, ticks + 500 + u64::from(content), content, CLIENT);
        words(&mut server, Receive, ticks, &[content + 20]);
    }
    let system = System::new();
    let outcome = system.add("one", "a", &client).add("two", "b", &server).reconcile();
    assert_eq!(outcome.lines().len(), 3, "{:?}", outcome.lines());
    // Two datagrams of one size were sent at one moment.
    assert_eq!(system.words(), ["0 1 27", "1 1 28", "2 0 19", "2 1 29"]);
}

#[test]
fn without_words_there_is_no_table() {
    let (mut client, server) = ends();
    transfer(&mut client, Send, 1_000, 10, &[]);
    let system = System::new();
    std::fs::write(system.data().words_path(), "of an earlier recording").unwrap();
    system.add("one", "a", &client).add("two", "b", &server).reconcile();
    assert!(!system.data().words_path().exists());
}
