//! Hosts with known clocks, and messages between them, as ground truth for the estimate.

mod hints;
mod lines;
mod presumed;
mod random;
mod steps;
mod timeouts;

use super::{ClockModel, ClockSamples, HostClock, HostFacts, estimate_clocks};

const SECOND: i64 = 1_000_000_000;
/// When the messages begin, in nanoseconds since the Unix epoch.
const BEGIN: i64 = 1_700_000_000 * SECOND;

/// A clock: ahead by `offset` at [`BEGIN`], faster by `skew` ppm, and set at some times (since
/// `BEGIN`) by some nanoseconds.
#[derive(Clone, Debug, Default)]
struct TrueClock {
    offset: i64,
    skew: f64,
    steps: Vec<(i64, i64)>,
}

impl TrueClock {
    fn new(offset: i64, skew: f64) -> TrueClock {
        TrueClock { offset, skew, steps: Vec::new() }
    }

    fn shown_time(&self, at: i64) -> i64 {
        let steps: i64 = self.steps.iter().filter(|(when, _)| *when <= at).map(|(_, by)| by).sum();
        BEGIN + at + self.offset + (at as f64 * self.skew / 1e6).round() as i64 + steps
    }
}

/// Pseudo-random numbers that are the same each time.
struct RandomSource(u64);

impl RandomSource {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) as f64 / u64::MAX as f64
    }

    fn next_below(&mut self, most: i64) -> i64 {
        (self.next() * most as f64) as i64
    }
}

/// Messages between two hosts.
#[derive(Clone, Debug)]
struct HostTraffic {
    hosts: [usize; 2],
    /// The least delay there and back, in nanoseconds.
    least: [i64; 2],
    /// Number of messages there and back.
    messages: [usize; 2],
    /// Time span, in nanoseconds since [`BEGIN`].
    between: [i64; 2],
}

impl HostTraffic {
    /// A minute on a LAN.
    fn lan_minute(a: usize, b: usize) -> HostTraffic {
        HostTraffic {
            hosts: [a, b],
            least: [40_000; 2],
            messages: [600; 2],
            between: [0, 60 * SECOND],
        }
    }
}

/// A message: from, to, and the true times of sending and receiving.
type TrueMessage = (usize, usize, i64, i64);

fn random_messages(traffic: &[HostTraffic], seed: u64) -> Vec<TrueMessage> {
    let mut random = RandomSource(seed);
    let mut messages = Vec::new();
    for HostTraffic { hosts, least, messages: count, between } in traffic {
        for direction in 0..2 {
            for _ in 0..count[direction] {
                let sent = between[0] + random.next_below(between[1] - between[0]);
                // Mostly a little more than the least; sometimes there is a queue, or the receiver
                // is late.
                let more = match random.next_below(10) {
                    0 => random.next_below(50_000_000),
                    1..4 => random.next_below(1_000_000),
                    _ => random.next_below(least[direction]),
                };
                let (from, to) = (hosts[direction], hosts[1 - direction]);
                messages.push((from, to, sent, sent + least[direction] + more));
            }
        }
    }
    messages
}

fn host_facts(count: usize) -> Vec<HostFacts> {
    let facts = |host| HostFacts { name: format!("h{host}"), first: BEGIN, ..HostFacts::default() };
    (0..count).map(facts).collect()
}

fn collect_samples(clocks: &[TrueClock], messages: &[TrueMessage]) -> ClockSamples {
    let mut samples = ClockSamples::new(clocks.len());
    for (from, to, sent, received) in messages {
        samples.add_message(
            *from as u32,
            *to as u32,
            clocks[*from].shown_time(*sent),
            clocks[*to].shown_time(*received),
        );
    }
    samples
}

fn solve_samples(clocks: &[TrueClock], messages: &[TrueMessage]) -> ClockModel {
    estimate_clocks(&host_facts(clocks.len()), &collect_samples(clocks, messages), Some(0))
}

/// Returns the error of the estimate for a host at a true time: the estimated time of the
/// reference, minus its true time.
fn estimate_error(clocks: &[TrueClock], host: &HostClock, number: usize, at: i64) -> i64 {
    host.common_time(clocks[number].shown_time(at)) - clocks[0].shown_time(at)
}

/// Returns the greatest error of a host over some true times.
fn worst_error(
    clocks: &[TrueClock],
    estimated: &ClockModel,
    number: usize,
    between: [i64; 2],
) -> i64 {
    let at = |part: i64| between[0] + (between[1] - between[0]) / 50 * part;
    (0..=50)
        .map(|part| estimate_error(clocks, &estimated.hosts[number], number, at(part)).abs())
        .max()
        .unwrap()
}

/// Returns by how much messages arrive before they were sent, beyond the stated uncertainties.
fn too_early(clocks: &[TrueClock], estimated: &ClockModel, messages: &[TrueMessage]) -> i64 {
    let of_one = |(from, to, sent, received): &TrueMessage| {
        let at = |host: usize, time| estimated.common_time(host, clocks[host].shown_time(time));
        let stated = |host: usize| estimated.hosts[host].uncertainty_ns.unwrap_or(0);
        at(*from, *sent) - at(*to, *received) - stated(*from) - stated(*to)
    };
    messages.iter().map(of_one).max().unwrap()
}
