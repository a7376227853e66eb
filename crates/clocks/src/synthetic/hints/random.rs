//! Random exchanges: the stated uncertainty covers the truth, and no messages are overruled.

use proptest::prelude::*;

use super::*;

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
