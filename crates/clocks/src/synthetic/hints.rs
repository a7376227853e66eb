//! Timestamps exchanged with a collector: hosts that no message connects become related, the others
//! stay as they are.

use proptest::prelude::*;

use super::*;
use crate::{ClockHints, ClockSource, HintCheck, estimate_with_hints};

const MS: i64 = 1_000_000;
const END: i64 = 60 * SECOND;

/// Hosts that were present from [`BEGIN`] to [`END`] after it.
fn present_hosts(clocks: &[TrueClock]) -> Vec<HostFacts> {
    let mut hosts = host_facts(clocks.len());
    for (host, clock) in hosts.iter_mut().zip(clocks) {
        (host.first, host.last) = (clock.shown_time(0), clock.shown_time(END));
    }
    hosts
}

/// Adds an exchange of a host, begun at a true time, with the delays of the request and the
/// response.
fn add_exchange(
    hints: &mut ClockHints,
    host: (u32, &TrueClock),
    collector: &TrueClock,
    at: i64,
    [there, back]: [i64; 2],
) {
    let answered = at + there + 20_000;
    let ((number, clock), received) = (host, answered + back);
    let times = [
        clock.shown_time(at),
        collector.shown_time(at + there),
        collector.shown_time(answered),
        clock.shown_time(received),
    ];
    hints.add_exchange(number, times);
}

/// Exchanges of each host every second, each with its delays.
fn host_exchanges(clocks: &[TrueClock], collector: &TrueClock, delays: &[[i64; 2]]) -> ClockHints {
    let mut hints = ClockHints::new(clocks.len());
    for (number, (clock, delays)) in (0..).zip(clocks.iter().zip(delays)) {
        for second in 0..=60 {
            add_exchange(&mut hints, (number, clock), collector, second * SECOND, *delays);
        }
    }
    hints
}

/// Returns the model without the summaries of exchanges.
fn without_hints(clocks: &ClockModel) -> ClockModel {
    let mut clocks = clocks.clone();
    clocks.hosts.iter_mut().for_each(|host| host.hints = None);
    clocks
}

#[test]
fn two_hosts_are_related_by_the_collector_only() {
    let clocks = [TrueClock::new(0, 0.0), TrueClock::new(1_000 * SECOND, 0.0)];
    let collector = TrueClock::new(-50 * SECOND, 0.0);
    // The first is a millisecond away, the second three: the uncertainty is half of both round
    // trips.
    let hints = host_exchanges(&clocks, &collector, &[[MS, MS], [3 * MS, 3 * MS]]);
    let estimated =
        estimate_with_hints(&present_hosts(&clocks), &ClockSamples::new(2), &hints, Some(0));
    let [first, second] = &estimated.hosts[..] else { panic!("two hosts") };
    assert_eq!(
        (first.source, first.uncertainty_ns, first.offset_ns),
        (ClockSource::Reference, Some(0), 0)
    );
    assert_eq!((second.source, second.against.as_str()), (ClockSource::Hints, "h0"));
    // Apart from the round trip itself, in which the slope may add 89 ns.
    assert!((second.offset_ns - 1_000 * SECOND).abs() <= 100, "{second:?}");
    assert!(second.skew_ppm.abs() < 0.005, "{second:?}");
    let uncertainty = second.uncertainty_ns.unwrap();
    // Including the freedom of exchanges in the middle at the ends, which is less than a
    // thousandth.
    assert!((4 * MS..4 * MS + 4_000).contains(&uncertainty), "{second:?}");
    let summary = second.hints.as_ref().unwrap();
    assert_eq!((summary.exchanges, summary.round_trip_ns, &summary.check), (61, 6 * MS, &None));

    // If the response takes five and the request one, the middle is off by two, which is within the
    // stated uncertainty.
    let hints = host_exchanges(&clocks, &collector, &[[MS, MS], [MS, 5 * MS]]);
    let estimated =
        estimate_with_hints(&present_hosts(&clocks), &ClockSamples::new(2), &hints, Some(0));
    let second = &estimated.hosts[1];
    assert!((second.offset_ns - 1_000 * SECOND - 2 * MS).abs() <= 100, "{second:?}");
    assert!((4 * MS..4 * MS + 4_000).contains(&second.uncertainty_ns.unwrap()), "{second:?}");
}

