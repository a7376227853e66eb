//! Calls and deliveries that share rare words with their requests, compared with the result without
//! words.

use message_trace::{FROM_CONNECTING, MessageId, MessageTrace};

use super::AutoAlgorithm;
use crate::fixture::Fixture;
use crate::infer::{Inference, InferenceInput};
use crate::links::Links;
use crate::naming::Naming;
use crate::options::Options;

/// Number of requests of the event loop.
const REQUESTS: i64 = 160;

/// Words of the request with that number, in a message of it.
type WordsOf<'a> = &'a dyn Fn(i64) -> Vec<u32>;

/// Groups of requests that an event loop receives together. It makes the calls over a pool of
/// connections in an order that times do not show, and the answers come in another order.
fn event_loop(together: i64, of_request: WordsOf<'_>, of_call: WordsOf<'_>) -> MessageTrace {
    let mut trace = Fixture::new();
    for group in 0..REQUESTS / together {
        let time = 10_000_000 * group;
        for of in 0..together {
            let request = together * group + of;
            let place = |salt: i64| (of + mixed(group, salt)) % together;
            let asked = time + 400_000 + 10_000 * place(1);
            let answered = time + 900_000 + 10_000 * place(2);
            let (client, server) = ((5000 + of as u16, 80), (7000 + place(3) as u16, 5432));
            let words = [of_request(request), of_call(request)];
            let [flow, to_db] = [of, 100 + place(3)];
            let mut send =
                |from, to, at: i64, ports: (u16, u16), flow, words: &[u32], back: bool| {
                    let sent = trace.send(from, to, at, at + 10);
                    sent.ports(ports.0, ports.1).on(flow).threads(1, 1).words(words);
                    if back {
                        sent.accepting();
                    }
                };
            send("x", "web", time + of, client, flow, &words[0], false);
            send("web", "db", asked, server, to_db, &words[1], false);
            send("db", "web", asked + 200_000, flipped(server), to_db, &[], true);
            send("web", "x", answered, flipped(client), flow, &[], true);
        }
    }
    trace.trace()
}

fn flipped((one, other): (u16, u16)) -> (u16, u16) {
    (other, one)
}

/// A number that looks random.
fn mixed(one: i64, other: i64) -> i64 {
    (message_trace::mix_bits((one as u64) << 20 | other as u64) >> 40) as i64
}

fn links(trace: &MessageTrace) -> Links {
    let options = Options::default();
    let naming = Naming::new(trace, &options);
    AutoAlgorithm::default()
        .infer_links(&InferenceInput::without_progress(trace, &naming, &options))
}

/// Number of calls of `web` with a surely known cause that is the right one, of those with a wrong
/// one, and of all.
fn sure_calls(trace: &MessageTrace, words: WordsOf<'_>, links: &Links) -> [usize; 3] {
    // The times of the requests show the order in which they were sent.
    let requests: Vec<MessageId> = rows(trace, "x");
    let mut counts = [0; 3];
    for row in rows(trace, "web") {
        let is_request = trace.direction(row) == FROM_CONNECTING;
        let Some(own) = trace.words(row, message_trace::MessageEnd::Sent).first() else { continue };
        if !is_request {
            continue;
        }
        counts[2] += 1;
        if let Some((parent, _)) = links.parents_here(row).find(|(_, share)| *share > 0.9) {
            let request = requests.iter().position(|of| *of == parent);
            let is_right = request.is_some_and(|request| words(request as i64).contains(&own.0));
            counts[usize::from(!is_right)] += 1;
        }
    }
    counts
}

/// The rows of the messages that the node sent, in order.
fn rows(trace: &MessageTrace, sender: &str) -> Vec<MessageId> {
    let is_from = |row: &MessageId| {
        trace.nodes.get(trace.message(*row).src).is_some_and(|node| node.command == sender)
    };
    trace.ids().filter(is_from).collect()
}

fn unique(request: i64) -> Vec<u32> {
    vec![1_000_000 + request as u32]
}

#[test]
fn a_word_of_one_request_decides_the_calls_of_an_event_loop() {
    for together in [2, 8, 32] {
        let trace = event_loop(together, &unique, &unique);
        assert_eq!(sure_calls(&trace, &unique, &links(&trace)), [160, 0, 160], "{together}");
        let silent = event_loop(together, &|_| Vec::new(), &|_| Vec::new());
        let by_times = sure_calls_by_order(&trace, &links(&silent));
        assert!(by_times < 130, "times alone do not show it: {by_times}");
    }
}

/// Number of calls with a surely known right cause in the `links` of the same messages without
/// words.
fn sure_calls_by_order(trace: &MessageTrace, links: &Links) -> usize {
    let [right, _, _] = sure_calls(trace, &unique, links);
    right
}

#[test]
fn constants_say_nothing() {
    let constant = |_| vec![7, 8];
    let trace = event_loop(8, &constant, &constant);
    let silent = event_loop(8, &|_| Vec::new(), &|_| Vec::new());
    assert_eq!(links(&trace), links(&silent));
    // They do not hide a word that says something.
    let both = |request| [unique(request), vec![7, 8]].concat();
    let trace = event_loop(8, &both, &both);
    let [right, wrong, _] = sure_calls(&trace, &both, &links(&trace));
    // The first word of a call is the constant, which any request has; the causes are compared.
    assert_eq!((right + wrong, wrong), (160, 0));
    let exact = links(&event_loop(8, &unique, &unique));
    let with_constants = links(&trace);
    for row in rows(&trace, "web") {
        let likeliest = |links: &Links| links.parents_here(row).next().map(|(parent, _)| parent);
        assert_eq!(likeliest(&with_constants), likeliest(&exact));
    }
}

