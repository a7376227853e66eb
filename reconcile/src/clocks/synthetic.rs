//! Hosts with clocks that are known, and messages between them, to hold the estimate against.

use proptest::prelude::*;

use super::{Clocks, HostClock, HostFacts, Samples, Source, estimate};

const SECOND: i64 = 1_000_000_000;
/// When the messages begin, in nanoseconds since the Unix epoch.
const BEGIN: i64 = 1_700_000_000 * SECOND;

/// A clock: ahead by `offset` at [`BEGIN`], faster by `skew` ppm, and set at some times (since `BEGIN`) by some nanoseconds.
#[derive(Clone, Debug, Default)]
struct True {
    offset: i64,
    skew: f64,
    steps: Vec<(i64, i64)>,
}

impl True {
    fn new(offset: i64, skew: f64) -> True {
        True { offset, skew, steps: Vec::new() }
    }

    fn shows(&self, at: i64) -> i64 {
        let steps: i64 = self.steps.iter().filter(|(when, _)| *when <= at).map(|(_, by)| by).sum();
        BEGIN + at + self.offset + (at as f64 * self.skew / 1e6).round() as i64 + steps
    }
}

/// Numbers that look random and are the same each time.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) as f64 / u64::MAX as f64
    }

    fn below(&mut self, most: i64) -> i64 {
        (self.next() * most as f64) as i64
    }
}

/// Messages between two hosts.
#[derive(Clone, Debug)]
struct Traffic {
    hosts: [usize; 2],
    /// The least delay there and back, in nanoseconds.
    least: [i64; 2],
    /// How many, there and back.
    messages: [usize; 2],
    /// From when to when, in nanoseconds since [`BEGIN`].
    between: [i64; 2],
}

impl Traffic {
    /// A minute on a LAN.
    fn lan(a: usize, b: usize) -> Traffic {
        Traffic { hosts: [a, b], least: [40_000; 2], messages: [600; 2], between: [0, 60 * SECOND] }
    }
}

/// A message: from, to, and the true times of sending and receiving.
type Message = (usize, usize, i64, i64);

fn messages(traffic: &[Traffic], seed: u64) -> Vec<Message> {
    let mut random = Random(seed);
    let mut messages = Vec::new();
    for Traffic { hosts, least, messages: count, between } in traffic {
        for direction in 0..2 {
            for _ in 0..count[direction] {
                let sent = between[0] + random.below(between[1] - between[0]);
                // Mostly a little more than the least; sometimes there is a queue, or the receiver is late.
                let more = match random.below(10) {
                    0 => random.below(50_000_000),
                    1..4 => random.below(1_000_000),
                    _ => random.below(least[direction]),
                };
                let (from, to) = (hosts[direction], hosts[1 - direction]);
                messages.push((from, to, sent, sent + least[direction] + more));
            }
        }
    }
    messages
}

fn facts(count: usize) -> Vec<HostFacts> {
    let facts = |host| HostFacts { name: format!("h{host}"), first: BEGIN, ..HostFacts::default() };
    (0..count).map(facts).collect()
}

fn samples(clocks: &[True], messages: &[Message]) -> Samples {
    let mut samples = Samples::new(clocks.len());
    for (from, to, sent, received) in messages {
        samples.add(*from as u32, *to as u32, clocks[*from].shows(*sent), clocks[*to].shows(*received));
    }
    samples
}

fn solve(clocks: &[True], messages: &[Message]) -> Clocks {
    estimate(&facts(clocks.len()), &samples(clocks, messages), Some(0))
}

/// How far the estimate is off for a host at a true time: what it takes the reference to have shown, minus what that showed.
fn error(clocks: &[True], host: &HostClock, number: usize, at: i64) -> i64 {
    host.common(clocks[number].shows(at)) - clocks[0].shows(at)
}

/// The greatest error of a host over some true times.
fn worst(clocks: &[True], estimated: &Clocks, number: usize, between: [i64; 2]) -> i64 {
    let at = |part: i64| between[0] + (between[1] - between[0]) / 50 * part;
    (0..=50).map(|part| error(clocks, &estimated.hosts[number], number, at(part)).abs()).max().unwrap()
}

