//! Fragments of several hosts become one request (Magpie, 4.1).

use crate::threads::ThreadAction::{Begins, Signals, Works};
use crate::threads::{ThreadAction, joined_request};
use out_of_core::NameId;
use workload::canonical::{
    ElementAct, FragmentPacket, canonicalize_joined, role_by_kind, stitch_fragments,
};
use workload::joined_request::JoinedRequest;

/// A fragment on a host of its own.
fn fragment(host: usize, number: u64, steps: &[(i32, i32, ThreadAction)]) -> JoinedRequest {
    let host = NameId::from_index(host);
    let mut fragment = joined_request(steps);
    fragment.number = number;
    fragment.events.iter_mut().for_each(|event| event.host = host);
    fragment
}

fn packet(
    fragment: u32,
    event: u32,
    is_back: bool,
    bytes: (i64, i64),
    is_sent: bool,
) -> FragmentPacket {
    let (begin, end) = bytes;
    FragmentPacket { connection: 3, is_back, begin, end, is_sent, fragment, event }
}

/// A web server that calls a database, and the database. Thread ids are the same on both hosts.
fn web_and_database() -> [JoinedRequest; 2] {
    let database = [(1, 0, Begins), (1, 0, Works(50)), (1, 0, Signals(1)), (1, 0, Works(3))];
    let web = [
        (1, 0, Begins),
        (1, 0, Works(10)),
        (1, 0, Signals(1)),
        (1, 0, Works(2)),
        (1, 0, Signals(2)),
        (1, 0, Works(4)),
    ];
    [fragment(8, 40, &database), fragment(9, 50, &web)]
}

#[test]
fn a_call_of_a_database_is_one_request_of_both_hosts() {
    let fragments = web_and_database();
    // The request has 100 bytes, the response 300; the web server receives it at its second signal
    // event.
    let packets = [
        packet(1, 2, false, (1_000, 1_100), true),
        packet(0, 0, false, (1_000, 1_100), false),
        packet(0, 2, true, (7, 307), true),
        packet(1, 4, true, (7, 307), false),
    ];
    let whole = stitch_fragments(&fragments, &packets);
    assert_eq!(whole.len(), 1);
    assert_eq!((whole[0].number, whole[0].demands.processor_ns), (50, 69));
    let form = canonicalize_joined(&whole[0], role_by_kind);
    let works: Vec<(i64, i64)> = form
        .elements
        .iter()
        .filter(|element| element.act == ElementAct::Work)
        .map(|element| (element.begin, element.demands.processor_ns))
        .collect();
    // 10 before the call, 2 after it; 50 in the database and 3 after its response; then 4.
    assert_eq!(works, [(0, 10), (10, 2), (10, 50), (60, 3), (60, 4)]);
}

#[test]
fn the_division_of_bytes_into_packets_does_not_matter() {
    let fragments = web_and_database();
    let question = [packet(1, 2, false, (0, 100), true), packet(0, 0, false, (0, 100), false)];
    let in_one = [packet(0, 2, true, (0, 300), true), packet(1, 4, true, (0, 300), false)];
    let in_three = [
        packet(0, 1, true, (0, 50), true),
        packet(0, 2, true, (50, 300), true),
        packet(1, 3, true, (0, 299), false),
        packet(1, 4, true, (299, 300), false),
    ];
    let form = |answer: &[FragmentPacket]| {
        let whole = stitch_fragments(&fragments, &[&question, answer].concat());
        canonicalize_joined(&whole[0], role_by_kind)
    };
    assert_eq!(form(&in_one), form(&in_three));
}

#[test]
fn fragments_without_a_common_message_stay_alone() {
    let fragments = web_and_database();
    let strange = [
        packet(1, 2, false, (0, 100), true),
        packet(0, 0, false, (100, 200), false),
        packet(7, 0, false, (0, 100), false),
        packet(0, 99, false, (0, 100), false),
    ];
    let whole = stitch_fragments(&fragments, &strange);
    assert_eq!(whole, fragments);
}

#[test]
fn a_reused_connection_joins_each_pair() {
    let [database, web] = web_and_database();
    let fragments = [web.clone(), database.clone(), web, database];
    let pair = |web: u32, from: i64| {
        [
            packet(web, 2, false, (from, from + 100), true),
            packet(web + 1, 0, false, (from, from + 100), false),
            packet(web + 1, 2, true, (from, from + 9), true),
            packet(web, 4, true, (from, from + 9), false),
        ]
    };
    let whole = stitch_fragments(&fragments, &[pair(0, 0), pair(2, 100)].concat());
    assert_eq!(whole.len(), 2);
    assert!(whole.iter().all(|of| of.events.len() == 10 && of.syncs.len() == 2));
}