#[test]
fn one_exchange_each_gives_bounds() {
    let clocks = [TrueClock::new(0, 0.0), TrueClock::new(-SECOND, 0.0)];
    let mut hints = ClockHints::new(2);
    let collector = TrueClock::new(0, 0.0);
    let mut hosts = present_hosts(&clocks);
    for (number, clock) in (0..).zip(&clocks) {
        add_exchange(&mut hints, (number, clock), &collector, 0, [MS, MS]);
        hosts[number as usize].last = clock.shown_time(0);
    }
    let estimated = estimate_with_hints(&hosts, &ClockSamples::new(2), &hints, Some(0));
    let second = &estimated.hosts[1];
    assert!((second.offset_ns + SECOND).abs() <= 4_100, "{second:?}");
    // Half of two round trips of 2 ms, and 1000 ppm of that time.
    assert!((2 * MS..2 * MS + 20_000).contains(&second.uncertainty_ns.unwrap()), "{second:?}");
    // An hour before, each may be off by 1000 ppm of it.
    hosts.iter_mut().for_each(|host| host.first -= 3_600 * SECOND);
    let estimated = estimate_with_hints(&hosts, &ClockSamples::new(2), &hints, Some(0));
    let uncertainty = estimated.hosts[1].uncertainty_ns.unwrap();
    assert!((7_200 * MS..7_210 * MS).contains(&uncertainty), "{uncertainty}");
}

#[test]
fn the_precision_is_at_most_half_of_the_round_trip() {
    // The request and the response are fast alternately; the lines that all of them allow are
    // within a millisecond.
    let clocks = [TrueClock::new(0, 0.0), TrueClock::new(SECOND, 0.0)];
    let mut hints = ClockHints::new(2);
    for second in 0..=60 {
        let delays = if second % 2 == 0 { [MS, 9 * MS] } else { [9 * MS, MS] };
        for (number, clock) in (0..).zip(&clocks) {
            add_exchange(
                &mut hints,
                (number, clock),
                &TrueClock::new(0, 0.0),
                second * SECOND,
                delays,
            );
        }
    }
    let estimated =
        estimate_with_hints(&present_hosts(&clocks), &ClockSamples::new(2), &hints, Some(0));
    assert!(worst_error(&clocks, &estimated, 1, [0, END]) < MS);
    assert_eq!(estimated.hosts[1].uncertainty_ns, Some(10 * MS));
}