/// By how much messages arrive before they were sent, beyond what is stated.
fn too_early(clocks: &[True], estimated: &Clocks, messages: &[Message]) -> i64 {
    let of_one = |(from, to, sent, received): &Message| {
        let at = |host: usize, time| estimated.common(host, clocks[host].shows(time));
        let stated = |host: usize| estimated.hosts[host].uncertainty_ns.unwrap_or(0);
        at(*from, *sent) - at(*to, *received) - stated(*from) - stated(*to)
    };
    messages.iter().map(of_one).max().unwrap()
}

#[test]
fn two_hosts_on_a_lan() {
    let clocks = [True::new(0, 0.0), True::new(3 * 3_600 * SECOND + 123_456_789, 150.0)];
    let messages = messages(&[Traffic::lan(0, 1)], 1);
    let estimated = solve(&clocks, &messages);
    let host = &estimated.hosts[1];
    assert!((host.skew_ppm - 150.0).abs() < 1.0, "{host:?}");
    assert!(worst(&clocks, &estimated, 1, [0, 60 * SECOND]) < 15_000, "{host:?}");
    let uncertainty = host.uncertainty_ns.unwrap();
    assert!((30_000..80_000).contains(&uncertainty), "{host:?}");
    assert!(host.skew_uncertainty_ppm.unwrap() < 3.0, "{host:?}");
    assert!(too_early(&clocks, &estimated, &messages) <= 1);
    assert_eq!((host.source, host.against.as_str(), host.steps.len()), (Source::Messages, "h0", 0));
    assert_eq!(estimated.hosts[0].source, Source::Reference);
    assert_eq!(estimated.hosts[0].common(12_345), 12_345);
}

#[test]
fn few_messages() {
    // One there and one back, 1 ms apart: the offset is known then, and drifts off by 1000 ppm at most.
    let clocks = [True::new(0, 0.0), True::new(-SECOND, 0.0)];
    let two = [(0, 1, 0, 50_000), (1, 0, 1_000_000, 1_070_000)];
    let estimated = solve(&clocks, &two);
    let host = &estimated.hosts[1];
    assert!((host.offset_ns + SECOND).abs() < 12_000, "{host:?}");
    assert!((60_000..64_000).contains(&host.uncertainty_ns.unwrap()), "{host:?}");
    // Only one: it is taken to have taken no time, and nothing bounds the other side.
    let estimated = solve(&clocks, &two[..1]);
    let host = &estimated.hosts[1];
    assert_eq!((host.offset_ns, host.skew_ppm), (-SECOND + 50_000, 0.0));
    assert_eq!((host.uncertainty_ns, host.source), (None, Source::OneWay));
    // None at all.
    let estimated = solve(&clocks, &[]);
    let host = &estimated.hosts[1];
    assert_eq!((host.offset_ns, host.uncertainty_ns, host.source), (0, None, Source::None));
    assert_eq!((host.against.as_str(), host.at), ("h1", BEGIN));
}

#[test]
fn one_way_gives_the_rate_and_one_bound() {
    let clocks = [True::new(0, 0.0), True::new(77 * SECOND, -120.0)];
    let traffic = [Traffic { messages: [2_000, 0], ..Traffic::lan(0, 1) }];
    let messages = messages(&traffic, 2);
    let estimated = solve(&clocks, &messages);
    let host = &estimated.hosts[1];
    assert_eq!((host.source, host.uncertainty_ns), (Source::OneWay, None));
    assert!((host.skew_ppm + 120.0).abs() < 1.0, "{host:?}");
    // Off by the least delay.
    let off = error(&clocks, host, 1, 30 * SECOND);
    assert!((-50_000..-35_000).contains(&off), "{off}");
    assert!(too_early(&clocks, &estimated, &messages) <= 1);
}

