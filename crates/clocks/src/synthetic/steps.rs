//! Clocks that are set or slewed, as messages and logs show it.

use super::*;

/// Solves, and compares all hosts with the truth except for a second around steps.
fn assert_within(
    clocks: &[TrueClock],
    traffic: &[HostTraffic],
    seed: u64,
    most: i64,
) -> ClockModel {
    let messages = random_messages(traffic, seed);
    let estimated = solve_samples(clocks, &messages);
    for (number, host) in estimated.hosts.iter().enumerate() {
        assert_eq!(host.steps.len(), clocks[number].steps.len(), "{number} {:#?}", estimated.hosts);
        for (step, (at, by)) in host.steps.iter().zip(&clocks[number].steps) {
            let at = clocks[0].shown_time(*at)
                - clocks[0]
                    .steps
                    .iter()
                    .filter(|(when, _)| when <= at)
                    .map(|(_, by)| by)
                    .sum::<i64>();
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
                // Times that it showed twice, or nearly, count as the first.
                let shown = clocks[number].shown_time(at);
                let is_first = clocks[number].steps[..piece].iter().all(|(when, _)| {
                    shown > clocks[number].shown_time(*when - 1) + SECOND
                        || shown < clocks[number].shown_time(0)
                });
                if !is_first {
                    continue;
                }
                let never_set = TrueClock { steps: Vec::new(), ..clocks[0].clone() };
                let off = (host.common_time(shown) - never_set.shown_time(at)).abs();
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
            let stepped =
                TrueClock { steps: vec![(at * SECOND, by)], ..TrueClock::new(40 * SECOND, 33.0) };
            assert_within(
                &[TrueClock::new(0, 0.0), stepped],
                &[HostTraffic::lan_minute(0, 1)],
                7,
                40_000,
            );
        }
    }
}

#[test]
fn the_reference_is_set() {
    // All others see it, so it is the reference whose clock was set; the common clock is as if it
    // had not been.
    for by in [-7_200 * SECOND, -SECOND, 3_000_000, SECOND] {
        let stepped = TrueClock { steps: vec![(20 * SECOND, by)], ..TrueClock::new(0, 0.0) };
        let clocks = [
            stepped,
            TrueClock::new(SECOND, 33.0),
            TrueClock::new(-SECOND, -33.0),
            TrueClock::new(5, 100.0),
        ];
        assert_within(
            &clocks,
            &[
                HostTraffic::lan_minute(0, 1),
                HostTraffic::lan_minute(0, 2),
                HostTraffic::lan_minute(0, 3),
            ],
            8,
            40_000,
        );
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
    let clocks: Vec<TrueClock> = steps
        .into_iter()
        .zip([0.0, 10.0, -150.0, 180.0])
        .map(|(steps, skew)| TrueClock { steps, ..TrueClock::new(skew as i64 * SECOND, skew) })
        .collect();
    let lan = |a, b| HostTraffic::lan_minute(a, b);
    assert_within(&clocks, &[lan(0, 1), lan(0, 2), lan(1, 2), lan(2, 3), lan(0, 3)], 9, 40_000);
    // Along a path: the third is known by the second alone.
    assert_within(&clocks, &[lan(0, 1), lan(1, 2), lan(2, 3)], 10, 80_000);
}

#[test]
fn a_clock_that_is_slewed() {
    // From 20 s on it loses 500 ppm more: 15 ms until the end.
    let clocks = [TrueClock::new(0, 0.0), TrueClock::new(SECOND, 0.0)];
    let all = random_messages(&[HostTraffic::lan_minute(0, 1)], 11);
    let mut samples = ClockSamples::new(2);
    let shows = |at: i64| clocks[1].shown_time(at) - (at - 20 * SECOND).max(0) / 2_000;
    for (from, _, sent, received) in &all {
        match from {
            0 => samples.add_message(0, 1, BEGIN + sent, shows(*received)),
            _ => samples.add_message(1, 0, shows(*sent), BEGIN + received),
        }
    }
    let estimated = estimate_clocks(&host_facts(2), &samples, Some(0));
    let host = &estimated.hosts[1];
    assert_eq!(host.steps.len(), 1, "{host:?}");
    assert!(
        (host.skew_ppm).abs() < 5.0 && (host.steps[0].skew_ppm + 500.0).abs() < 5.0,
        "{host:?}"
    );
    assert!(
        host.steps[0].offset_ns.abs() < 100
            && (host.steps[0].at - BEGIN - 20 * SECOND).abs() < SECOND,
        "{host:?}"
    );
    for at in (0..60).map(|at| at * SECOND) {
        assert!((host.common_time(shows(at)) - BEGIN - at).abs() < 40_000, "{at} {host:?}");
    }
}

#[test]
fn steps_recorded_in_the_logs() {
    // Between 20 s and 40 s there are no messages, and the clock was set twice, which messages
    // cannot separate.
    let steps = vec![(25 * SECOND, 10 * SECOND), (35 * SECOND, -3 * SECOND)];
    let clocks = [TrueClock::new(0, 0.0), TrueClock { steps, ..TrueClock::new(SECOND, 12.0) }];
    let quiet = |between| HostTraffic { between, ..HostTraffic::lan_minute(0, 1) };
    let messages =
        random_messages(&[quiet([0, 20 * SECOND]), quiet([40 * SECOND, 60 * SECOND])], 12);
    let mut hosts = host_facts(2);
    hosts[1].last = clocks[1].shown_time(60 * SECOND);
    hosts[1].set = clocks[1]
        .steps
        .iter()
        .map(|(at, by)| crate::ClockSet {
            at: clocks[1].shown_time(at - 1),
            before_ns: 0,
            offset_ns: *by,
        })
        .collect();
    let estimated = estimate_clocks(&hosts, &collect_samples(&clocks, &messages), Some(0));
    let host = &estimated.hosts[1];
    assert_eq!(
        host.steps.iter().map(|step| step.offset_ns).collect::<Vec<_>>(),
        [10 * SECOND, -3 * SECOND]
    );
    assert!(too_early(&clocks, &estimated, &messages) <= 1, "{host:?}");
    for at in [1, 10, 19, 24, 26, 27, 39, 50, 59] {
        let off = estimate_error(&clocks, host, 1, at * SECOND);
        assert!(off.abs() < 30_000, "{at} {off} {host:?}");
    }
}