#[test]
fn joining_does_not_change_relations_within_a_group() {
    let clocks = [0, 1, 2, 3, 4].map(|host| {
        TrueClock::new(host * 1_000 * SECOND, 20.0 * host as f64 - 40.0 * (host % 2) as f64)
    });
    let messages =
        random_messages(&[HostTraffic::lan_minute(0, 1), HostTraffic::lan_minute(2, 3)], 4);
    let (hosts, samples) = (present_hosts(&clocks), collect_samples(&clocks, &messages));
    let without = estimate_clocks(&hosts, &samples, Some(0));
    // In the second group only the host that is not its root has exchanges; the last host has no
    // messages.
    let mut hints = host_exchanges(&clocks, &TrueClock::new(77 * SECOND, 30.0), &[[2 * MS; 2]; 2]);
    for second in 10..=50 {
        let at = second * SECOND;
        for number in [3, 4] {
            add_exchange(
                &mut hints,
                (number, &clocks[number as usize]),
                &TrueClock::new(77 * SECOND, 30.0),
                at,
                [3 * MS; 2],
            );
        }
    }
    let estimated = estimate_with_hints(&hosts, &samples, &hints, Some(0));
    assert_eq!(without_hints(&estimated).hosts[..2], without.hosts[..2]);
    for number in 2..5 {
        let host = &estimated.hosts[number];
        assert_eq!((host.source, host.against.as_str()), (ClockSource::Hints, "h0"), "{host:?}");
        let off = worst_error(&clocks, &estimated, number, [0, END]);
        assert!(off <= 200_000 && off <= host.uncertainty_ns.unwrap(), "{off} {host:?}");
        // Half of both round trips and, at the ends, the possible effect of the skew.
        assert!((5 * MS..11 * MS).contains(&host.uncertainty_ns.unwrap()), "{host:?}");
        assert!(host.skew_uncertainty_ppm.unwrap() < 300.0, "{host:?}");
    }
    // Within the group nothing changes.
    for truth in [0, 30 * SECOND, END] {
        let [two, three] = [2, 3].map(|host: usize| clocks[host].shown_time(truth));
        let before = without.common_time(3, three) - without.common_time(2, two);
        let now = estimated.common_time(3, three) - estimated.common_time(2, two);
        assert!((before - now).abs() < 50, "{before} {now}");
    }
    // And the messages shown lie on the common clock.
    let link = &estimated.links[1];
    assert_eq!(link.hosts, ["h2", "h3"]);
    assert!(
        link.least[0].iter().all(|[sent, _]| (-SECOND..END + SECOND).contains(&(sent - BEGIN))),
        "{link:?}"
    );
}

#[test]
fn the_uncertainty_of_a_host_in_its_group_counts() {
    // In the second group messages take 1 ms there and 19 back, so the host with exchanges is 9 ms
    // off from the other.
    let clocks = [0, 1, 2].map(|host| TrueClock::new(host * SECOND, 0.0));
    let lan =
        HostTraffic { least: [MS, 19 * MS], messages: [600, 700], ..HostTraffic::lan_minute(1, 2) };
    let messages = random_messages(&[lan], 4);
    let mut hints = ClockHints::new(3);
    for second in 0..=60 {
        for number in [0, 2] {
            let host = (number, &clocks[number as usize]);
            add_exchange(&mut hints, host, &TrueClock::new(0, 0.0), second * SECOND, [MS; 2]);
        }
    }
    let estimated = estimate_with_hints(
        &present_hosts(&clocks),
        &collect_samples(&clocks, &messages),
        &hints,
        Some(0),
    );
    for number in [1, 2] {
        let host = &estimated.hosts[number];
        let off = worst_error(&clocks, &estimated, number, [0, END]);
        assert_eq!((host.source, host.against.as_str()), (ClockSource::Hints, "h0"));
        assert!(off <= host.uncertainty_ns.unwrap(), "{off} {host:?}");
        assert!((12 * MS..25 * MS).contains(&host.uncertainty_ns.unwrap()), "{host:?}");
    }
    assert!((8 * MS..10 * MS).contains(&worst_error(&clocks, &estimated, 1, [0, END])));
}

#[test]
fn groups_without_the_reference_are_joined_with_each_other() {
    let clocks = [0, 100, 200].map(|offset| TrueClock::new(offset * SECOND, 0.0));
    let mut hints = host_exchanges(&clocks, &TrueClock::new(0, 0.0), &[[MS; 2]; 3]);
    let all = estimate_with_hints(&present_hosts(&clocks), &ClockSamples::new(3), &hints, Some(0));
    assert!(all.hosts.iter().all(|host| host.against == "h0"));
    // The reference has none, and stays by itself; a single host has no other to be joined with.
    hints = ClockHints::new(3);
    add_exchange(&mut hints, (2, &clocks[2]), &TrueClock::new(0, 0.0), 0, [MS; 2]);
    let alone =
        estimate_with_hints(&present_hosts(&clocks), &ClockSamples::new(3), &hints, Some(0));
    assert_eq!(
        without_hints(&alone),
        estimate_clocks(&present_hosts(&clocks), &ClockSamples::new(3), Some(0))
    );
    add_exchange(&mut hints, (1, &clocks[1]), &TrueClock::new(0, 0.0), 0, [MS; 2]);
    let two = estimate_with_hints(&present_hosts(&clocks), &ClockSamples::new(3), &hints, Some(0));
    let sources: Vec<_> =
        two.hosts.iter().map(|host| (host.source, host.against.as_str())).collect();
    assert_eq!(
        sources,
        [(ClockSource::Reference, "h0"), (ClockSource::None, "h1"), (ClockSource::Hints, "h1")]
    );
    assert!((two.hosts[2].offset_ns - 100 * SECOND).abs() < MS, "{:?}", two.hosts[2]);
    assert_eq!(two.reference, "h0");
}