#[test]
fn a_ring_of_one_way_links_bounds_both_sides() {
    let clocks = [True::new(0, 0.0), True::new(SECOND, 50.0), True::new(-SECOND, -80.0)];
    let one_way = |a, b| Traffic { messages: [2_000, 0], ..Traffic::lan(a, b) };
    let messages = messages(&[one_way(0, 1), one_way(1, 2), one_way(2, 0)], 3);
    let estimated = solve(&clocks, &messages);
    for number in 1..3 {
        let host = &estimated.hosts[number];
        assert_eq!(host.source, Source::Messages);
        let off = worst(&clocks, &estimated, number, [0, 60 * SECOND]);
        assert!(off <= host.uncertainty_ns.unwrap(), "{off} {host:?}");
        // The three least delays, 120 us, and what the fastest had more.
        assert!(host.uncertainty_ns.unwrap() < 300_000, "{host:?}");
        assert!((host.skew_ppm - clocks[number].skew).abs() < 3.0, "{host:?}");
    }
    assert!(too_early(&clocks, &estimated, &messages) <= 1);
}

#[test]
fn hosts_without_a_path_are_a_group_of_their_own() {
    let clocks = [0, 1, 2, 3, 4].map(|host| True::new(host * 1_000 * SECOND, host as f64 * 10.0));
    let messages = messages(&[Traffic::lan(0, 1), Traffic::lan(2, 3)], 4);
    let estimated = solve(&clocks, &messages);
    let against = |host: usize| estimated.hosts[host].against.as_str();
    assert_eq!([0, 1, 2, 3, 4].map(against), ["h0", "h0", "h2", "h2", "h4"]);
    let host = &estimated.hosts[3];
    assert!(
        (host.offset_ns - 1_000 * SECOND).abs() < 50_000 && (host.skew_ppm - 10.0).abs() < 1.0,
        "{host:?}"
    );
    assert_eq!(estimated.hosts.iter().filter(|host| host.uncertainty_ns.is_none()).count(), 2);
    assert!(too_early(&clocks, &estimated, &messages) <= 1);
}

#[test]
fn one_machine_is_one_clock_unless_messages_contradict() {
    let clocks = [True::new(0, 0.0), True::new(0, 0.0), True::new(5_000_000, 20.0)];
    let messages = messages(&[Traffic::lan(0, 1), Traffic::lan(1, 2)], 5);
    let mut hosts = facts(3);
    hosts[0].machine = 7;
    hosts[1].machine = 7;
    let samples = samples(&clocks, &messages);
    let estimated = estimate(&hosts, &samples, None);
    // Host 1 is as well connected as 0, but they are one.
    assert_eq!(estimated.reference, "h0");
    let same = &estimated.hosts[1];
    assert_eq!((same.offset_ns, same.skew_ppm, same.uncertainty_ns), (0, 0.0, Some(0)));
    assert_eq!((same.source, same.against.as_str()), (Source::Machine, "h0"));
    assert_eq!(same.common(BEGIN + 17), BEGIN + 17);
    assert!(worst(&clocks, &estimated, 2, [0, 60 * SECOND]) < 20_000);
    // The third is no clock of that machine, whatever its logs say; then none of them is believed.
    hosts[2].machine = 7;
    let estimated = estimate(&hosts, &samples, Some(0));
    assert_eq!(estimated.hosts[1].source, Source::Messages);
    assert!(worst(&clocks, &estimated, 2, [0, 60 * SECOND]) < 20_000);
}

#[test]
fn wrongly_matched_messages_are_left_out() {
    let clocks = [True::new(0, 0.0), True::new(SECOND, -30.0)];
    let right = messages(&[Traffic::lan(0, 1)], 6);
    let mut all = right.clone();
    for second in [7, 20, 21, 44] {
        all.push((0, 1, second * SECOND, (second - 2) * SECOND));
        all.push((1, 0, second * SECOND, second * SECOND - 700_000));
    }
    let estimated = solve(&clocks, &all);
    assert!(worst(&clocks, &estimated, 1, [0, 60 * SECOND]) < 20_000, "{:?}", estimated.hosts[1]);
    assert!((4..=8).contains(&estimated.links[0].contradicting), "{:?}", estimated.links[0].contradicting);
    assert!(estimated.hosts[1].steps.is_empty());
    assert!(too_early(&clocks, &estimated, &right) <= 1);
}

