//! Clocks that are straight lines, with all combinations of message directions between hosts.

use super::*;
use crate::ClockSource;

#[test]
fn two_hosts_on_a_lan() {
    let clocks = [TrueClock::new(0, 0.0), TrueClock::new(3 * 3_600 * SECOND + 123_456_789, 150.0)];
    let messages = random_messages(&[HostTraffic::lan_minute(0, 1)], 1);
    let estimated = solve_samples(&clocks, &messages);
    let host = &estimated.hosts[1];
    assert!((host.skew_ppm - 150.0).abs() < 1.0, "{host:?}");
    assert!(worst_error(&clocks, &estimated, 1, [0, 60 * SECOND]) < 15_000, "{host:?}");
    let uncertainty = host.uncertainty_ns.unwrap();
    assert!((30_000..80_000).contains(&uncertainty), "{host:?}");
    assert!(host.skew_uncertainty_ppm.unwrap() < 3.0, "{host:?}");
    assert!(too_early(&clocks, &estimated, &messages) <= 1);
    assert_eq!(
        (host.source, host.against.as_str(), host.steps.len()),
        (ClockSource::Messages, "h0", 0)
    );
    assert_eq!(estimated.hosts[0].source, ClockSource::Reference);
    assert_eq!(estimated.hosts[0].common_time(12_345), 12_345);
}

#[test]
fn few_messages() {
    // One there and one back, 1 ms apart: the offset is known then, and drifts off by 1000 ppm at
    // most.
    let clocks = [TrueClock::new(0, 0.0), TrueClock::new(-SECOND, 0.0)];
    let two = [(0, 1, 0, 50_000), (1, 0, 1_000_000, 1_070_000)];
    let estimated = solve_samples(&clocks, &two);
    let host = &estimated.hosts[1];
    assert!((host.offset_ns + SECOND).abs() < 12_000, "{host:?}");
    assert!((60_000..64_000).contains(&host.uncertainty_ns.unwrap()), "{host:?}");
    // Only one: it is assumed to have taken no time, and nothing bounds the other side.
    let estimated = solve_samples(&clocks, &two[..1]);
    let host = &estimated.hosts[1];
    assert_eq!((host.offset_ns, host.skew_ppm), (-SECOND + 50_000, 0.0));
    assert_eq!((host.uncertainty_ns, host.source), (None, ClockSource::OneWay));
    // None at all.
    let estimated = solve_samples(&clocks, &[]);
    let host = &estimated.hosts[1];
    assert_eq!((host.offset_ns, host.uncertainty_ns, host.source), (0, None, ClockSource::None));
    assert_eq!((host.against.as_str(), host.at), ("h1", BEGIN));
}

#[test]
fn one_way_gives_the_rate_and_one_bound() {
    let clocks = [TrueClock::new(0, 0.0), TrueClock::new(77 * SECOND, -120.0)];
    let traffic = [HostTraffic { messages: [2_000, 0], ..HostTraffic::lan_minute(0, 1) }];
    let messages = random_messages(&traffic, 2);
    let estimated = solve_samples(&clocks, &messages);
    let host = &estimated.hosts[1];
    assert_eq!((host.source, host.uncertainty_ns), (ClockSource::OneWay, None));
    assert!((host.skew_ppm + 120.0).abs() < 1.0, "{host:?}");
    // Off by the least delay.
    let off = estimate_error(&clocks, host, 1, 30 * SECOND);
    assert!((-50_000..-35_000).contains(&off), "{off}");
    assert!(too_early(&clocks, &estimated, &messages) <= 1);
}

#[test]
fn a_ring_of_one_way_links_bounds_both_sides() {
    let clocks =
        [TrueClock::new(0, 0.0), TrueClock::new(SECOND, 50.0), TrueClock::new(-SECOND, -80.0)];
    let one_way = |a, b| HostTraffic { messages: [2_000, 0], ..HostTraffic::lan_minute(a, b) };
    let messages = random_messages(&[one_way(0, 1), one_way(1, 2), one_way(2, 0)], 3);
    let estimated = solve_samples(&clocks, &messages);
    for number in 1..3 {
        let host = &estimated.hosts[number];
        assert_eq!(host.source, ClockSource::Messages);
        let off = worst_error(&clocks, &estimated, number, [0, 60 * SECOND]);
        assert!(off <= host.uncertainty_ns.unwrap(), "{off} {host:?}");
        // The three least delays, 120 us, and the excess of the fastest.
        assert!(host.uncertainty_ns.unwrap() < 300_000, "{host:?}");
        assert!((host.skew_ppm - clocks[number].skew).abs() < 3.0, "{host:?}");
    }
    assert!(too_early(&clocks, &estimated, &messages) <= 1);
}