#[test]
fn hosts_of_one_machine_are_one_clock() {
    let clocks =
        [TrueClock::new(0, 0.0), TrueClock::new(9 * SECOND, 0.0), TrueClock::new(9 * SECOND, 0.0)];
    let mut hosts = present_hosts(&clocks);
    (hosts[1].machine, hosts[2].machine) = (7, 7);
    // Only one of the two has exchanges.
    let mut hints = ClockHints::new(3);
    for second in 0..=60 {
        for number in [0, 2] {
            add_exchange(
                &mut hints,
                (number, &clocks[number as usize]),
                &TrueClock::new(0, 0.0),
                second * SECOND,
                [MS; 2],
            );
        }
    }
    let estimated = estimate_with_hints(&hosts, &ClockSamples::new(3), &hints, Some(0));
    for number in [1, 2] {
        let host = &estimated.hosts[number];
        assert_eq!((host.source, host.against.as_str()), (ClockSource::Hints, "h0"));
        assert!(
            (host.offset_ns - 9 * SECOND).abs() < 100 && host.uncertainty_ns.unwrap() < 3 * MS,
            "{host:?}"
        );
    }
    assert_eq!(estimated.hosts[1].offset_ns, estimated.hosts[2].offset_ns);
}

#[test]
fn setting_the_collectors_clock_is_tolerated() {
    for by in [-7 * SECOND, 7 * SECOND, 3_600 * SECOND] {
        let clocks = [
            TrueClock::new(0, 0.0),
            TrueClock::new(1_000 * SECOND, 80.0),
            TrueClock::new(-5 * SECOND, -60.0),
        ];
        let collector = TrueClock {
            steps: vec![(31 * SECOND + SECOND / 2, by)],
            ..TrueClock::new(SECOND, 10.0)
        };
        let hints = host_exchanges(&clocks, &collector, &[[MS; 2], [2 * MS; 2], [MS; 2]]);
        let estimated =
            estimate_with_hints(&present_hosts(&clocks), &ClockSamples::new(3), &hints, Some(0));
        for number in [1, 2] {
            let host = &estimated.hosts[number];
            assert!(host.steps.is_empty() && host.source == ClockSource::Hints, "{by} {host:?}");
            let off = worst_error(&clocks, &estimated, number, [0, END]);
            assert!(off < 300_000, "{by} {off} {host:?}");
            assert!((2 * MS..20 * MS).contains(&host.uncertainty_ns.unwrap()), "{host:?}");
        }
        // Nor does it contradict hosts that messages connect.
        let messages =
            random_messages(&[HostTraffic::lan_minute(0, 1), HostTraffic::lan_minute(1, 2)], 5);
        let estimated = estimate_with_hints(
            &present_hosts(&clocks),
            &collect_samples(&clocks, &messages),
            &hints,
            Some(0),
        );
        let checks = estimated.hosts.iter().filter_map(|host| host.hints.as_ref()?.check.as_ref());
        let contradicting: Vec<bool> = checks.map(|check| check.contradicts).collect();
        assert_eq!(contradicting, [false, false], "{by} {:#?}", estimated.hosts);
    }
}

