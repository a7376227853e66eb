//! Tests of hand-written truths.

use std::io::Write;

use message_trace::{
    EndPair, FROM_ACCEPTING, FROM_CONNECTING, FlowId, Message, Node, NodeEnd, NodeId,
    TransportProtocol,
};
use proptest::prelude::*;

use super::*;

/// A trace of calls with these ids, one after the other, each of two messages.
fn trace(ids: &[&str]) -> (MessageTrace, Calls) {
    let mut trace = MessageTrace::default();
    for name in ["a", "b"] {
        trace.add_node(Node {
            host: name.into(),
            command: name.into(),
            traced: true,
            ..Node::default()
        });
    }
    let endpoint = trace.intern(&message_trace::Endpoint::Other(String::new()));
    for (row, id) in
        ids.iter().flat_map(|id| [(FROM_CONNECTING, id), (FROM_ACCEPTING, id)]).enumerate()
    {
        let (time, (direction, id)) = (Some(row as i64), id);
        let (src, dst) = if direction == FROM_CONNECTING { (0, 1) } else { (1, 0) };
        let [src, dst] = [src, dst].map(|node| NodeEnd::new(NodeId::from_index(node), endpoint));
        let ends = EndPair { src, dst, protocol: TransportProtocol::Other };
        let message = Message {
            bytes: 1,
            ..Message::between_ends(ends, FlowId::default(), direction).with_times(time, time)
        };
        trace.push(&message, Some(*id));
    }
    let calls = Calls::from_trace(&trace);
    (trace, calls)
}

fn parse_text(text: &str) -> Result<GroundTruth, Error> {
    GroundTruth::parse_table(Path::new("truth.csv"), text.as_bytes())
}

#[test]
fn effects_of_a_lost_call_count_to_the_nearest_call_above() {
    let (trace, calls) = trace(&["r", "x", "z", "q", "o", "n"]);
    // y was lost between x and z; p, which is nowhere, was above q; o is above a cycle; n is not in
    // the truth.
    let truth = parse_text("call_id,parent_call_id\nr,\nx,r\ny,x\nz,y\nq,p\no,l\nl,l\n").unwrap();
    let origins = truth.origins_of_calls(&trace, &calls);
    assert_eq!(
        origins.of,
        [
            CallOrigin::Root,
            CallOrigin::Call(0),
            CallOrigin::Call(1),
            CallOrigin::Unknown,
            CallOrigin::Unknown,
            CallOrigin::Unknown
        ]
    );
    assert_eq!((origins.missing, origins.adopted), (2, 1));
}

#[test]
fn a_root_named_only_as_a_parent_is_a_call_of_its_trace() {
    let (trace, calls) = trace(&["r", "x", "s", "y"]);
    // The recorded trace lacks the root of the last trace.
    let origins = parse_text("call_id,parent_call_id\nx,r\ny,s\nz,gone\n")
        .unwrap()
        .origins_of_calls(&trace, &calls);
    assert_eq!(origins.traces, Some(3));
    assert_eq!(origins.whole, [true, false, true, false]);
}

#[test]
fn a_truth_about_messages_is_one_about_calls() {
    let (trace, calls) = trace(&["r", "x", "y"]);
    // Messages 0 and 1 are r, 2 and 3 are x, 4 and 5 are y; y was made when x was answered.
    let truth = parse_text("parent,child\n,0\n0,2\n2,3\n3,4\n99,100\n").unwrap();
    let origins = truth.origins_of_calls(&trace, &calls);
    assert_eq!(origins.of, [CallOrigin::Root, CallOrigin::Call(0), CallOrigin::Call(0)]);
    assert_eq!(origins.missing, 1);
}

#[test]
fn a_table_may_be_compressed() {
    let directory = tempfile::tempdir().unwrap();
    let text = b"call_id,parent_call_id\na,\nb,a\n";
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(text).unwrap();
    for bytes in [text.to_vec(), gzip.finish().unwrap(), zstd::encode_all(&text[..], 0).unwrap()] {
        let path = directory.path().join("truth");
        std::fs::write(&path, bytes).unwrap();
        let GroundTruth::Calls(of) = GroundTruth::read(&path).unwrap() else {
            panic!("not by calls")
        };
        assert_eq!((of.len(), of["a"].as_deref(), of["b"].as_deref()), (2, None, Some("a")));
    }
}

#[test]
fn errors_name_the_file_and_the_line() {
    let error = |text| parse_text(text).unwrap_err().to_string();
    assert!(error("a,b\n1,2\n").contains("truth.csv: this is not a ground truth"));
    assert!(error("child,parent\n1,\nx,1\n").contains("line 3: 'x'"));
    assert!(
        error("call_id,parent_call_id\na,\na,b\n").contains("line 3: 'a' occurs a second time")
    );
    assert!(error("call_id,parent_call_id\n,a\n").contains("line 2: 'call_id' is empty"));
    assert!(
        GroundTruth::read(Path::new("no/such")).unwrap_err().to_string().starts_with("no/such: ")
    );
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn any_bytes_are_a_truth_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..200), columns in 0usize..3) {
        let header: &[u8] = [&b""[..], b"call_id,parent_call_id\n", b"child,parent\n"][columns];
        let whole = [header, &bytes].concat();
        let (trace, calls) = trace(&["a", "b"]);
        match GroundTruth::parse_table(Path::new("truth.csv"), whole.as_slice()) {
            Ok(truth) => prop_assert_eq!(truth.origins_of_calls(&trace, &calls).of.len(), 2),
            Err(error) => prop_assert!(error.to_string().starts_with("truth.csv: ")),
        }
    }

    #[test]
    fn written_truths_are_read_back(rows in proptest::collection::btree_map("[a-z,\"\n ]{1,4}", proptest::option::of("[a-z,\"]{1,4}"), 0..10)) {
        let rows: Vec<(String, Option<String>)> =
            rows.into_iter().filter(|(call, _)| !call.trim().is_empty()).collect();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("truth.csv");
        crate::maketrace::TruthTable::Calls(rows.clone()).write(&path).unwrap();
        prop_assert_eq!(GroundTruth::read(&path).unwrap(), GroundTruth::Calls(rows.into_iter().collect()));
    }
}

#[test]
fn a_trace_without_missing_calls_is_complete() {
    let (trace, calls) = trace(&["a", "b", "c", "d", "e"]);
    // The trace of c lacks a call; e is alone, and x is lost entirely.
    let truth = "call_id,parent_call_id\na,\nb,a\nc,\nd,c\nlost,d\ne,\nx,\ny,x\n";
    let origins = parse_text(truth).unwrap().origins_of_calls(&trace, &calls);
    assert_eq!(origins.traces, Some(3));
    assert_eq!(origins.whole, [true, false, false, false, true]);
    // Cycles terminate.
    let origins = parse_text("call_id,parent_call_id\na,b\nb,a\nc,a\n")
        .unwrap()
        .origins_of_calls(&trace, &calls);
    assert_eq!(
        origins.of,
        [
            CallOrigin::Call(1),
            CallOrigin::Call(0),
            CallOrigin::Call(0),
            CallOrigin::Unknown,
            CallOrigin::Unknown
        ]
    );
}
