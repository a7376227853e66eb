//! Heads of a log become operations, whichever threads wrote them.

use operations::{Entry, of_log};
use protocols::Role;
use socket_log::Log;
use socket_log::encode::Direction;

use crate::made::{http, server};

fn told(entries: &[Entry]) -> Vec<(u64, Role, &str, &str, bool)> {
    let of = |entry: &Entry| entry.operation.place.ticks;
    entries
        .iter()
        .map(|entry| {
            let operation = &entry.operation;
            let (name, status) = (operation.name.as_str(), operation.status.as_str());
            (of(entry), operation.role, name, status, operation.is_error)
        })
        .collect()
}

#[test]
fn requests_and_answers_come_in_the_order_of_time() {
    let log = Log::from_bytes("made".as_ref(), server().bytes()).unwrap();
    let all = of_log(&log);
    assert_eq!(
        told(&all.entries),
        [
            (200, Role::Request, "GET /user/{}/cart", "", false),
            (250, Role::Response, "", "500", true),
            (300, Role::Request, "GET /user/{}/cart", "", false),
            (350, Role::Response, "", "200", false),
        ]
    );
    let directions: Vec<Direction> = all.entries.iter().map(|entry| entry.direction).collect();
    let (sent, received) = (Direction::Send, Direction::Receive);
    assert_eq!(directions, [received, sent, received, sent]);
    assert_eq!(all.blank, 0);
}

#[test]
fn an_answer_that_comes_first_is_no_client_s() {
    // Of a connection that was found in use nobody knows who connected.
    let mut log = socket_log::write::LogWriter::new("web", 7, "/bin/server");
    log.flow(100, 1, socket_log::write::TCP, socket_log::encode::Origin::Found, 11);
    log.head(&http(Direction::Send, 1, 200), b"HTTP/1.1 404 Not Found\r\n\r\n");
    log.head(&http(Direction::Receive, 1, 300), b"GET /a HTTP/1.1\r\n\r\n");
    let log = Log::from_bytes("made".as_ref(), log.bytes()).unwrap();
    let entries = of_log(&log).entries;
    let names: Vec<&str> = entries.iter().map(|entry| entry.operation.name.as_str()).collect();
    assert!(names.contains(&"GET /a"), "{entries:?}");
}