#[test]
fn hosts_without_a_path_are_a_group_of_their_own() {
    let clocks =
        [0, 1, 2, 3, 4].map(|host| TrueClock::new(host * 1_000 * SECOND, host as f64 * 10.0));
    let messages =
        random_messages(&[HostTraffic::lan_minute(0, 1), HostTraffic::lan_minute(2, 3)], 4);
    let estimated = solve_samples(&clocks, &messages);
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
    let clocks = [TrueClock::new(0, 0.0), TrueClock::new(0, 0.0), TrueClock::new(5_000_000, 20.0)];
    let messages =
        random_messages(&[HostTraffic::lan_minute(0, 1), HostTraffic::lan_minute(1, 2)], 5);
    let mut hosts = host_facts(3);
    hosts[0].machine = 7;
    hosts[1].machine = 7;
    let samples = collect_samples(&clocks, &messages);
    let estimated = estimate_clocks(&hosts, &samples, None);
    // Host 1 is as well connected as 0, but they are one.
    assert_eq!(estimated.reference, "h0");
    let same = &estimated.hosts[1];
    assert_eq!((same.offset_ns, same.skew_ppm, same.uncertainty_ns), (0, 0.0, Some(0)));
    assert_eq!((same.source, same.against.as_str()), (ClockSource::Machine, "h0"));
    assert_eq!(same.common_time(BEGIN + 17), BEGIN + 17);
    assert!(worst_error(&clocks, &estimated, 2, [0, 60 * SECOND]) < 20_000);
    // The third host has no clock of that machine, although its facts state so; then none of them
    // is trusted.
    hosts[2].machine = 7;
    let estimated = estimate_clocks(&hosts, &samples, Some(0));
    assert_eq!(estimated.hosts[1].source, ClockSource::Messages);
    assert!(worst_error(&clocks, &estimated, 2, [0, 60 * SECOND]) < 20_000);
}

#[test]
fn all_links_are_explained_not_only_those_of_the_tree() {
    let clocks =
        [TrueClock::new(0, 0.0), TrueClock::new(SECOND, 50.0), TrueClock::new(-SECOND, -80.0)];
    // The route over the second host is more certain, but it alone would put the first 150 us too
    // far off: more than the 40 us that the fastest messages to it take.
    let traffic = [
        HostTraffic { least: [40_000, 4_000_000], ..HostTraffic::lan_minute(0, 1) },
        HostTraffic { least: [1_300_000, 1_000_000], ..HostTraffic::lan_minute(0, 2) },
        HostTraffic::lan_minute(1, 2),
    ];
    let messages = random_messages(&traffic, 15);
    let estimated = solve_samples(&clocks, &messages);
    for link in &estimated.links {
        let early = link.least.iter().flatten().map(|message| -message[1]).max();
        assert!(early.unwrap() < 1_000, "{:?} {early:?}", link.hosts);
    }
}

#[test]
fn wrongly_matched_messages_are_left_out() {
    let clocks = [TrueClock::new(0, 0.0), TrueClock::new(SECOND, -30.0)];
    let right = random_messages(&[HostTraffic::lan_minute(0, 1)], 6);
    let mut all = right.clone();
    for second in [7, 20, 21, 44] {
        all.push((0, 1, second * SECOND, (second - 2) * SECOND));
        all.push((1, 0, second * SECOND, second * SECOND - 700_000));
    }
    let estimated = solve_samples(&clocks, &all);
    assert!(
        worst_error(&clocks, &estimated, 1, [0, 60 * SECOND]) < 20_000,
        "{:?}",
        estimated.hosts[1]
    );
    assert!(
        (4..=8).contains(&estimated.links[0].contradicting),
        "{:?}",
        estimated.links[0].contradicting
    );
    assert!(estimated.hosts[1].steps.is_empty());
    assert!(too_early(&clocks, &estimated, &right) <= 1);
}
