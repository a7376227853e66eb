//! Messages of hand-made requests.

use super::*;
use crate::request::Request;

/// Builder of a request.
#[derive(Default)]
struct TreeBuilder {
    names: NameInterner,
    request: Request,
}

/// The caller's begin, begin, end and the caller's end; a value below 0 is unknown.
type StepTimesCase = [i64; 4];

impl TreeBuilder {
    /// Adds a step of `operation` at `node`, and returns its index.
    fn step(
        &mut self,
        parent: Option<u32>,
        node: &str,
        operation: &str,
        times: StepTimesCase,
        parameters: &[(&str, &str)],
    ) -> u32 {
        let [caller_begin, begin, end, caller_end] =
            times.map(|time| Some(time).filter(|time| *time >= 0));
        let (node, operation) = (self.names.intern(node), self.names.intern(operation));
        let parameters: Vec<_> =
            parameters.iter().map(|(name, value)| (self.names.intern(name), *value)).collect();
        let step =
            Step { parent, caller_begin, begin, end, caller_end, ..Step::new(node, operation) };
        self.request.push_step(step, parameters);
        self.request.steps.len() as u32 - 1
    }

    fn convert_tree(self) -> GroupMessages {
        let mut converter = RequestConverter::new(self.names);
        converter.add_request(&self.request);
        converter.finish()
    }
}

/// Describes the messages: number, ends, times and cause.
fn messages_in_words(made: GroupMessages) -> Vec<String> {
    let GroupMessages { records, ends, .. } = made;
    let endpoints = ends.endpoint_texts().to_vec();
    let nodes = ends.into_nodes();
    let node = |node: i32| {
        let node = nodes.get(message_trace::NodeId::from_index(node as usize)).unwrap();
        format!("{}{}", if node.traced { "" } else { "<>" }, node.command)
    };
    let end = |of: i32, endpoint: u32| match endpoints[endpoint as usize].as_str() {
        "" => node(of),
        endpoint => format!("{} {endpoint}", node(of)),
    };
    let time = |time: i64| if time == NIL { "?".to_owned() } else { time.to_string() };
    let cause = |cause: u64| if cause == NO_CAUSE { "-".to_owned() } else { cause.to_string() };
    records
        .iter()
        .map(|record| {
            format!(
                "{}: {} > {} {}..{} by {}",
                record.made,
                end(record.src, record.src_endpoint),
                end(record.dst, record.dst_endpoint),
                time(record.sent),
                time(record.received),
                cause(record.cause),
            )
        })
        .collect()
}

#[test]
fn calls_and_responses_are_caused_by_earlier_messages() {
    let mut tree = TreeBuilder::default();
    tree.request.caller = tree.names.intern("curl");
    let web = tree.step(None, "web", "GET /", [0, 10, 90, 100], &[]);
    tree.step(Some(web), "cart", "Get", [20, 25, 30, 35], &[]);
    // Two concurrent calls, both after the first.
    tree.step(Some(web), "ads", "Pick", [40, 45, 50, 55], &[]);
    tree.step(Some(web), "rates", "Convert", [41, 46, 60, 65], &[]);
    let expected = [
        "0: curl > web GET / 0..10 by -",
        "1: web > cart Get 20..25 by 0",
        "2: cart Get > web 30..35 by 1",
        "3: web > ads Pick 40..45 by 2",
        "5: web > rates Convert 41..46 by 2",
        "4: ads Pick > web 50..55 by 3",
        "6: rates Convert > web 60..65 by 5",
        "7: web GET / > curl 90..100 by 6",
    ];
    assert_eq!(messages_in_words(tree.convert_tree()), expected);
}

#[test]
fn unseen_messages_are_not_invented() {
    let mut tree = TreeBuilder::default();
    // The caller was not seen: it is an untraced client.
    let web = tree.step(None, "web", "GET /", [-1, 10, 90, -1], &[]);
    // A part of the same node's work.
    tree.step(Some(web), "web", "render", [-1, 20, 30, -1], &[]);
    // A node without spans.
    tree.step(Some(web), "redis", "GET", [40, -1, -1, 50], &[]);
    // A message without a response; its work continues.
    let mailer = tree.step(Some(web), "mailer", "send", [60, 65, 200, -1], &[]);
    tree.step(Some(mailer), "smtp", "", [70, 75, 80, 85], &[]);
    // A call with an end that its caller did not see.
    tree.step(Some(web), "log", "write", [-1, 86, 88, -1], &[]);
    let expected = [
        "0: <> > web GET / ?..10 by -",
        "1: web > web render 20..20 by 0",
        "2: web render > web 30..30 by 1",
        "3: web > <>redis GET 40..? by 2",
        "4: <>redis GET > web ?..50 by 3",
        "5: web > mailer send 60..65 by 4",
        "6: mailer > smtp unix:# 70..75 by 5",
        "7: smtp unix:# > mailer 80..85 by 6",
        "8: web > log write ?..86 by 4",
        "9: log write > web 88..? by 8",
        "10: web GET / > <> 90..? by 9",
    ];
    assert_eq!(messages_in_words(tree.convert_tree()), expected);
}

