use socket_log::SocketLog;
use socket_log::encode::{Direction, FlowOrigin, SnippetHeader};
use socket_log::layout::{ChunkHeader, HEADER_BYTES, snippet};
use socket_log::write::{LogWriter, TCP, UDP};

use super::{check_blanked_log, file, log};
use crate::operations::operation_file::operations_path;
use crate::operations::update_operations;

/// Conversations, as both ends send them: the first byte of each message names its sender.
const SAID: [(u8, &[&[u8]]); 5] = [
    (
        snippet::HTTP1,
        &[b">GET /user/1/cart?x HTTP/1.1\r\nhost: a\r\n\r\n", b"<HTTP/1.1 404 No\r\n\r\n"],
    ),
    (
        snippet::HTTP2,
        &[
            b">\0\0\0\x04\0\0\0\0\0\0\0\x03\x01\x05\0\0\0\x01\x82\x84\x86",
            b"<\0\0\0\x04\0\0\0\0\0\0\0\x01\x01\x05\0\0\0\x01\x88",
        ],
    ),
    (
        snippet::OTHER,
        &[b">Q\0\0\0\x1bSELECT a FROM books\0\0\0\0", b"<C\0\0\0\x0dSELECT 1\0Z\0\0\0\x05I"],
    ),
    (snippet::OTHER, &[b">*2\r\n$3\r\nGET\r\n$1\r\nk\r\n", b"<-ERR no\r\n"]),
    (snippet::OTHER, &[b">\x12\x34\x01\0\0\x01\0\0\0\0\0\0\x01a\x02io\0\0\x01\0\x01"]),
];

/// Builds a log of all these conversations.
fn seed_log() -> Vec<u8> {
    let mut log = LogWriter::new("host", 7, "/bin/x");
    log.set_snippets();
    let mut ticks = 100;
    for (number, (class, said)) in SAID.iter().enumerate() {
        let flow = number as u32 + 1;
        let datagram = said.len() == 1;
        log.flow(ticks, flow, if datagram { UDP } else { TCP }, FlowOrigin::Socket, flow.into());
        for _ in 0..3 {
            for message in *said {
                ticks += 100;
                let (by, bytes) = message.split_at(1);
                let direction = if by == b">" { Direction::Send } else { Direction::Receive };
                match direction {
                    Direction::Send => log.send(ticks, flow, bytes.len() as u64),
                    Direction::Receive => log.receive(ticks, flow, bytes.len() as u64),
                };
                let (class, cut) = (*class, bytes.len() % 2 == 0);
                let head = SnippetHeader {
                    direction,
                    class,
                    flow,
                    ticks,
                    offset: 0,
                    length: 0,
                    continues: false,
                    cut,
                    datagram,
                    plain: number == 2,
                };
                log.snippet(&head, bytes);
            }
        }
    }
    log.to_bytes()
}

/// Writes the log and its operations as fuzzing seeds of their target, if `scripts/fuzz` asks for
/// them.
#[test]
fn seeds_for_fuzzing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("7-2.sclog");
    std::fs::write(&path, seed_log()).unwrap();
    update_operations(&path).unwrap();
    let stored = std::fs::read(operations_path(&path)).unwrap().split_off(HEADER_BYTES);
    log(&seed_log(), directory.path());
    file(&stored);
    assert!(stored.len() > 200, "all operations are stored");
    if let Some(corpus) = std::env::var_os("FUZZ_SEEDS") {
        let corpus = std::path::Path::new(&corpus).join("operations");
        std::fs::create_dir_all(&corpus).unwrap();
        std::fs::write(corpus.join("seed-log"), seed_log()).unwrap();
        std::fs::write(corpus.join("seed-file"), stored).unwrap();
    }
}

/// Damaged records do not become other records when snippets are blanked: one record of each kind
/// with invalid fields.
#[test]
fn damaged_records_stay_damaged() {
    let first = HEADER_BYTES + size_of::<ChunkHeader>();
    for kind in 1..=u8::MAX {
        for (length, field) in [(10, 0xff), (10, 0x7f), (200, 0xff)] {
            let mut damaged = seed_log();
            damaged[first..first + 4 * length].fill(field);
            damaged[first..first + 4].copy_from_slice(&[kind, length as u8, 0, 0]);
            let log = SocketLog::from_bytes("damaged".as_ref(), damaged.clone()).unwrap();
            check_blanked_log(&log, &damaged);
        }
    }
}
