//! Rare words of messages: what real programs pass on is recognised by its hash, and no word can be
//! found in what a recording leaves.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use end_to_end::capture::{ReadLog, TestRecording, python_path, run_successfully};
use end_to_end::gathering::{PlainCollector, logs_in};
use end_to_end::sockcap_program;
use socket_log::LogRecord;
use socket_log::encode::Direction::{self, Receive, Send};

#[path = "../../../../../capture-shim/src/flows/rare_words/key.rs"]
#[allow(dead_code, reason = "the library uses more of it")]
mod key;

use key::WordKey;

/// The words of each message that has some, with its flow and direction.
fn words_of(log: &ReadLog) -> Vec<(u32, Direction, Vec<u32>)> {
    let words = log.complete_records().filter_map(|record| match record {
        LogRecord::RareWords { direction, flow, words } => {
            Some((*flow, *direction, words.as_slice().to_vec()))
        }
        _ => None,
    });
    words.collect()
}

/// All words of a direction, of all flows.
fn words_in(log: &ReadLog, wanted: Direction) -> BTreeSet<u32> {
    let all = words_of(log).into_iter().filter(|(_, direction, _)| *direction == wanted);
    all.flat_map(|(_, _, words)| words).collect()
}

/// A client, a service that passes the id of each request on, and a store, as threads.
const RELAY: &str = r#"
import socket, threading
def listen(serve):
    listener = socket.create_server(("127.0.0.1", 0))
    def accept():
        while True:
            threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
    threading.Thread(target=accept, daemon=True).start()
    return listener.getsockname()
def store(peer):
    while data := peer.recv(4096):
        peer.sendall(b"+OK\r\n")
address = listen(store)
def relay(peer):
    upstream = socket.create_connection(address)
    while data := peer.recv(4096):
        upstream.sendall(b"GET order:data " + data.split()[1].split(b"/")[-1] + b"\r\n")
        upstream.recv(100)
        peer.sendall(b"HTTP/1.1 200 OK\r\nServer: relay-12\r\nContent-Length: 2\r\n\r\nok")
client = socket.create_connection(listen(relay))
for number in range(40):
    client.sendall(b"GET /orders/ord-%d HTTP/1.1\r\nHost: localhost:8080\r\nAccept: text/html\r\n\r\n" % (100000 + 7919 * number))
    client.recv(4096)
"#;

#[test]
fn an_id_that_is_passed_on_is_one_word_of_both_messages() {
    let recording = TestRecording::new();
    recording.run_python(RELAY);
    let log = recording.only_log();
    let mut flows: BTreeMap<u32, BTreeSet<(u32, bool)>> = BTreeMap::new();
    for (flow, direction, words) in words_of(&log) {
        for word in words {
            flows.entry(word).or_default().insert((flow, direction == Receive));
        }
    }
    // Received by the service and sent on another connection; the client and the store are in the
    // same process, so that both ends of both connections have it.
    let passed_on = flows.values().filter(|places| places.len() == 4).count();
    assert!(passed_on >= 40, "{passed_on} of 40 ids");
    // Constant words have vanished: the last messages have the id alone.
    let last: Vec<usize> =
        words_of(&log).iter().rev().take(20).map(|(.., words)| words.len()).collect();
    assert_eq!(last, [1; 20]);
    let messages =
        log.complete_records().filter(|record| matches!(record, LogRecord::Transfer { .. }));
    let bytes: usize = words_of(&log).iter().map(|(.., words)| 4 + 4 * words.len()).sum();
    assert!(bytes <= 10 * messages.count(), "{bytes} bytes");
}

#[test]
fn words_are_recognised_however_messages_are_sent_and_read() {
    let recording = TestRecording::new();
    recording.run_python(
        r#"
import os, socket
one, other = socket.socketpair()
def read_bytes(count):
    for _ in range(count):
        assert len(other.recv(1)) == 1
text = b"ORDER ord-48151623 \r\n"
one.sendall(text); read_bytes(len(text))
other.sendall(b"ok\r\n"); one.recv(100)
for part in (b"ORDER ord-99", b"887766 \r\n"):
    one.sendall(part)
assert len(other.recv(100, socket.MSG_WAITALL | socket.MSG_PEEK) and other.recv(100)) == 21
other.sendall(b"ok\r\n"); one.recv(100)
os.writev(one.fileno(), [b"ORDER ord-", b"31415926", b" \r\n"])
other.recv(100)
other.sendall(b"ok\r\n"); one.recv(100)
binary = bytes((97 * n * n + 31 * n + 130) % 256 | 128 for n in range(120))
one.sendall(binary); assert other.recv(1000) == binary
"#,
    );
    let log = recording.only_log();
    let [sent, received] = [Send, Receive].map(|direction| words_in(&log, direction));
    let shared = sent.intersection(&received).count();
    // Three ids and a window of binary data.
    assert_eq!(shared, 4, "{sent:x?} {received:x?}");
}