/// Solves, and holds all hosts against the truth but for `around` nanoseconds around steps.
fn hold(clocks: &[True], traffic: &[Traffic], seed: u64, most: i64) -> Clocks {
    let messages = messages(traffic, seed);
    let estimated = solve(clocks, &messages);
    for (number, host) in estimated.hosts.iter().enumerate() {
        assert_eq!(host.steps.len(), clocks[number].steps.len(), "{number} {:#?}", estimated.hosts);
        for (step, (at, by)) in host.steps.iter().zip(&clocks[number].steps) {
            let at = clocks[0].shows(*at)
                - clocks[0].steps.iter().filter(|(when, _)| when <= at).map(|(_, by)| by).sum::<i64>();
            assert!((step.at - at).abs() <= step.within_ns + most, "{number} {step:?} {at}");
            assert!(step.within_ns < SECOND, "{number} {step:?}");
            assert!((step.offset_ns - by).abs() < 3 * most, "{number} {step:?} {by}");
        }
        let mut ends = vec![0];
        ends.extend(clocks[number].steps.iter().map(|(at, _)| *at));
        ends.push(60 * SECOND);
        for (piece, ends) in ends.windows(2).enumerate() {
            let between = [ends[0] + SECOND, ends[1] - SECOND];
            for part in 0..=20 {
                let at = between[0] + (between[1] - between[0]) / 20 * part;
                // What it showed twice, or nearly, is taken for the first.
                let shown = clocks[number].shows(at);
                let is_first = clocks[number].steps[..piece].iter().all(|(when, _)| {
                    shown > clocks[number].shows(*when - 1) + SECOND || shown < clocks[number].shows(0)
                });
                if !is_first {
                    continue;
                }
                let never_set = True { steps: Vec::new(), ..clocks[0].clone() };
                let off = (host.common(shown) - never_set.shows(at)).abs();
                assert!(off <= most, "{number} {at} {off} {host:#?}");
                assert!(off <= host.uncertainty_ns.unwrap(), "{number} {at} {off} {host:#?}");
            }
        }
    }
    estimated
}

#[test]
fn a_clock_that_is_set() {
    for by in [-7_200 * SECOND, -SECOND, -5_000_000, 2_000_000, SECOND, 7_200 * SECOND] {
        for at in [5, 30, 50] {
            let stepped = True { steps: vec![(at * SECOND, by)], ..True::new(40 * SECOND, 33.0) };
            hold(&[True::new(0, 0.0), stepped], &[Traffic::lan(0, 1)], 7, 40_000);
        }
    }
}

#[test]
fn the_reference_is_set() {
    // All others see it, so it is the reference whose clock was set; the common clock is as if it had not been.
    for by in [-7_200 * SECOND, -SECOND, 3_000_000, SECOND] {
        let stepped = True { steps: vec![(20 * SECOND, by)], ..True::new(0, 0.0) };
        let clocks = [stepped, True::new(SECOND, 33.0), True::new(-SECOND, -33.0), True::new(5, 100.0)];
        hold(&clocks, &[Traffic::lan(0, 1), Traffic::lan(0, 2), Traffic::lan(0, 3)], 8, 40_000);
    }
}

#[test]
fn clocks_set_several_times() {
    let steps = [
        vec![],
        vec![(10 * SECOND, SECOND), (40 * SECOND, -2_000_000)],
        vec![],
        vec![(25 * SECOND, 800_000)],
    ];
    let clocks: Vec<True> = steps
        .into_iter()
        .zip([0.0, 10.0, -150.0, 180.0])
        .map(|(steps, skew)| True { steps, ..True::new(skew as i64 * SECOND, skew) })
        .collect();
    let lan = |a, b| Traffic::lan(a, b);
    hold(&clocks, &[lan(0, 1), lan(0, 2), lan(1, 2), lan(2, 3), lan(0, 3)], 9, 40_000);
    // Along a path: the third is known by the second alone.
    hold(&clocks, &[lan(0, 1), lan(1, 2), lan(2, 3)], 10, 80_000);
}

