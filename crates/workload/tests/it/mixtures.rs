//! Mixtures of the request types of Magpie's Table 1, with the noise of a real server.

use out_of_core::{NameId, NameInterner};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use rand_distr::{Distribution, Exp, StandardNormal};

use crate::threads::ThreadAction::{self, Begins, GoesOn, Signals, Works};
use crate::threads::joined_request;
use workload::canonical::{CanonicalRequest, canonicalize_joined, role_by_kind};
use workload::clusters::RequestFacts;
use workload::demands::Demands;

/// A request, and whether it was disturbed: it has more work than its type.
#[derive(Clone, Debug)]
pub(crate) struct MixtureRequest {
    pub(crate) canonical: CanonicalRequest,
    pub(crate) facts: RequestFacts,
    pub(crate) is_disturbed: bool,
}

/// Kinds of the events with which threads continue.
const WORKER: u32 = 11;
const HELPER: u32 = 12;
const BACK: u32 = 13;
const CACHE: u32 = 14;

const MS: f64 = 1e6;

/// Names with the kinds above as numbers, and types `A` to `F`.
pub(crate) fn names() -> NameInterner {
    let mut names = NameInterner::default();
    let kinds = ["recv", "switch", "signal", "A", "B", "C", "D", "E", "F", "accept"];
    for name in kinds.into_iter().chain(["worker", "helper", "back", "cache"]) {
        names.intern(name);
    }
    names
}

/// The number of the name of a type.
fn label(kind: char) -> u32 {
    4 + (kind as u32 - 'A' as u32)
}

/// `count` requests of random types, for one or five concurrent clients.
///
/// Work differs by 2% with one client, by 4% with five; overhead around it by 20%. One request in
/// fifty meets an interrupt of about half a millisecond. With five clients, requests are preempted,
/// and one in 60 has an additional hand-over. One in 400 meets a driver that waits busily for 100
/// ms: it is disturbed. A request is also disturbed by an interrupt of more than a fifth of its
/// work, or by an interrupt in addition to that hand-over.
pub(crate) fn mixture(types: &str, clients: u32, count: u64, seed: u64) -> Vec<MixtureRequest> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let types: Vec<char> = types.chars().collect();
    let made = (0..count).map(|number| {
        let kind = types[random.next_u32() as usize % types.len()];
        generate_request(&mut random, kind, clients, number)
    });
    made.collect()
}

fn generate_request(
    random: &mut ChaCha8Rng,
    kind: char,
    clients: u32,
    number: u64,
) -> MixtureRequest {
    let spread = if clients == 1 { 0.02 } else { 0.04 };
    let mut like = |mean: f64, spread: f64| -> f64 {
        let normal: f64 = StandardNormal.sample(random);
        mean * (normal * spread).exp()
    };
    let overhead = [like(0.12 * MS, 0.2), like(0.15 * MS, 0.2), like(0.05 * MS, 0.2)];
    let mut spin = |ms: f64| like(ms * MS, spread) as i64;
    let body: Vec<(i32, ThreadAction)> = match kind {
        'A' => vec![(2, Works(spin(30.0)))],
        'B' => vec![(2, Works(spin(15.0)))],
        'E' => vec![
            (2, Signals(8)),
            (3, GoesOn(8, HELPER)),
            (3, Works(spin(15.0))),
            (3, Signals(9)),
            (2, Works(spin(15.0))),
            (2, GoesOn(9, BACK)),
        ],
        'F' => vec![
            (2, Works(spin(7.5))),
            (2, Signals(8)),
            (3, GoesOn(8, HELPER)),
            (3, Works(spin(15.0))),
            (3, Signals(9)),
            (2, GoesOn(9, BACK)),
            (2, Works(spin(7.25))),
        ],
        _ => vec![(2, Works(like(0.1 * MS, 0.2) as i64))],
    };
    let chance = |random: &mut ChaCha8Rng, of: u32| random.next_u32().is_multiple_of(of);
    let mut steps: Vec<(i32, ThreadAction)> = vec![
        (1, Begins),
        (1, Works(overhead[0] as i64)),
        (1, Signals(1)),
        (2, GoesOn(1, WORKER)),
        (2, Works(overhead[1] as i64)),
    ];
    steps.extend(body);
    steps.push((2, Works(overhead[2] as i64)));
    let mut used: i64 = 0;
    steps.iter().for_each(|(_, does)| used += if let Works(ns) = does { *ns } else { 0 });
    let mut extra = 0.0;
    if chance(random, 50) {
        extra += Exp::new(2.0 / MS).map_or(0.0, |exp| exp.sample(random));
    }
    let meets_driver = clients > 0 && chance(random, 400);
    if meets_driver {
        extra += 100.0 * MS;
    }
    steps.push((2, Works(extra as i64)));
    let hands_over = clients > 1 && chance(random, 60);
    if hands_over {
        let hand_over = [(2, Signals(20)), (4, GoesOn(20, CACHE)), (4, Works(8_000))];
        steps.splice(4..4, hand_over);
    }
    let steps = if clients > 1 { add_preemptions(random, &steps) } else { steps };
    let steps: Vec<(i32, i32, ThreadAction)> = steps
        .into_iter()
        .map(|(thread, does)| (100 * number as i32 + thread, random.next_u32() as i32 % 2, does))
        .collect();
    let mut request = joined_request(&steps);
    let network = match kind {
        'C' => 12_288,
        'D' => 5_120,
        _ => 400,
    };
    let headers = 220 + i64::from(random.next_u32() % 8);
    if let Some(last) = request.events.iter_mut().rfind(|event| event.thread % 100 == 2) {
        last.demands.sent_bytes += network + headers;
        last.demands.received_bytes += 300 + i64::from(random.next_u32() % 16);
    }
    request.demands = Demands::default();
    request.events.iter().for_each(|event| request.demands += event.demands);
    let took = if clients > 1 { 3 } else { 1 } * (used + extra as i64);
    MixtureRequest {
        canonical: canonicalize_joined(&request, role_by_kind),
        facts: RequestFacts {
            number,
            name: NameId::from_index(label(kind) as usize),
            begin: 1_000_000 * number as i64,
            end: 1_000_000 * number as i64 + took,
            demands: request.demands,
            ..RequestFacts::default()
        },
        is_disturbed: extra > 0.2 * used as f64 || (hands_over && extra > 0.0),
    }
}

/// Splits work into slices.
fn add_preemptions(
    random: &mut ChaCha8Rng,
    steps: &[(i32, ThreadAction)],
) -> Vec<(i32, ThreadAction)> {
    let mut done = Vec::new();
    for (thread, does) in steps {
        let Works(mut used) = *does else {
            done.push((*thread, *does));
            continue;
        };
        while used > 4_000_000 {
            let slice = 1_000_000 + i64::from(random.next_u32()) % 3_000_000;
            done.push((*thread, Works(slice)));
            used -= slice;
        }
        done.push((*thread, Works(used)));
    }
    done
}
