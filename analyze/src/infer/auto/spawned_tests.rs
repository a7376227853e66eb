//! Processes that are started for requests, in handwritten traces.

use std::sync::Arc;

use message_trace::{MessageId, MessageTrace, Node, NodeId};

use super::tests::{MS, infer, lot, parents};
use crate::fixture::Fixture;

/// A server, number 10, that starts a script for each of 30 requests, which asks a database twice;
/// the server answers when the script has ended. Process ids are the numbers in the names.
fn scripts(apart: i64) -> MessageTrace {
    let mut sent: Vec<(i64, String, &str, i64, bool)> = Vec::new();
    for request in 0..30_i64 {
        let begin = 1_000 * MS + request * apart + lot(request, MS);
        let script = format!("script#{}", 100 + request);
        let first = begin + 5 * MS + lot(request + 100, MS);
        let second = first + 4 * MS + lot(request + 200, MS);
        let end = second + 6 * MS;
        sent.push((begin, "client#1".into(), "server#10", request, false));
        for (place, time) in [(0, first), (1, second)] {
            sent.push((time, script.clone(), "db#20", 1_000 + 2 * request + place, false));
            sent.push((time + 2 * MS, script.clone(), "db#20", 1_000 + 2 * request + place, true));
        }
        sent.push((end, "client#1".into(), "server#10", request, true));
    }
    sent.sort();
    let mut fixture = Fixture::new();
    for (time, client, server, flow, is_answer) in sent {
        let (from, to) =
            if is_answer { (server, client.as_str()) } else { (client.as_str(), server) };
        let message = fixture.send(from, to, time, time + MS / 10).on(flow).threads(1, 1);
        if is_answer {
            message.accepting().ports(80, 40_000);
        }
    }
    let mut trace = fixture.trace();
    let first_of = |trace: &MessageTrace, id: usize| {
        let of_node = |row: &MessageId| trace.message(*row).src.index() == id;
        trace.ids().find(of_node).and_then(|row| trace.send_first(row))
    };
    for id in 0..trace.nodes.len() {
        let first = first_of(&trace, id);
        let node = &mut Arc::make_mut(&mut trace.nodes).0[id];
        node.start = Some(0);
        if node.command == "script" {
            (node.parent_pid, node.start) = (Some(10), first.map(|first| first - 3 * MS));
        }
    }
    trace
}

/// How many of the scripts' requests are caused by the last request before their script.
fn right(trace: &MessageTrace) -> (usize, usize) {
    let found = parents(&infer(trace));
    let name = |id: NodeId| trace.nodes.0[id.index()].command.as_str();
    let (mut right, mut all, mut last) = (0, 0, None);
    for (row, found) in trace.ids().zip(&found) {
        let message = trace.message(row);
        match (name(message.src), name(message.dst)) {
            ("client", "server") => last = Some(row),
            ("script", "db") => {
                all += 1;
                right += usize::from(*found == last);
            }
            _ => {}
        }
    }
    (right, all)
}

#[test]
fn calls_of_a_script_are_for_the_request_that_started_it() {
    assert_eq!(right(&scripts(40 * MS)), (60, 60));
}

#[test]
fn a_shell_that_executes_the_script_is_skipped() {
    let mut trace = scripts(40 * MS);
    let nodes = Arc::make_mut(&mut trace.nodes);
    for id in 0..nodes.len() {
        let script = nodes.0[id].clone();
        if script.command == "script" {
            // A shell starts another one, which executes the script and keeps its process id.
            let start = |before: i64| script.start.map(|start| start - before * MS / 10);
            let shell = Node { command: "sh".into(), ..script.clone() };
            let pid = script.pid.map(|pid| 1_000 + pid);
            nodes.push(Node { pid, start: start(2), ..shell.clone() });
            nodes.push(Node { parent_pid: pid, start: start(1), ..shell });
            nodes.0[id].parent_pid = pid;
        }
    }
    assert_eq!(right(&trace), (60, 60));
}

#[test]
fn a_process_from_before_the_first_request_was_started_for_none() {
    let mut trace = scripts(40 * MS);
    for node in &mut Arc::make_mut(&mut trace.nodes).0 {
        if node.command == "script" {
            node.start = Some(1);
        }
    }
    assert_eq!(right(&trace).0, 0);
}
