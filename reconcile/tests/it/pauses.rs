//! Pauses within messages and between them, learned for each connection.

use crate::common::{System, accept, connect, log};

const CLIENT: &str = "10.0.0.1:40000";
const SERVER: &str = "10.0.0.2:80";

/// Two peers that send requests to each other over one connection, each on behalf of clients of its
/// own; an answer is sent in `parts` pieces, `stall` nanoseconds apart.
fn peers(parts: u64, stall: u64) -> Vec<String> {
    const MS: u64 = 1_000_000;
    let system = System::new();
    let mut peers = [log(10, "one"), log(20, "other")];
    connect(&mut peers[0], 100, 1, 11, CLIENT, SERVER);
    accept(&mut peers[1], 200, 1, 12, SERVER, CLIENT);
    for (number, peer) in (0..).zip(&mut peers) {
        let [front, client] = [80, 50_000].map(|port| format!("10.0.{number}.1:{port}"));
        accept(peer, 300, 2, 21 + number, &front, &client);
    }
    let (mut at, mut state) = (MS, 7_u64);
    for _ in 0..60 {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        at += 30 * MS + (state >> 40) % 50 * MS;
        let asks = usize::from(state >> 33 & 1 == 1);
        let mut send = |from: usize, ticks: u64, bytes: u64| {
            peers[from].send(ticks, 1, bytes);
            peers[1 - from].receive(ticks + 100_000, 1, bytes);
        };
        send(asks, at + MS, 27);
        for part in 0..parts {
            send(1 - asks, at + 3 * MS + part * stall, 47);
        }
        let done = at + 4 * MS + parts * stall;
        peers[asks].receive(at, 2, 2).send(done, 2, 2);
        at = done;
    }
    let [one, other] = &peers;
    let outcome = system.add("one", "a", one).add("one", "b", other).reconcile();
    outcome.lines().into_iter().filter(|line| !line.contains("10.0.")).collect()
}

#[test]
fn an_answer_is_separate_from_the_next_request_of_its_sender() {
    let lines = peers(1, 0);
    assert_eq!(lines.len(), 120, "{lines:#?}");
    assert!(lines.iter().all(|line| !line.contains('/')), "{lines:#?}");
    // Answers in three pieces with stalls between them are still one message each.
    let lines = peers(3, 8_000_000);
    assert_eq!(lines.len(), 120, "{lines:#?}");
    assert_eq!(lines.iter().filter(|line| line.contains(" 141/3 ")).count(), 60);
}

#[test]
fn a_slowly_produced_body_is_one_message() {
    let system = System::new();
    let mut client = log(10, "client");
    connect(&mut client, 100, 1, 11, CLIENT, SERVER);
    let mut server = log(20, "server");
    accept(&mut server, 200, 1, 12, SERVER, CLIENT);
    let mut at = 1_000_000;
    for _ in 0..3 {
        client.send(at, 1, 80);
        server.receive(at + 1_000, 1, 80);
        for stall in [40, 150, 90, 300] {
            at += stall * 1_000_000;
            server.send(at, 1, 16_384);
            client.receive(at + 1_000, 1, 16_384);
        }
        at += 500_000_000;
    }
    let outcome = system.add("one", "a", &client).add("one", "b", &server).reconcile();
    let lines = outcome.lines();
    assert_eq!(lines.len(), 6, "{lines:#?}");
    assert_eq!(lines.iter().filter(|line| line.contains("65536/4")).count(), 3, "{lines:#?}");
}