#[test]
fn a_host_whose_clock_is_set_is_joined_with_its_steps() {
    // There are no messages to show it; the other hosts' exchanges are as before.
    let set = TrueClock {
        steps: vec![(40 * SECOND + SECOND / 2, 2 * SECOND)],
        ..TrueClock::new(500 * SECOND, 0.0)
    };
    let clocks = [TrueClock::new(0, 0.0), set, TrueClock::new(-500 * SECOND, 0.0)];
    let hints = host_exchanges(&clocks, &TrueClock::new(0, 0.0), &[[MS; 2]; 3]);
    let estimated =
        estimate_with_hints(&present_hosts(&clocks), &ClockSamples::new(3), &hints, Some(0));
    let [step] = estimated.hosts[1].steps[..] else { panic!("one step: {:?}", estimated.hosts[1]) };
    assert!((step.offset_ns - 2 * SECOND).abs() < MS, "{step:?}");
    assert!((step.at - BEGIN - 40 * SECOND - SECOND / 2).abs() <= step.within_ns + MS, "{step:?}");
    for at in [0, 30 * SECOND, 50 * SECOND, END] {
        let off = estimate_error(&clocks, &estimated.hosts[1], 1, at);
        assert!(off.abs() < MS, "{at} {off} {:?}", estimated.hosts[1]);
    }
}

#[test]
fn exchanges_that_contradict_messages_are_reported_and_change_nothing() {
    let clocks =
        [TrueClock::new(0, 0.0), TrueClock::new(SECOND, 50.0), TrueClock::new(-SECOND, -80.0)];
    let messages =
        random_messages(&[HostTraffic::lan_minute(0, 1), HostTraffic::lan_minute(1, 2)], 3);
    let (hosts, samples) = (present_hosts(&clocks), collect_samples(&clocks, &messages));
    let without = estimate_clocks(&hosts, &samples, Some(0));
    let check = |clocks: &ClockModel, host: usize| -> HintCheck {
        clocks.hosts[host].hints.as_ref().and_then(|hinted| hinted.check.clone()).unwrap()
    };
    // The exchanges of one host are those of a clock that was 50 ms ahead.
    let collector = TrueClock::new(3 * SECOND, 0.0);
    let delays = [[4 * MS, MS], [2 * MS, 2 * MS], [MS, 9 * MS]];
    for ahead in [0, 50 * MS] {
        let shifted =
            [clocks[0].clone(), clocks[1].clone(), TrueClock::new(-SECOND + ahead, -80.0)];
        let hints = host_exchanges(&shifted, &collector, &delays);
        let estimated = estimate_with_hints(&hosts, &samples, &hints, Some(0));
        assert_eq!(without_hints(&estimated), without);
        assert_eq!(estimated.hosts[0].hints.as_ref().unwrap().check, None);
        let [one, two] = [check(&estimated, 1), check(&estimated, 2)];
        assert_eq!(
            (one.against.as_str(), one.contradicts, two.contradicts),
            ("h0", false, ahead > 0)
        );
        // Half of the difference between there and back: 1.5 ms of the first and, with opposite
        // sign, 4 of the last.
        assert!((two.difference_ns - ahead - 11 * MS / 2).abs() < 200_000, "{two:?}");
        assert!((one.difference_ns - 3 * MS / 2).abs() < 200_000, "{one:?}");
        // 2.5 and 5 ms are half of the round trips.
        assert!((15 * MS / 2..8 * MS).contains(&two.within_ns), "{two:?}");
    }
}

