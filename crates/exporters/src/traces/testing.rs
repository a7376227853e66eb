//! Hand-written calls for the tests of all formats.

use analyze::calls::windows::{CallMessage, ParentCall, Party, TraceRoot, TracedCall};
use message_trace::TransportProtocol;
use message_trace::table::operations::{OperationRole, OperationRow};

use super::operations::OperationLookup;

/// A name with characters that are markup, a separator or a line end in some format.
pub(crate) const HOSTILE: &str = "w\"e;b\\ <b>\n#1|{x}\u{1f600}\u{7}]%%-->";

/// A client, web, db and log, and an untraced server.
pub(crate) fn parties(web: &str) -> Vec<Party> {
    let party = |name: &str, pid: Option<i32>| Party {
        name: name.to_owned(),
        host: "h1".to_owned(),
        command: name.to_owned(),
        executable: if pid.is_some() { format!("/usr/bin/{name}") } else { String::new() },
        pid,
        traced: pid.is_some(),
    };
    vec![
        party("10.0.0.9", None),
        party(web, Some(11)),
        party("db", Some(12)),
        party("log", Some(13)),
        party("10.0.0.2:53", None),
    ]
}

/// Two traces: web is called and calls db twice and log, which does not answer; and db queries a
/// name server.
pub(crate) fn calls() -> Vec<TracedCall<'static>> {
    let parent = |call, at_caller| Some(ParentCall { call, at_caller, at_callee: true });
    let seen = |number, sent, received, bytes| Some(CallMessage { number, sent, received, bytes });
    let call = TracedCall {
        number: 0,
        parent: None,
        probability: Some(1.0),
        root: TraceRoot { call: 0, time: 1_000 },
        caller: 0,
        callee: 1,
        threads: [None, Some(21)],
        src_endpoint: Some("10.0.0.9:40000"),
        dst_endpoint: Some("10.0.0.1:80"),
        from_connecting: true,
        protocol: TransportProtocol::Tcp,
        request: seen(0, None, Some(1_000), 100),
        response: seen(10, Some(9_000), None, 2_000),
        id: None,
    };
    let to_db = TracedCall {
        number: 1,
        parent: parent(0, false),
        probability: Some(0.75),
        caller: 1,
        callee: 2,
        threads: [Some(21), Some(22)],
        src_endpoint: Some("[::1]:41000"),
        dst_endpoint: Some("[::1]:5432"),
        request: seen(1, Some(2_000), Some(3_000), 10),
        response: seen(11, Some(6_000), Some(7_000), 20),
        ..call
    };
    let again = TracedCall {
        number: 2,
        request: seen(2, Some(2_500), Some(3_500), 10),
        response: seen(12, Some(4_000), Some(4_500), 20),
        ..to_db
    };
    let to_log = TracedCall {
        number: 3,
        callee: 3,
        protocol: TransportProtocol::UnixDatagram,
        src_endpoint: None,
        dst_endpoint: Some("unix:/run/log"),
        request: seen(3, Some(7_500), Some(7_900), 50),
        response: None,
        id: Some("id-3"),
        ..to_db
    };
    let lookup = TracedCall {
        number: 4,
        parent: None,
        probability: None,
        root: TraceRoot { call: 4, time: 20_000 },
        caller: 2,
        callee: 4,
        threads: [Some(22), None],
        protocol: TransportProtocol::Udp,
        src_endpoint: Some("10.0.0.5:999"),
        dst_endpoint: Some("10.0.0.2:53"),
        request: seen(4, Some(20_000), None, 30),
        response: seen(14, None, Some(24_000), 40),
        ..call
    };
    vec![call, to_db, again, to_log, lookup]
}

/// A request with its operation, optionally with the trace and span of a tracer.
pub(crate) fn request(
    message: u64,
    protocol: &'static str,
    name: &'static str,
    (trace_id, parent_id): (Option<u128>, Option<u64>),
) -> OperationRow<'static> {
    OperationRow {
        message,
        role: OperationRole::Request,
        protocol,
        name,
        detail: "",
        status: "",
        is_error: false,
        call: None,
        trace_id,
        parent_id,
    }
}

/// The operations of the messages of [`calls`]: web is asked for a page that does not exist, and
/// the first query to db fails.
pub(crate) fn operation_rows() -> Vec<OperationRow<'static>> {
    let none = (None, None);
    let answer = |message, protocol, status, is_error| OperationRow {
        role: OperationRole::Response,
        status,
        is_error,
        ..request(message, protocol, "", none)
    };
    vec![
        request(0, "http", "GET /cart/{}", (Some(0xaa), Some(0xbb))),
        OperationRow {
            detail: "SELECT a FROM books WHERE b = ?",
            ..request(1, "postgresql", "SELECT books", none)
        },
        request(2, "postgresql", "INSERT orders", none),
        OperationRow {
            role: OperationRole::OneWay,
            ..request(3, "amqp", "basic.publish orders", none)
        },
        answer(10, "http", "404", false),
        answer(11, "postgresql", "23505", true),
        answer(12, "postgresql", "", false),
    ]
}

/// Table of the given operations, in the order of their messages.
pub(crate) fn operation_lookup(
    rows: impl IntoIterator<Item = OperationRow<'static>>,
) -> OperationLookup {
    OperationLookup::from_rows(rows)
}
