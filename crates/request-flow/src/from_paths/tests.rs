//! Requests of hand-made analyses.

use analyze::{Options, analyze};
use message_trace::{
    ConnectSpan, DataDir, EndPair, Endpoint, FROM_ACCEPTING, FROM_CONNECTING, FlowId, Message,
    MessageTrace, Node, NodeEnd, NodeId, TransportProtocol,
};

use message_trace::table::operations::{OperationRole, OperationRow, OperationWriter};

use super::*;
use crate::tables::{ColumnSelection, RequestTables};

/// Builder of a trace: node names are `host/command`.
#[derive(Default)]
struct TraceBuilder {
    trace: MessageTrace,
    names: Vec<String>,
    /// When the connection of the next message was made.
    connect: Option<ConnectSpan>,
    /// Operations of messages, by their numbers in the order of time.
    operations: Vec<OperationRow<'static>>,
}

impl TraceBuilder {
    fn node(&mut self, name: &str) -> NodeId {
        if let Some(known) = self.names.iter().position(|known| known == name) {
            return NodeId::from_index(known);
        }
        self.names.push(name.to_owned());
        let (host, command) = name.split_once('/').unwrap_or(("h", name));
        let (host, command) = (host.to_owned(), command.to_owned());
        let pid = Some(100 + self.names.len() as i32);
        self.trace.add_node(Node { host, command, pid, traced: true, ..Node::default() })
    }

    /// Adds a request from web to db on a connection that was made for it from `begin` to `end`.
    fn connect_and_send(&mut self, [begin, end]: [i64; 2], flow: i64, times: [i64; 2]) {
        self.connect = Some(ConnectSpan { begin: begin * 1_000, end: end * 1_000 });
        self.send(["b/web", "c/db"], flow, 5432, times, false);
        self.connect = None;
    }

    /// Adds a message on `flow` to or from the port `port`; a time below 0 was not seen.
    fn send(&mut self, [from, to]: [&str; 2], flow: i64, port: u16, times: [i64; 2], answer: bool) {
        let (from, to) = (self.node(from), self.node(to));
        let mut endpoint = |node: NodeId, fixed: bool| {
            let port = if fixed { port } else { 40_000 + flow as u16 };
            let text = format!("10.0.0.{}:{port}", node.index() + 1);
            let Ok(endpoint) = text.parse::<Endpoint>();
            self.trace.intern(&endpoint)
        };
        let (src, dst) = (endpoint(from, answer), endpoint(to, !answer));
        let end = |node, endpoint, tid| NodeEnd { node, endpoint, tid: Some(tid) };
        let ends = EndPair {
            src: end(from, src, 7),
            dst: end(to, dst, 8),
            protocol: TransportProtocol::Tcp,
        };
        let direction = if answer { FROM_ACCEPTING } else { FROM_CONNECTING };
        let [sent, received] = times.map(|time| (time >= 0).then_some(time * 1_000));
        let message = Message::between_ends(ends, FlowId::from_number(flow), direction)
            .with_times(sent, received);
        let message = Message { connect: self.connect, ..message.with_payload(10 + flow, 1) };
        self.trace.push(&message, None);
    }
}

fn requests_of_trace(mut trace: TraceBuilder) -> (Vec<Request>, NameInterner) {
    let directory = tempfile::tempdir().unwrap();
    let data = DataDir::new(directory.path());
    trace.trace.sort_messages();
    trace.trace.write(data.messages_path(), data.nodes_path()).unwrap();
    if !trace.operations.is_empty() {
        let mut writer = OperationWriter::create(data.operations_path()).unwrap();
        trace.operations.iter().for_each(|row| writer.push(row).unwrap());
        writer.finish().unwrap();
    }
    let algorithm = "linking".parse().unwrap();
    analyze(&data, &Options { algorithm, ..Options::default() }, &()).unwrap();
    let written = from_paths(&data, 0, &()).unwrap();
    let tables =
        RequestTables::open(data.requests_path(), data.steps_path(), ColumnSelection::ALL).unwrap();
    assert_eq!(tables.counts(), (written.requests, written.steps));
    let mut names = NameInterner::default();
    (tables.read_all(&mut names).unwrap(), names)
}

#[test]
fn a_caller_is_occupied_from_when_it_began_to_connect() {
    let mut trace = TraceBuilder::default();
    trace.send(["a/curl", "b/web"], 1, 80, [0, 10], false);
    trace.connect_and_send([15, 25], 2, [30, 35]);
    trace.send(["c/db", "b/web"], 2, 5432, [40, 50], true);
    trace.send(["b/web", "c/db"], 2, 5432, [60, 65], false);
    trace.send(["c/db", "b/web"], 2, 5432, [70, 75], true);
    trace.send(["b/web", "a/curl"], 1, 80, [80, 90], true);
    let (requests, names) = requests_of_trace(trace);
    let [request] = &requests[..] else { panic!("{requests:?}") };
    let name = names.find_id("sockcap.connecting_ns").unwrap();
    let steps: Vec<_> = (0..)
        .zip(&request.steps)
        .map(|(place, step)| {
            (step.caller_begin.unwrap() / 1_000, request.parameter_value(place, name))
        })
        .collect();
    // The second call reuses the connection of the first.
    assert_eq!(steps, [(0, None), (20, Some("10000")), (60, None)]);
}

