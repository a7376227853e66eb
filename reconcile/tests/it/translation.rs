//! Pairs across address translation: single handmade cases, and hundreds of synthetic systems with
//! a known ground truth.

use std::net::SocketAddr;

use out_of_core::MemoryPool;
use reconcile::translation::{
    self, FlowDirectionSummary, FlowTurn, HalfFlow, HalfFlowPair, HalfFlowSide, KnownOffset,
    PrefixChecksum,
};

use crate::translated::{
    BOUNDS, Judgement, Kind, MIN_CONFIDENCE, Random, SystemParameters, system,
};

const MS: i64 = 1_000_000;

fn name(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

/// One exchange of `request` bytes for `response` bytes in the view of one end: it began at `at` ms
/// and took `took` ms there.
fn half(
    side: HalfFlowSide,
    host: u32,
    names: [&str; 2],
    at: i64,
    took: i64,
    request: u64,
    response: u64,
) -> HalfFlow {
    let connects = side == HalfFlowSide::Connecting;
    let (begin, end) = (at * MS, (at + took) * MS);
    let turn = |sent, bytes, first| FlowTurn { sent, bytes, first };
    let way =
        |bytes, time| FlowDirectionSummary { bytes, first: time, last: time, fingerprint: None };
    let (sent, received) = if connects {
        (way(request, begin), way(response, end))
    } else {
        (way(response, end), way(request, begin))
    };
    HalfFlow {
        side,
        local: name(names[0]),
        peer: name(names[1]),
        host,
        machine: host,
        process: host,
        made: begin,
        sent,
        received,
        turns: vec![turn(connects, request, begin), turn(!connects, response, end)],
        all_turns: true,
        whole: true,
    }
}

fn pairs(halves: &[HalfFlow], known: &[KnownOffset], least: f64) -> Vec<HalfFlowPair> {
    translation::find_pairs(halves, known, least, &MemoryPool::default()).unwrap()
}

fn ends(pairs: &[HalfFlowPair]) -> Vec<(u32, u32)> {
    pairs.iter().map(|pair| (pair.connecting, pair.accepting)).collect()
}

/// `count` exchanges of a client on host 0, at irregular times, through a name that leads to host
/// 1, which has a clock that is an hour ahead. `port` is the port that the server sees. Even
/// indices connect, odd ones accept.
fn translated(
    count: u64,
    sizes: impl Fn(u64) -> (u64, u64),
    port: impl Fn(u16) -> u16,
) -> Vec<HalfFlow> {
    let mut random = Random::new(7);
    let mut at = 1_000;
    let mut halves = Vec::new();
    for number in 0..count {
        at += 20 + random.below(300) as i64;
        let (request, response) = sizes(number);
        let mine = 40_000 + number as u16;
        let (client, seen) = (format!("10.0.0.1:{mine}"), format!("10.8.8.8:{}", port(mine)));
        halves.push(half(
            HalfFlowSide::Connecting,
            0,
            [&client, "10.9.9.9:80"],
            at,
            9,
            request,
            response,
        ));
        let real = if number % 2 == 0 { "10.1.0.1:8080" } else { "10.1.0.1:8081" };
        halves.push(half(
            HalfFlowSide::Accepting,
            1,
            [real, &seen],
            at + 3_600_000 + 2,
            5,
            request,
            response,
        ));
    }
    halves
}

fn all_of(count: u64) -> Vec<(u32, u32)> {
    (0..count as u32).map(|pair| (2 * pair, 2 * pair + 1)).collect()
}

#[test]
fn one_flow_with_a_preserved_client_name_is_enough() {
    let halves = [
        half(HalfFlowSide::Connecting, 0, ["10.0.0.1:40000", "10.9.9.9:80"], 100, 9, 300, 5_000),
        half(
            HalfFlowSide::Accepting,
            1,
            ["10.1.0.1:8080", "10.0.0.1:40000"],
            77_000,
            5,
            300,
            5_000,
        ),
    ];
    let found = pairs(&halves, &[], MIN_CONFIDENCE);
    assert_eq!(ends(&found), [(0, 1)]);
    assert_eq!(
        found[0].evidence.to_string(),
        "equal bytes, 2 equal turns, the client's port, the client's address"
    );
}

#[test]
fn one_flow_with_nothing_preserved_is_not_enough() {
    // A ping of the same size somewhere else is expected.
    let halves = [
        half(HalfFlowSide::Connecting, 0, ["10.0.0.1:40000", "10.9.9.9:80"], 100, 9, 14, 7),
        half(HalfFlowSide::Accepting, 1, ["10.1.0.1:8080", "10.8.8.8:51000"], 77_000, 5, 14, 7),
    ];
    assert_eq!(pairs(&halves, &[], MIN_CONFIDENCE), []);
}

#[test]
fn impossible_pairs_are_rejected_despite_evidence() {
    let sound = [
        half(HalfFlowSide::Connecting, 0, ["10.0.0.1:40000", "10.9.9.9:80"], 100, 9, 300, 5_000),
        half(
            HalfFlowSide::Accepting,
            1,
            ["10.1.0.1:8080", "10.0.0.1:40000"],
            77_000,
            5,
            300,
            5_000,
        ),
    ];
    let refused = |change: fn(&mut [HalfFlow; 2])| {
        let mut halves = sound.clone();
        change(&mut halves);
        assert_eq!(pairs(&halves, &[], 0.01), []);
    };
    // More arrived than was sent.
    refused(|halves| halves[1].received.bytes += 1);
    // The answer was sent before the request arrived.
    refused(|halves| {
        halves[1].sent.first += 30 * MS;
        halves[1].sent.last += 30 * MS;
        halves[1].turns[1].first += 30 * MS;
    });
    // The first bytes of the request differ between the two ends.
    refused(|halves| {
        halves[0].sent.fingerprint = Some(PrefixChecksum { bytes: 64, crc: 1 });
        halves[1].received.fingerprint = Some(PrefixChecksum { bytes: 64, crc: 2 });
    });
    // Each has its peer on its own machine.
    refused(|halves| {
        halves[0].peer = name("127.0.0.1:80");
        halves[1].peer = name("127.0.0.1:40000");
    });
    // The known difference of the clocks contradicts.
    let known = KnownOffset {
        from: 1,
        to: 0,
        at: 0,
        nanoseconds: -70_000 * MS,
        skew_ppm: 0.0,
        uncertainty: 1_000 * MS,
    };
    assert_eq!(pairs(&sound, &[known], 0.01), []);
    let known = KnownOffset { nanoseconds: -76_900 * MS, ..known };
    assert_eq!(ends(&pairs(&sound, &[known], MIN_CONFIDENCE)), [(0, 1)]);
}

#[test]
fn times_distinguish_equal_flows_without_known_clocks() {
    let found = pairs(&translated(40, |_| (200, 900), |port| port ^ 0x155), &[], MIN_CONFIDENCE);
    assert_eq!(ends(&found), all_of(40));
    assert!(
        found[0].evidence.to_string().contains("times that agree with 40 pairs"),
        "{}",
        found[0].evidence
    );
}

#[test]
fn sizes_alone_can_distinguish_flows() {
    let found = pairs(
        &translated(40, |number| (200, 900 + 37 * number), |port| port ^ 0x155),
        &[],
        MIN_CONFIDENCE,
    );
    assert_eq!(ends(&found), all_of(40));
}

#[test]
fn periodic_checks_of_others_are_not_paired() {
    // Two independent monitors, each once a second, with the same bytes.
    let mut halves = Vec::new();
    for number in 0..60 {
        let (mine, other) =
            (format!("10.0.0.1:{}", 40_000 + number), format!("10.8.8.8:{}", 50_000 + number));
        halves.push(half(
            HalfFlowSide::Connecting,
            0,
            [&mine, "10.9.9.9:80"],
            1_000 * number,
            9,
            80,
            120,
        ));
        halves.push(half(
            HalfFlowSide::Accepting,
            1,
            ["10.1.0.1:8080", &other],
            1_000 * number + 311,
            5,
            80,
            120,
        ));
    }
    assert_eq!(pairs(&halves, &[], MIN_CONFIDENCE), []);
}

#[test]
fn flows_to_untraced_peers_stay_alone() {
    // Among forty flows through the translation, as many of the same kind to another peer, on the
    // same hosts.
    let mut halves = translated(40, |_| (200, 900), |port| port);
    let mut random = Random::new(11);
    for number in 0..40 {
        let (mine, other) =
            (format!("10.0.0.1:{}", 50_000 + number), format!("10.8.8.7:{}", 33_000 + 2 * number));
        let (one, two) =
            (1_000 + random.below(7_000) as i64, 3_601_000 + random.below(7_000) as i64);
        halves.push(half(HalfFlowSide::Connecting, 0, [&mine, "10.9.9.1:80"], one, 9, 200, 900));
        halves.push(half(HalfFlowSide::Accepting, 1, ["10.1.0.1:8080", &other], two, 5, 200, 900));
    }
    assert_eq!(ends(&pairs(&halves, &[], MIN_CONFIDENCE)), all_of(40));
}

#[test]
fn each_end_is_in_one_pair_at_most_and_equal_input_gives_equal_pairs() {
    for seed in 0..12 {
        let system =
            system(SystemParameters { seed, fingerprints: false, connections: 40, clients: 5 });
        let found = pairs(&system.halves, &[], 0.0);
        let mut seen: Vec<u32> =
            found.iter().flat_map(|pair| [pair.connecting, pair.accepting]).collect();
        seen.sort_unstable();
        assert!(seen.windows(2).all(|two| two[0] != two[1]), "seed {seed}");
        assert_eq!(pairs(&system.halves, &[], 0.0), found);
    }
}

/// Three in four systems of `systems` are behind translation, one is not; see `translated` for
/// their content.
fn judged(systems: std::ops::Range<u64>, fingerprints: bool) -> Judgement {
    let mut all = Judgement::default();
    for seed in systems {
        let system = system(SystemParameters { seed, fingerprints, connections: 120, clients: 6 });
        all.judge(&system, &pairs(&system.halves, &[], 0.0));
    }
    all
}

/// Pairs with some confidence are correct at least as often, and accepted pairs are correct in 99
/// of 100 cases.
#[test]
fn confidence_is_calibrated_and_most_pairs_are_found() {
    for fingerprints in [false, true] {
        let all = judged(0..150, fingerprints);
        assert!(all.precision(MIN_CONFIDENCE) > 0.995, "{all}");
        for (bound, [count, right, _]) in BOUNDS.iter().zip(all.buckets) {
            if count >= 60 {
                assert!(
                    right as f64 / count as f64 >= bound - 0.02,
                    "fingerprints {fingerprints}\n{all}"
                );
            }
        }
        let least = [
            (Kind::Destination, 0.98),
            (Kind::Source, 0.97),
            (Kind::Both, 0.96),
            (Kind::Proxy, if fingerprints { 0.88 } else { 0.8 }),
        ];
        for (kind, least) in least {
            assert!(all.recall(kind) >= least, "{kind:?}, fingerprints {fingerprints}\n{all}");
        }
    }
}
