//! Logs with snippets.

use socket_log::encode::{Direction, FlowOrigin, FlowRole, SnippetHeader};
use socket_log::layout::snippet;
use socket_log::write::{LogWriter, TCP, inet_address};

/// An HTTP/1 snippet on flow `flow` at `ticks`.
pub(crate) fn http_snippet(direction: Direction, flow: u32, ticks: u64) -> SnippetHeader {
    SnippetHeader {
        direction,
        class: snippet::HTTP1,
        flow,
        ticks,
        offset: 0,
        length: 0,
        continues: false,
        cut: false,
        datagram: false,
        plain: false,
    }
}

/// A server's log: two requests on one connection, served by two threads, each with a secret.
pub(crate) fn server_log() -> LogWriter {
    let mut log = LogWriter::new("web", 7, "/bin/server");
    log.set_snippets();
    log.flow(100, 1, TCP, FlowOrigin::Accept, 11);
    log.endpoints(100, 1, FlowRole::Accept, &inet_address(([127, 0, 0, 1], 80).into()), &[], 0);
    let ask = |log: &mut LogWriter, ticks, path: &str| {
        log.receive(ticks, 1, 60);
        let head = format!("GET {path} HTTP/1.1\r\nhost: shop\r\n\r\n");
        log.snippet(&http_snippet(Direction::Receive, 1, ticks), head.as_bytes());
    };
    let answer = |log: &mut LogWriter, ticks, status: &str| {
        log.send(ticks, 1, 90);
        let head = format!("HTTP/1.1 {status}\r\n\r\n");
        log.snippet(&http_snippet(Direction::Send, 1, ticks), head.as_bytes());
    };
    log.set_thread(8);
    ask(&mut log, 200, "/user/1234567/cart?token=hunter2");
    // The other thread's chunk begins after the first one's, and their records overlap in time.
    log.set_thread(9);
    answer(&mut log, 250, "500 Internal Server Error");
    log.set_thread(8);
    ask(&mut log, 300, "/user/7654321/cart");
    log.set_thread(9);
    answer(&mut log, 350, "200 OK");
    log
}