#[test]
fn random_words_change_nothing() {
    let silent = links(&event_loop(8, &|_| Vec::new(), &|_| Vec::new()));
    // Few different words match by chance; of many hardly any match.
    for (seed, words) in (0..2).flat_map(|seed| [3, 30, 300].map(|words| (seed, words))) {
        let random = |salt: i64| move |request: i64| vec![mixed(request, salt) as u32 % words];
        let trace = event_loop(8, &random(2 * seed), &random(2 * seed + 1));
        assert_eq!(links(&trace), silent, "{seed} {words}");
    }
}

#[test]
fn a_word_of_two_open_requests_says_that_it_is_one_of_them() {
    let pair = |request: i64| vec![1_000_000 + request as u32 / 2];
    let trace = event_loop(8, &pair, &pair);
    let links = links(&trace);
    let requests = rows(&trace, "x");
    for row in rows(&trace, "web") {
        if trace.direction(row) != FROM_CONNECTING {
            continue;
        }
        let own = trace.words(row, message_trace::MessageEnd::Sent)[0].0;
        let of_pair: f64 = links
            .parents_here(row)
            .filter(|(parent, _)| {
                let request = requests.iter().position(|of| *of == *parent).unwrap();
                pair(request as i64)[0] == own
            })
            .map(|(_, share)| share)
            .sum();
        assert!(of_pair > 0.7, "{of_pair}");
    }
}

#[test]
fn request_and_reply_through_a_broker_are_one_path() {
    let mut trace = Fixture::new();
    for (node, flow, port) in [("worker", 3, 5002), ("front", 2, 5001)] {
        trace.send(node, "broker", 0, 10).ports(port, 81).on(flow).threads(1, 1);
    }
    for request in 1..=150_i64 {
        let word = [9_000 + request as u32];
        let mut at = 5_000_000 * request;
        let mut send = |from, to, flow: i64, ports: (u16, u16), back: bool| {
            at += 100_000 + mixed(request, at) % 200_000;
            let sent = trace.send(from, to, at, at + 50_000);
            sent.ports(ports.0, ports.1).on(flow).threads(1, 1).words(&word);
            if back {
                sent.accepting();
            }
        };
        send("client", "front", 1, (5000, 80), false);
        send("front", "broker", 2, (5001, 81), false);
        send("broker", "worker", 3, (81, 5002), true);
        send("worker", "leaf", 4, (5003, 82), false);
        send("leaf", "worker", 4, (82, 5003), true);
        send("worker", "broker", 3, (5002, 81), false);
        send("broker", "front", 2, (81, 5001), true);
        send("front", "client", 1, (80, 5000), true);
    }
    let trace = trace.trace();
    let links = links(&trace);
    // By the alternation of its connection the first delivery answers the subscription.
    for row in trace.ids().skip(18) {
        let expected = row.subtract_rows(1).filter(|_| row.index() % 8 != 2);
        let likeliest = links.parents_here(row).max_by(|one, other| one.1.total_cmp(&other.1));
        let likeliest = likeliest.filter(|(_, share)| *share > 0.5).map(|(parent, _)| parent);
        assert_eq!(likeliest, expected, "{row:?}");
    }
}

#[test]
fn a_coincidence_moves_no_call_away_from_the_only_open_request() {
    let mut trace = Fixture::new();
    for request in 0..200_i64 {
        let mut at = 5_000_000 * request;
        let mut send = |from, to, flow: i64, ports: (u16, u16), word: Option<i64>, back: bool| {
            at += 100_000 + mixed(request, at) % 200_000;
            let words: Vec<u32> = word.into_iter().map(|word| word as u32).collect();
            let sent = trace.send(from, to, at, at + 50_000);
            sent.ports(ports.0, ports.1).on(flow).threads(1, 1).words(&words);
            if back {
                sent.accepting();
            }
        };
        // A constant of a session is rare at its beginning, like the four words from 7,000 on.
        let own = Some(9_000 + request);
        let begins = |request: i64| (request < 4).then_some(7_000 + request);
        let is_second = i64::from(request % 2 == 1);
        let (client, database) = ((5000, 80), (7000 + is_second as u16, 5432));
        send("x", "web", 1, client, own, false);
        for (asks, answers) in [(own, None), (begins(request - 1), begins(request))] {
            send("web", "db", 2 + is_second, database, asks, false);
            send("db", "web", 2 + is_second, flipped(database), answers, true);
        }
        send("web", "x", 1, flipped(client), None, true);
    }
    let trace = trace.trace();
    let links = links(&trace);
    for row in rows(&trace, "web") {
        let likeliest = links.parents_here(row).max_by(|one, other| one.1.total_cmp(&other.1));
        assert_eq!(likeliest.map(|(parent, _)| parent), row.subtract_rows(1), "{row:?}");
    }
}