/// Three hosts that communicate, and one without messages; the exchanges of `liars` are of clocks
/// that are each an hour off.
fn with_liars(liars: &[usize]) -> ([TrueClock; 4], ClockModel) {
    let clocks = [0, SECOND, 3 * SECOND, -SECOND].map(|ahead| TrueClock::new(ahead, 0.0));
    let messages =
        random_messages(&[HostTraffic::lan_minute(0, 1), HostTraffic::lan_minute(0, 2)], 3);
    let mut claimed = clocks.clone();
    for liar in liars {
        claimed[*liar] = TrueClock::new((1 + *liar as i64) * 3_600 * SECOND, 0.0);
    }
    let hints = host_exchanges(&claimed, &TrueClock::new(0, 0.0), &[[MS; 2]; 4]);
    (
        clocks.clone(),
        estimate_with_hints(
            &present_hosts(&clocks),
            &collect_samples(&clocks, &messages),
            &hints,
            Some(0),
        ),
    )
}

fn contradicting_hosts(clocks: &ClockModel) -> Vec<usize> {
    let check =
        |host: &usize| clocks.hosts[*host].hints.as_ref().and_then(|hinted| hinted.check.as_ref());
    (0..clocks.hosts.len())
        .filter(|host| check(host).is_some_and(|check| check.contradicts))
        .collect()
}

#[test]
fn a_host_that_contradicts_most_others_changes_no_clock() {
    // Also if it is the one that all are compared with.
    for liar in 0..3 {
        let (clocks, estimated) = with_liars(&[liar]);
        assert_eq!(contradicting_hosts(&estimated), [liar]);
        assert!(
            worst_error(&clocks, &estimated, 3, [0, END]) < 100_000,
            "{liar} {:?}",
            estimated.hosts[3]
        );
    }
}

#[test]
fn without_a_majority_no_host_is_trusted() {
    let (_, estimated) = with_liars(&[0, 2]);
    assert_eq!(contradicting_hosts(&estimated), [0, 1, 2]);
    assert_eq!((estimated.hosts[3].source, estimated.hosts[3].offset_ns), (ClockSource::None, 0));
}

#[test]
fn impossible_exchanges_are_counted() {
    let mut hints = ClockHints::new(1);
    for times in
        [[0, 5, 4, 10], [0, 5, 9, 3], [i64::MAX, 0, 0, i64::MIN], [0, i64::MIN, i64::MAX, 0]]
    {
        hints.add_exchange(0, times);
    }
    hints.add_exchange(1, [0, 1, 2, 3]);
    assert!(hints.is_empty());
    hints.add_exchange(0, [0, 5, 6, 7]);
    let mut other = ClockHints::new(1);
    other.add_exchange(0, [0, 5, 6, 5]);
    other.add_skipped(0);
    other.add_damaged(0, 2);
    hints.merge_hints(other);
    let estimated = estimate_with_hints(&host_facts(1), &ClockSamples::new(1), &hints, None);
    let summary = estimated.hosts[0].hints.as_ref().unwrap();
    assert_eq!(
        (summary.exchanges, summary.round_trip_ns, summary.damaged, summary.left_out),
        (2, 4, 6, 1)
    );
}

/// Random exchanges of each host: time span, number, least delays and a seed.
type RandomExchanges = ([i64; 2], usize, [i64; 2]);

fn any_exchanges() -> impl Strategy<Value = RandomExchanges> {
    let times =
        (0..40_i64, 1..60_i64).prop_map(|(begin, long)| [begin * SECOND, (begin + long) * SECOND]);
    (times, 1..100_usize, prop::array::uniform2(50_000..40_000_000_i64))
}

fn random_hints(
    clocks: &[TrueClock],
    collector: &TrueClock,
    of_host: &[RandomExchanges],
    seed: u64,
) -> ClockHints {
    let mut random = RandomSource(seed);
    let mut hints = ClockHints::new(clocks.len());
    for (number, (clock, (between, count, least))) in (0..).zip(clocks.iter().zip(of_host)) {
        for _ in 0..*count {
            let at = between[0] + random.next_below(between[1] - between[0]);
            // Some wait for data that is being shipped.
            let delays = least.map(|least| {
                let more = if random.next_below(3) == 0 { SECOND } else { least };
                least + random.next_below(more)
            });
            add_exchange(&mut hints, (number, clock), collector, at, delays);
        }
    }
    hints
}

