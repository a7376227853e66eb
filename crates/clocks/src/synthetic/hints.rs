//! Timestamps exchanged with a collector: hosts that no message connects become related, the others
//! stay as they are.

mod contradictions;
mod random;

use super::*;
use crate::{ClockHints, ClockSource, estimate_with_hints};

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
