//! Connections that a process passes to another one, as a server does that authenticates a client
//! before it serves it.

use message_trace::FROM_CONNECTING;

use super::AutoAlgorithm;
use crate::fixture::Fixture;
use crate::infer::{Inference, InferenceInput};
use crate::naming::Naming;
use crate::options::Options;

#[test]
fn a_response_of_another_process_on_the_connection_is_the_response() {
    let mut trace = Fixture::new();
    for connection in 0..30_i64 {
        let (at, own) = (1_000_000 * connection, 5000 + connection as u16);
        let session = format!("server#{}", 100 + connection);
        trace.send("app", "server#1", at, at + 10).ports(own, 21).on(connection);
        trace.send(&session, "app", at + 500, at + 510).ports(21, own).accepting().on(connection);
        trace.send("app", &session, at + 600, at + 610).ports(own, 21).on(connection);
        trace.send(&session, "app", at + 700, at + 710).ports(21, own).accepting().on(connection);
    }
    let (trace, options) = (trace.trace(), Options::default());
    let links = AutoAlgorithm::default().infer_links(&InferenceInput::without_progress(
        &trace,
        &Naming::new(&trace, &options),
        &options,
    ));
    for row in trace.ids().filter(|row| trace.direction(*row) != FROM_CONNECTING) {
        let row = row.index();
        assert_eq!(links.parent_rows(row), [(row - 1, 1.0)], "message {row:?}");
    }
}

#[test]
fn a_message_of_another_host_on_an_equally_named_connection_is_no_response() {
    let mut trace = Fixture::new();
    for connection in 0..30_i64 {
        let (at, own) = (1_000_000 * connection, 5000 + connection as u16);
        trace.send("app", "one/server", at, at + 10).ports(own, 21).on(connection);
        trace
            .send("two/server", "app", at + 500, at + 510)
            .ports(21, own)
            .accepting()
            .on(connection);
    }
    let (trace, options) = (trace.trace(), Options::default());
    let links = AutoAlgorithm::default().infer_links(&InferenceInput::without_progress(
        &trace,
        &Naming::new(&trace, &options),
        &options,
    ));
    for row in trace.ids().filter(|row| trace.direction(*row) != FROM_CONNECTING) {
        assert_eq!(links.parents(row).count(), 0, "message {row:?}");
    }
}