#[test]
fn an_unfinished_step_has_no_response() {
    let mut tree = TreeBuilder::default();
    let web = tree.step(None, "web", "GET /", [-1, 10, -1, -1], &[]);
    tree.step(Some(web), "db", "SELECT", [20, 21, -1, -1], &[]);
    let expected = ["0: <> > web GET / ?..10 by -", "1: web > db SELECT 20..21 by 0"];
    assert_eq!(messages_in_words(tree.convert_tree()), expected);
}

/// The parameters of a call that sockcap exported, and these in addition.
fn exported_parameters<'a>(more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let mut parameters = vec![("sockcap.call", "3"), ("sockcap.protocol", "tcp")];
    parameters.extend_from_slice(more);
    parameters
}

#[test]
fn exported_calls_come_back_with_their_programs_and_ports() {
    let mut tree = TreeBuilder::default();
    let of_web = exported_parameters(&[
        ("server.address", "10.0.0.2"),
        ("server.port", "80"),
        ("client.address", "10.0.0.1"),
        ("client.port", "41000"),
        ("process.pid", "7"),
        ("thread.id", "8"),
        ("process.executable.name", "nginx"),
        ("process.executable.path", "/usr/sbin/nginx"),
        ("sockcap.peer.command", "curl"),
        ("sockcap.peer.host", "a"),
        ("sockcap.peer.pid", "5"),
    ]);
    let web = tree.step(None, "b/nginx", "b/nginx:80", [0, 10, 90, 100], &of_web);
    // Only the caller's span exists.
    let of_name = exported_parameters(&[
        ("server.address", "10.0.0.9"),
        ("server.port", "53"),
        ("sockcap.peer.command", "10.0.0.9:53"),
        ("sockcap.peer.host", "10.0.0.9"),
    ]);
    tree.step(Some(web), "10.0.0.9:53", "10.0.0.9:53", [20, -1, -1, 30], &of_name);
    let made = tree.convert_tree();
    let nodes = &made.ends.nodes;
    let record = made.records[0];
    let threads: Vec<_> = (0..2)
        .map(|place| {
            let record = made.records[place];
            [record.src_tid, record.dst_tid, i32::from(record.protocol)]
        })
        .collect();
    assert_eq!(threads, [[NO_THREAD, 8, 0], [8, NO_THREAD, 0]]);
    assert_eq!((record.src, record.dst), (2, 0), "{nodes:?}");
    let expected = [
        "0: curl > nginx 10.0.0.2:80 0..10 by -",
        "1: nginx > <>10.0.0.9:53 10.0.0.9:53 20..? by 0",
        "2: <>10.0.0.9:53 10.0.0.9:53 > nginx ?..30 by 1",
        "3: nginx 10.0.0.2:80 > curl 90..100 by 2",
    ];
    assert_eq!(messages_in_words(made), expected);
}

#[test]
fn a_half_seen_exported_call_has_one_message() {
    let mut tree = TreeBuilder::default();
    let response = exported_parameters(&[("sockcap.not_seen", "response")]);
    let web = tree.step(None, "web", "web", [-1, 10, 10, -1], &response);
    let request = exported_parameters(&[("sockcap.not_seen", "request")]);
    tree.step(Some(web), "db", "db", [-1, 30, 30, 40], &request);
    // The callee made the connection, so that its endpoint varies.
    let back = exported_parameters(&[
        ("server.address", "10.0.0.3"),
        ("server.port", "5000"),
        ("client.address", "10.0.0.2"),
        ("client.port", "80"),
    ]);
    tree.step(Some(web), "worker", "worker", [50, 60, 70, 80], &back);
    let made = tree.convert_tree();
    let directions: Vec<i8> = made.records.iter().map(|record| record.direction).collect();
    assert_eq!(directions, [FROM_CONNECTING, FROM_ACCEPTING, FROM_ACCEPTING, FROM_CONNECTING]);
    let expected = [
        "0: <> > web ?..10 by -",
        "1: db > web 30..40 by 0",
        "2: web 10.0.0.2:80 > worker 50..60 by 1",
        "3: worker > web 10.0.0.2:80 70..80 by 2",
    ];
    assert_eq!(messages_in_words(made), expected);
}