fn any_clocks(count: usize) -> impl Strategy<Value = Vec<TrueClock>> {
    let clock = (-10_000 * SECOND..10_000 * SECOND, -200.0..200.0);
    proptest::collection::vec(clock.prop_map(|(offset, skew)| TrueClock::new(offset, skew)), count)
        .prop_map(|mut clocks| {
            clocks[0] = TrueClock::new(0, 0.0);
            clocks
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    /// If messages connect all hosts, exchanges change no clock, and do not contradict.
    #[test]
    fn exchanges_do_not_change_clocks_that_messages_connect(
        clocks in any_clocks(4),
        of_host in proptest::collection::vec(any_exchanges(), 4),
        least in prop::array::uniform6(20_000..5_000_000_i64),
        seed in any::<u64>(),
    ) {
        let lan = |a, b, least| HostTraffic { least, messages: [60; 2], ..HostTraffic::lan_minute(a, b) };
        let traffic =
            [lan(0, 1, [least[0], least[1]]), lan(1, 2, [least[2], least[3]]), lan(1, 3, [least[4], least[5]])];
        let messages = random_messages(&traffic, seed);
        let (hosts, samples) = (present_hosts(&clocks), collect_samples(&clocks, &messages));
        let collector = TrueClock::new(12_345 * SECOND, 20.0);
        let hints = random_hints(&clocks, &collector, &of_host, seed);
        let estimated = estimate_with_hints(&hosts, &samples, &hints, None);
        prop_assert_eq!(without_hints(&estimated), estimate_clocks(&hosts, &samples, None));
        for host in &estimated.hosts {
            let check = host.hints.as_ref().and_then(|hinted| hinted.check.as_ref());
            prop_assert!(check.is_none_or(|check| !check.contradicts), "{:#?}", host);
        }
    }

    /// Two groups that no message connects: the truth is within the stated uncertainty, and
    /// relations within the groups do not change.
    #[test]
    fn the_truth_is_within_the_stated_uncertainty_of_joined_groups(
        clocks in any_clocks(5),
        of_host in proptest::collection::vec(any_exchanges(), 5),
        least in prop::array::uniform6(20_000..5_000_000_i64),
        seed in any::<u64>(),
    ) {
        let lan = |a, b, least| HostTraffic { least, messages: [60; 2], ..HostTraffic::lan_minute(a, b) };
        let traffic =
            [lan(0, 1, [least[0], least[1]]), lan(2, 3, [least[2], least[3]]), lan(3, 4, [least[4], least[5]])];
        let messages = random_messages(&traffic, seed);
        let (hosts, samples) = (present_hosts(&clocks), collect_samples(&clocks, &messages));
        let collector = TrueClock::new(-12_345 * SECOND, -150.0);
        let hints = random_hints(&clocks, &collector, &of_host, seed);
        let without = estimate_clocks(&hosts, &samples, Some(0));
        let estimated = estimate_with_hints(&hosts, &samples, &hints, Some(0));
        prop_assert_eq!(&without_hints(&estimated).hosts[..2], &without.hosts[..2]);
        prop_assert!(too_early(&clocks, &estimated, &messages) <= 2, "{:#?}", estimated.hosts);
        for number in 1..5 {
            let host = &estimated.hosts[number];
            prop_assert_eq!(&host.against, "h0");
            prop_assert!(host.steps.is_empty(), "{:#?}", host);
            let off = worst_error(&clocks, &estimated, number, [0, END]);
            prop_assert!(off <= host.uncertainty_ns.unwrap() + 5, "{} off by {} {:#?}", number, off, host);
            let skew = (clocks[number].skew - host.skew_ppm).abs();
            prop_assert!(skew <= host.skew_uncertainty_ppm.unwrap() * 1.001 + 0.01, "{} {:#?}", number, host);
        }
    }
}
