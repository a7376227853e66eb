//! Links of one node, in handwritten traces.

use message_trace::Message;

use super::*;
use crate::fixture::Fixture;
use crate::links::Links;

/// A call from one node to another: the times of its two messages at the first, and at the second.
type Call<'a> = (&'a str, &'a str, [i64; 2], [i64; 2]);

/// The links of "web" with these requests and calls; `shares` are by call.
fn links(
    requests: &[Call<'_>],
    made: &[Call<'_>],
    shares: &[&[(Option<usize>, f64)]],
) -> (Links, Vec<String>) {
    let mut fixture = Fixture::new();
    for (flow, (from, to, sent, received)) in requests.iter().chain(made).enumerate() {
        fixture.send(from, to, sent[0], received[0]).on(flow as i64);
        fixture.send(to, from, received[1], sent[1]).accepting().ports(80, 40_000).on(flow as i64);
    }
    let trace = fixture.trace();
    let calls = Calls::from_trace(&trace);
    // The call of the trace for the number of its flow.
    let of = |flow: usize| {
        let of = |call: &CallId| {
            let of = calls.request(*call).map(|row| trace.flow(row).number());
            of == Some(flow as i64)
        };
        calls.iter().find(of).unwrap()
    };
    let span = |[begin, end]: [i64; 2]| NodeSpan { begin, end, kind: 0 };
    let request_calls: Vec<WorkItem> =
        (0..requests.len()).map(|flow| WorkItem::request(of(flow))).collect();
    let made_calls: Vec<CallId> = (requests.len()..requests.len() + made.len()).map(of).collect();
    let node = NodeCalls {
        requests: &requests.iter().map(|call| span(call.3)).collect::<Vec<_>>(),
        request_calls: &request_calls,
        calls: &made.iter().map(|call| span(call.2)).collect::<Vec<_>>(),
        made_calls: &made_calls,
    };
    let mut links = Links::spontaneous_only(trace.len());
    super::link_messages(
        &calls,
        node,
        |call| {
            let shares = shares[call.index()].iter();
            shares.map(|(request, share)| (request.map(RequestId::from_index), *share))
        },
        |message, parents, spontaneous| {
            links.set_parents(message, parents, spontaneous);
        },
    );
    let name = |node: message_trace::NodeId| trace.nodes.0[node.index()].command.clone();
    let name = |m: Message| format!("{}{}{}", name(m.src), name(m.dst), m.flow.number());
    let names = trace.messages().map(name).collect();
    (links, names)
}

/// The parents of the message of that name, with their names.
fn parents((links, names): &(Links, Vec<String>), child: &str) -> Vec<(String, f64)> {
    let child = names.iter().position(|name| name == child).unwrap();
    let parents = links.parent_rows(child).into_iter();
    parents.map(|(parent, share)| (names[parent].clone(), share)).collect()
}

const REQUEST: Call<'_> = ("c", "w", [0, 110], [10, 100]);

#[test]
fn the_parent_is_the_last_message_received_for_the_same_request() {
    // d and e at the same time, f after both: e's response comes last.
    let made = [
        ("w", "d", [20, 50], [21, 49]),
        ("w", "e", [25, 60], [26, 59]),
        ("w", "f", [70, 80], [71, 79]),
    ];
    let found = links(&[REQUEST], &made, &[&[(Some(0), 1.0)][..]; 3]);
    assert_eq!(parents(&found, "wd1"), [("cw0".to_owned(), 1.0)]);
    assert_eq!(parents(&found, "we2"), [("cw0".to_owned(), 1.0)]);
    assert_eq!(parents(&found, "wf3"), [("ew2".to_owned(), 1.0)]);
    assert_eq!(parents(&found, "wc0"), [("fw3".to_owned(), 1.0)]);
    // The links of the called nodes are not this node's links.
    assert_eq!(parents(&found, "dw1"), []);
}

#[test]
fn a_response_that_comes_after_the_nodes_own_is_not_its_cause() {
    let found = links(&[REQUEST], &[("w", "d", [20, 105], [21, 104])], &[&[(Some(0), 1.0)]]);
    assert_eq!(parents(&found, "wc0"), [("cw0".to_owned(), 1.0)]);
}

#[test]
fn links_have_the_probabilities_of_the_calls() {
    let requests = [REQUEST, ("c", "w", [1, 120], [11, 110])];
    let made = [("w", "d", [20, 30], [21, 29]), ("w", "e", [40, 50], [41, 49])];
    let shares: [&[(Option<usize>, f64)]; 2] =
        [&[(Some(1), 0.25), (Some(0), 0.5), (None, 0.25)], &[(Some(0), 0.75), (Some(1), 0.25)]];
    let found = links(&requests, &made, &shares);
    assert_eq!(parents(&found, "wd2"), [("cw0".to_owned(), 0.5), ("cw1".to_owned(), 0.25)]);
    // The last message before for the first request is the response of d, which was most likely
    // called for it.
    assert_eq!(parents(&found, "we3"), [("dw2".to_owned(), 0.75), ("cw1".to_owned(), 0.25)]);
    // As likely as that e was called for it at all.
    assert_eq!(parents(&found, "wc0"), [("ew3".to_owned(), 0.75), ("cw0".to_owned(), 0.25)]);
    assert_eq!(parents(&found, "wc1"), [("cw1".to_owned(), 1.0)]);
}

#[test]
fn negligible_probabilities_are_shared_by_the_rest() {
    let requests = [REQUEST, ("c", "w", [1, 120], [11, 110])];
    let found = links(
        &requests,
        &[("w", "d", [20, 30], [21, 29])],
        &[&[(Some(0), 0.6), (Some(1), 0.004), (None, 0.396)]],
    );
    let [(parent, share)] = &parents(&found, "wd2")[..] else { panic!("one parent") };
    assert_eq!(parent, "cw0");
    assert!((share - 0.604).abs() < 1e-12);
    let none = links(&requests, &[("w", "d", [20, 30], [21, 29])], &[&[(None, 1.0)]]);
    assert_eq!(parents(&none, "wd2"), []);
}