#[test]
fn a_clock_that_is_slewed() {
    // From 20 s on it loses 500 ppm more: 15 ms until the end.
    let clocks = [True::new(0, 0.0), True::new(SECOND, 0.0)];
    let all = messages(&[Traffic::lan(0, 1)], 11);
    let mut samples = Samples::new(2);
    let shows = |at: i64| clocks[1].shows(at) - (at - 20 * SECOND).max(0) / 2_000;
    for (from, _, sent, received) in &all {
        match from {
            0 => samples.add(0, 1, BEGIN + sent, shows(*received)),
            _ => samples.add(1, 0, shows(*sent), BEGIN + received),
        }
    }
    let estimated = estimate(&facts(2), &samples, Some(0));
    let host = &estimated.hosts[1];
    assert_eq!(host.steps.len(), 1, "{host:?}");
    assert!((host.skew_ppm).abs() < 5.0 && (host.steps[0].skew_ppm + 500.0).abs() < 5.0, "{host:?}");
    assert!(
        host.steps[0].offset_ns.abs() < 100 && (host.steps[0].at - BEGIN - 20 * SECOND).abs() < SECOND,
        "{host:?}"
    );
    for at in (0..60).map(|at| at * SECOND) {
        assert!((host.common(shows(at)) - BEGIN - at).abs() < 40_000, "{at} {host:?}");
    }
}

#[test]
fn steps_that_the_logs_tell_of() {
    // Between 20 s and 40 s nothing was said; in it the clock was set twice, which messages cannot tell apart.
    let steps = vec![(25 * SECOND, 10 * SECOND), (35 * SECOND, -3 * SECOND)];
    let clocks = [True::new(0, 0.0), True { steps, ..True::new(SECOND, 12.0) }];
    let quiet = |between| Traffic { between, ..Traffic::lan(0, 1) };
    let messages = messages(&[quiet([0, 20 * SECOND]), quiet([40 * SECOND, 60 * SECOND])], 12);
    let mut hosts = facts(2);
    hosts[1].last = clocks[1].shows(60 * SECOND);
    hosts[1].set = clocks[1]
        .steps
        .iter()
        .map(|(at, by)| super::ClockSet { at: clocks[1].shows(at - 1), offset_ns: *by })
        .collect();
    let estimated = estimate(&hosts, &samples(&clocks, &messages), Some(0));
    let host = &estimated.hosts[1];
    assert_eq!(host.steps.iter().map(|step| step.offset_ns).collect::<Vec<_>>(), [10 * SECOND, -3 * SECOND]);
    assert!(too_early(&clocks, &estimated, &messages) <= 1, "{host:?}");
    for at in [1, 10, 19, 24, 26, 27, 39, 50, 59] {
        let off = error(&clocks, host, 1, at * SECOND);
        assert!(off.abs() < 30_000, "{at} {off} {host:?}");
    }
}

#[test]
fn a_hundred_and_fifteen_hosts() {
    let mut random = Random(13);
    let clocks: Vec<True> = (0..115)
        .map(|host| {
            True::new(
                if host == 0 { 0 } else { random.below(7_200 * SECOND) - 3_600 * SECOND },
                400.0 * random.next() - 200.0,
            )
        })
        .collect();
    // Each talks to some before it, so that there is a path, seldom and far away.
    let traffic: Vec<Traffic> = (1..115)
        .flat_map(|host| (0..3).map(move |_| host))
        .map(|host| Traffic {
            hosts: [host, random.below(host as i64) as usize],
            least: [5_000_000 + random.below(40_000_000), 5_000_000 + random.below(40_000_000)],
            messages: [30, 30],
            between: [0, 600 * SECOND],
        })
        .collect();
    let messages = messages(&traffic, 14);
    let estimated = solve(&clocks, &messages);
    assert!(estimated.hosts.iter().all(|host| host.against == "h0" && host.steps.is_empty()));
    assert!(too_early(&clocks, &estimated, &messages) <= 1);
    for number in 0..115 {
        let off = worst(&clocks, &estimated, number, [10 * SECOND, 590 * SECOND]);
        assert!(off <= estimated.hosts[number].uncertainty_ns.unwrap(), "{number} {off}");
    }
}