#[test]
fn a_path_is_a_request_and_its_calls_are_steps() {
    let mut trace = TraceBuilder::default();
    trace.send(["a/curl", "b/web"], 1, 80, [0, 10], false);
    trace.send(["b/web", "c/db"], 2, 5432, [20, 30], false);
    trace.send(["c/db", "b/web"], 2, 5432, [40, 50], true);
    trace.send(["b/web", "d/log"], 3, 514, [60, 70], false);
    trace.send(["b/web", "a/curl"], 1, 80, [80, 90], true);
    let (requests, names) = requests_of_trace(trace);
    let [request] = &requests[..] else { panic!("{requests:?}") };
    assert_eq!(names.name_of(request.caller), "curl");
    assert_eq!((names.name_of(request.caller_host), request.torn), ("a", false));
    assert_eq!((request.pattern, request.path, request.trace.as_str()), (Some(0), Some(0), ""));
    assert_eq!((request.begin(), request.end()), (Some(0), Some(90_000)));
    let steps: Vec<_> = request
        .steps
        .iter()
        .map(|step| {
            let times = [step.caller_begin, step.begin, step.end, step.caller_end];
            (
                names.name_of(step.operation),
                names.name_of(step.host),
                step.parent,
                times.map(|time| time.map_or(-1, |time| time / 1_000)),
                [step.bytes_in, step.bytes_out],
            )
        })
        .collect();
    assert_eq!(
        steps,
        [
            ("b/web:80", "b", None, [0, 10, 80, 90], [Some(11), Some(11)]),
            ("c/db:5432", "c", Some(0), [20, 30, 40, 50], [Some(12), Some(12)]),
            ("d/log:514", "d", Some(0), [60, 70, -1, -1], [Some(13), None]),
        ]
    );
    let parameters: Vec<_> = request
        .parameters
        .of_step(1)
        .map(|(name, value)| format!("{}={value}", names.name_of(name)))
        .collect();
    assert_eq!(
        parameters,
        [
            "server.address=10.0.0.3",
            "server.port=5432",
            "network.transport=tcp",
            "process.pid=103",
            "thread.id=8"
        ]
    );
}

#[test]
fn a_request_begun_by_a_server_is_torn() {
    let mut trace = TraceBuilder::default();
    trace.send(["a/curl", "b/web"], 1, 80, [0, 10], false);
    trace.send(["b/web", "a/curl"], 1, 80, [80, 90], true);
    // A minute later no possible cause is in the window.
    trace.send(["b/web", "c/db"], 2, 5432, [60_000_000, 60_000_010], false);
    trace.send(["c/db", "b/web"], 2, 5432, [60_000_020, 60_000_030], true);
    let (requests, names) = requests_of_trace(trace);
    let torn: Vec<(&str, bool)> =
        requests.iter().map(|request| (names.name_of(request.caller), request.torn)).collect();
    assert_eq!(torn, [("curl", false), ("b/web", true)]);
}

#[test]
fn requests_are_in_the_order_of_their_begins() {
    let mut trace = TraceBuilder::default();
    for call in 0..50 {
        let at = 1_000 * call;
        let client = ["a/curl", "a/wget"][call as usize % 2];
        trace.send([client, "b/web"], 10 + call, 80, [at, at + 10], false);
        trace.send(["b/web", client], 10 + call, 80, [at + 80, at + 90], true);
    }
    let (requests, _) = requests_of_trace(trace);
    let begins: Vec<_> = requests.iter().map(|request| request.begin().unwrap()).collect();
    assert_eq!(begins, (0..50).map(|call| 1_000_000 * call).collect::<Vec<_>>());
}

#[test]
fn a_step_has_the_operation_of_its_call_and_the_outcome_of_its_response() {
    let mut trace = TraceBuilder::default();
    trace.send(["a/curl", "b/web"], 1, 80, [0, 10], false);
    trace.send(["b/web", "c/db"], 2, 5432, [20, 25], false);
    trace.send(["c/db", "b/web"], 2, 5432, [40, 50], true);
    trace.send(["b/web", "d/cache"], 3, 6379, [55, 60], false);
    trace.send(["d/cache", "b/web"], 3, 6379, [65, 70], true);
    trace.send(["b/web", "a/curl"], 1, 80, [80, 90], true);
    let of = |message, role, protocol, name, status| OperationRow {
        message,
        role,
        name,
        protocol,
        status,
        is_error: status == "42P01",
        detail: "",
        call: None,
        trace_id: None,
        parent_id: None,
    };
    trace.operations = vec![
        of(0, OperationRole::Request, "http", "GET /cart/{}", ""),
        of(1, OperationRole::Request, "postgresql", "SELECT books", ""),
        of(2, OperationRole::Response, "postgresql", "", "42P01"),
        of(5, OperationRole::Response, "http", "", "404"),
    ];
    let (requests, names) = requests_of_trace(trace);
    let [request] = &requests[..] else { panic!("{requests:?}") };
    let steps = request.steps.iter();
    let steps: Vec<_> = steps.map(|step| (names.name_of(step.operation), step.failed)).collect();
    // A call without an operation is named by the node and its port.
    assert_eq!(steps, [("GET /cart/{}", false), ("SELECT books", true), ("d/cache:6379", false)]);
    let status = |step: usize| {
        let mut all =
            request.parameters.of_step(step).map(|(name, value)| (names.name_of(name), value));
        all.find(|(name, _)| name.contains("status"))
    };
    let [cart, select] =
        ["http.response.status_code", "db.response.status_code"].map(|name| names.find_id(name));
    assert_eq!(request.parameter_value(0, cart.unwrap()), Some("404"));
    assert_eq!(request.parameter_value(1, select.unwrap()), Some("42P01"));
    assert_eq!(status(2), None);
}
