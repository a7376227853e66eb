//! Random systems of hosts: the stated uncertainties hold for all of them.

use proptest::prelude::*;

use super::*;

#[test]
fn a_hundred_and_fifteen_hosts() {
    let mut random = RandomSource(13);
    let clocks: Vec<TrueClock> = (0..115)
        .map(|host| {
            TrueClock::new(
                if host == 0 { 0 } else { random.next_below(7_200 * SECOND) - 3_600 * SECOND },
                400.0 * random.next() - 200.0,
            )
        })
        .collect();
    // Each exchanges messages with some before it, so that there is a path, seldom and far away.
    let traffic: Vec<HostTraffic> = (1..115)
        .flat_map(|host| (0..3).map(move |_| host))
        .map(|host| HostTraffic {
            hosts: [host, random.next_below(host as i64) as usize],
            least: [
                5_000_000 + random.next_below(40_000_000),
                5_000_000 + random.next_below(40_000_000),
            ],
            messages: [30, 30],
            between: [0, 600 * SECOND],
        })
        .collect();
    let messages = random_messages(&traffic, 14);
    let estimated = solve_samples(&clocks, &messages);
    assert!(estimated.hosts.iter().all(|host| host.against == "h0" && host.steps.is_empty()));
    assert!(too_early(&clocks, &estimated, &messages) <= 1);
    for number in 0..115 {
        let off = worst_error(&clocks, &estimated, number, [10 * SECOND, 590 * SECOND]);
        assert!(off <= estimated.hosts[number].uncertainty_ns.unwrap(), "{number} {off}");
    }
}

/// Any system of hosts: clocks, and the traffic between them.
fn any_systems() -> impl Strategy<Value = (Vec<TrueClock>, Vec<HostTraffic>, u64)> {
    let clock = (-10_000 * SECOND..10_000 * SECOND, -200.0..200.0)
        .prop_map(|(offset, skew)| TrueClock::new(offset, skew));
    let clocks = proptest::collection::vec(clock, 2..7);
    clocks.prop_flat_map(|mut clocks| {
        clocks[0] = TrueClock::new(0, 0.0);
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
            .prop_map(|(a, b, there, back, many, more, begin, long)| HostTraffic {
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

    /// For any clocks, delays and traffic: the truth is within the stated uncertainty, and no
    /// message arrives before it was sent by more than that.
    #[test]
    fn the_truth_is_within_the_stated_uncertainty((clocks, traffic, seed) in any_systems()) {
        let messages = random_messages(&traffic, seed);
        prop_assume!(!messages.is_empty());
        let estimated = solve_samples(&clocks, &messages);
        prop_assert!(too_early(&clocks, &estimated, &messages) <= 1, "{:#?}", estimated.hosts);
        for (number, host) in estimated.hosts.iter().enumerate() {
            prop_assert!(host.steps.is_empty(), "{:#?}", host);
            let Some(uncertainty) = host.uncertainty_ns.filter(|_| host.against == "h0") else { continue };
            let times = messages.iter().filter(|(from, to, _, _)| *from == number || *to == number);
            let times: Vec<i64> = times.map(|(_, _, sent, _)| *sent).collect();
            let (first, last) = (times.iter().min().copied(), times.iter().max().copied());
            let (Some(first), Some(last)) = (first, last) else { continue };
            let off = worst_error(&clocks, &estimated, number, [first, last]);
            prop_assert!(off <= uncertainty + 2, "{} off by {} {:#?}", number, off, host);
            let skew = clocks[number].skew - host.skew_ppm;
            prop_assert!(skew.abs() <= host.skew_uncertainty_ppm.unwrap() * 1.001 + 0.01, "{} {:#?}", number, host);
        }
    }

    /// Any LAN with a third of its hosts not traced: as exact as required.
    #[test]
    fn a_lan_is_exact(
        clocks in proptest::collection::vec((-10_000 * SECOND..10_000 * SECOND, -200.0..200.0), 4..9),
        untraced in proptest::collection::vec(any::<bool>(), 9),
        seed in any::<u64>(),
    ) {
        let mut clocks: Vec<TrueClock> = clocks.into_iter().map(|(offset, skew)| TrueClock::new(offset, skew)).collect();
        clocks[0] = TrueClock::new(0, 0.0);
        let mut left = clocks.len() / 3;
        let mut is_traced = vec![true; clocks.len()];
        for host in (1..clocks.len()).filter(|host| untraced[*host]) {
            is_traced[host] = left == 0;
            left = left.saturating_sub(1);
        }
        // All exchange messages with all, at 30 to 90 us.
        let mut random = RandomSource(seed);
        let mut traffic = Vec::new();
        for (a, b) in (0..clocks.len()).flat_map(|a| (0..a).map(move |b| (a, b))) {
            let least = [30_000 + random.next_below(60_000), 30_000 + random.next_below(60_000)];
            if is_traced[a] && is_traced[b] {
                traffic.push(HostTraffic { least, messages: [100; 2], ..HostTraffic::lan_minute(a, b) });
            }
        }
        let messages = random_messages(&traffic, seed);
        let estimated = solve_samples(&clocks, &messages);
        for number in (1..clocks.len()).filter(|host| is_traced[*host]) {
            let host = &estimated.hosts[number];
            let off = worst_error(&clocks, &estimated, number, [0, 60 * SECOND]);
            prop_assert!(off < 100_000 && off <= host.uncertainty_ns.unwrap(), "{} {:#?}", off, host);
            prop_assert!(host.uncertainty_ns.unwrap() < 250_000, "{:#?}", host);
            prop_assert!((host.skew_ppm - clocks[number].skew).abs() < 5.0, "{:#?}", host);
        }
        prop_assert!(too_early(&clocks, &estimated, &messages) <= 1);
    }
}