#[test]
fn a_child_made_by_fork_has_its_parents_key() {
    let recording = TestRecording::new();
    recording.run_python(
        r#"
import os, socket
def say():
    one, other = socket.socketpair()
    one.sendall(b"ORDER ord-48151623 \r\n"); other.recv(100)
say()
if os.fork() == 0:
    say(); os._exit(0)
os.wait()
"#,
    );
    let words: Vec<BTreeSet<u32>> =
        recording.read_logs().iter().map(|log| words_in(log, Send)).collect();
    assert_eq!(words.len(), 2);
    assert!(words[0].len() == 1 && words[0] == words[1], "{words:x?}");
}

/// Words that the recorded program sends.
fn dictionary() -> Vec<String> {
    (0..60).map(|number| format!("customer-{}", 1000 + 37 * number)).collect()
}

/// Records a program under `sockcap record` that sends all words and prints the key that it has.
fn record_dictionary(recording: &TestRecording, options: &[&str]) -> String {
    let words = recording.file_path("words");
    fs::write(&words, dictionary().join("\n")).unwrap();
    let script = r#"
import os, socket, sys
one, other = socket.socketpair()
for word in open(sys.argv[1]).read().split():
    one.sendall(b"GET " + word.encode() + b"\r\n"); other.recv(100)
    other.sendall(b"none\r\n"); one.recv(100)
print(os.environ.get("SOCKCAP_WORDS_KEY", ""))
"#;
    let mut record = Command::new(sockcap_program());
    record.args(["record", "--host", "host"]).args(options).arg("-d").arg(recording.data_dir());
    record.arg("--").arg(python_path()).args(["-c", script]).arg(&words);
    run_successfully(&mut record).trim().to_owned()
}

/// All files below a directory.
fn list_files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { list_files(&path) } else { vec![path] }).collect()
}

/// Number of the dictionary's words that have one of these values under a key.
fn count_words_found(secret: [u8; 16], dictionary: &[String], values: &HashSet<u32>) -> usize {
    let key = WordKey::from_secret(secret);
    let value = |word: &String| {
        // SAFETY: the text is readable, and longer than four bytes.
        let hash = unsafe { key.hash_word(word.as_ptr(), word.len()) };
        // A choice keeps 62 bits of the hash.
        key.logged_value(hash & ((1 << 62) - 1))
    };
    dictionary.iter().filter(|word| values.contains(&value(word))).count()
}

#[test]
fn no_word_can_be_found_in_what_a_recording_leaves() {
    let dictionary = dictionary();
    let mut all_values = Vec::new();
    for _ in 0..2 {
        let recording = TestRecording::new();
        let secret = record_dictionary(&recording, &[]);
        let log = recording.only_log();
        let values: HashSet<u32> =
            words_of(&log).into_iter().flat_map(|(.., words)| words).collect();
        run_successfully(
            Command::new(sockcap_program()).arg("reconcile").arg("-d").arg(recording.data_dir()),
        );
        // The attack works for a user who has the key.
        let bytes: Vec<u8> = (0..16)
            .map(|at| u8::from_str_radix(&secret[2 * at..2 * at + 2], 16).unwrap())
            .collect();
        let found = count_words_found(bytes[..].try_into().unwrap(), &dictionary, &values);
        assert!(found >= 50, "{found} of {} words with the key", dictionary.len());
        let collector = PlainCollector::start_in(&recording.file_path("collector"));
        run_successfully(
            Command::new(sockcap_program())
                .args(["ship", "--to", &collector.address, "--plain", "--once", "-d"])
                .arg(recording.data_dir()),
        );
        assert_eq!(logs_in(&collector.data.join("hosts/host")).len(), 1, "the log is gathered");
        let mut windows: HashSet<[u8; 16]> = HashSet::from([[0; 16]]);
        let files = [list_files(&recording.data_dir()), list_files(&collector.data)];
        for path in files.concat() {
            let file = fs::read(&path).unwrap();
            for word in dictionary.iter().map(String::as_str).chain([secret.as_str()]) {
                let place = memchr::memmem::find(&file, word.as_bytes());
                assert_eq!(place, None, "{word} in {}", path.display());
            }
            windows.extend(file.windows(16).map(|window| <[u8; 16]>::try_from(window).unwrap()));
        }
        assert!(windows.len() > 1000, "{} windows", windows.len());
        // One word alone may have one of the values by chance.
        let broken = windows
            .iter()
            .find(|window| count_words_found(**window, &dictionary[..20], &values) >= 3);
        assert_eq!(broken, None);
        all_values.push(values);
    }
    let common = all_values[0].intersection(&all_values[1]).count();
    assert_eq!(common, 0, "equal words of two recordings have other values");
}

#[test]
fn without_words_there_are_none() {
    let recording = TestRecording::new();
    assert_eq!(record_dictionary(&recording, &["--no-words"]), "");
    assert_eq!(words_of(&recording.only_log()), []);
    let recording = TestRecording::new();
    let mut command = recording.recorded_command(python_path());
    run_successfully(command.env("SOCKCAP_WORDS", "0").arg("-c").arg(RELAY));
    assert_eq!(words_of(&recording.only_log()), []);
}