/// Any system of hosts: clocks, and who talks to whom how.
fn systems() -> impl Strategy<Value = (Vec<True>, Vec<Traffic>, u64)> {
    let clock =
        (-10_000 * SECOND..10_000 * SECOND, -200.0..200.0).prop_map(|(offset, skew)| True::new(offset, skew));
    let clocks = proptest::collection::vec(clock, 2..7);
    clocks.prop_flat_map(|mut clocks| {
        clocks[0] = True::new(0, 0.0);
        let count = clocks.len();
        let traffic = (
            0..count,
            0..count,
            5_000..5_000_000_i64,
            5_000..5_000_000_i64,
            0..200_usize,
            0..200_usize,
            0..50_i64,
            5..60_i64,
        )
            .prop_map(|(a, b, there, back, many, more, begin, long)| Traffic {
                hosts: [a, b],
                least: [there, back],
                messages: [many, more],
                between: [begin * SECOND, (begin + long) * SECOND],
            })
            .prop_filter("of two hosts", |traffic| traffic.hosts[0] != traffic.hosts[1]);
        (Just(clocks), proptest::collection::vec(traffic, 1..12), any::<u64>())
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// Whatever the clocks, the delays and who talks to whom: the truth is within what is stated, and no message
    /// arrives before it was sent by more than that.
    #[test]
    fn the_truth_is_within_the_stated_uncertainty((clocks, traffic, seed) in systems()) {
        let messages = messages(&traffic, seed);
        prop_assume!(!messages.is_empty());
        let estimated = solve(&clocks, &messages);
        prop_assert!(too_early(&clocks, &estimated, &messages) <= 1, "{:#?}", estimated.hosts);
        for (number, host) in estimated.hosts.iter().enumerate() {
            prop_assert!(host.steps.is_empty(), "{:#?}", host);
            let Some(uncertainty) = host.uncertainty_ns.filter(|_| host.against == "h0") else { continue };
            let times = messages.iter().filter(|(from, to, _, _)| *from == number || *to == number);
            let times: Vec<i64> = times.map(|(_, _, sent, _)| *sent).collect();
            let (first, last) = (times.iter().min().copied(), times.iter().max().copied());
            let (Some(first), Some(last)) = (first, last) else { continue };
            let off = worst(&clocks, &estimated, number, [first, last]);
            prop_assert!(off <= uncertainty + 2, "{} off by {} {:#?}", number, off, host);
            let skew = clocks[number].skew - host.skew_ppm;
            prop_assert!(skew.abs() <= host.skew_uncertainty_ppm.unwrap() * 1.001 + 0.01, "{} {:#?}", number, host);
        }
    }

    /// Any LAN of which a third is not traced: as exact as is asked for.
    #[test]
    fn a_lan_is_exact(
        clocks in proptest::collection::vec((-10_000 * SECOND..10_000 * SECOND, -200.0..200.0), 4..9),
        untraced in proptest::collection::vec(any::<bool>(), 9),
        seed in any::<u64>(),
    ) {
        let mut clocks: Vec<True> = clocks.into_iter().map(|(offset, skew)| True::new(offset, skew)).collect();
        clocks[0] = True::new(0, 0.0);
        let mut left = clocks.len() / 3;
        let mut is_traced = vec![true; clocks.len()];
        for host in (1..clocks.len()).filter(|host| untraced[*host]) {
            is_traced[host] = left == 0;
            left = left.saturating_sub(1);
        }
        // All talk to all, at 30 to 90 us.
        let mut random = Random(seed);
        let mut traffic = Vec::new();
        for (a, b) in (0..clocks.len()).flat_map(|a| (0..a).map(move |b| (a, b))) {
            let least = [30_000 + random.below(60_000), 30_000 + random.below(60_000)];
            if is_traced[a] && is_traced[b] {
                traffic.push(Traffic { least, messages: [100; 2], ..Traffic::lan(a, b) });
            }
        }
        let messages = messages(&traffic, seed);
        let estimated = solve(&clocks, &messages);
        for number in (1..clocks.len()).filter(|host| is_traced[*host]) {
            let host = &estimated.hosts[number];
            let off = worst(&clocks, &estimated, number, [0, 60 * SECOND]);
            prop_assert!(off < 100_000 && off <= host.uncertainty_ns.unwrap(), "{} {:#?}", off, host);
            prop_assert!(host.uncertainty_ns.unwrap() < 250_000, "{:#?}", host);
            prop_assert!((host.skew_ppm - clocks[number].skew).abs() < 5.0, "{:#?}", host);
        }
        prop_assert!(too_early(&clocks, &estimated, &messages) <= 1);
    }
}
