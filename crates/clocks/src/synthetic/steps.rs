//! Clocks that are set or slewed, as messages show it and as logs tell.

use super::*;

/// Solves, and holds all hosts against the truth but for a second around steps.
fn hold(clocks: &[True], traffic: &[Traffic], seed: u64, most: i64) -> Clocks {
    let messages = messages(traffic, seed);
    let estimated = solve(clocks, &messages);
    for (number, host) in estimated.hosts.iter().enumerate() {
        assert_eq!(host.steps.len(), clocks[number].steps.len(), "{number} {:#?}", estimated.hosts);
        for (step, (at, by)) in host.steps.iter().zip(&clocks[number].steps) {
            let at = clocks[0].shows(*at)
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
                // What it showed twice, or nearly, is taken for the first.
                let shown = clocks[number].shows(at);
                let is_first = clocks[number].steps[..piece].iter().all(|(when, _)| {
                    shown > clocks[number].shows(*when - 1) + SECOND
                        || shown < clocks[number].shows(0)
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
    // All others see it, so it is the reference whose clock was set; the common clock is as if it
    // had not been.
    for by in [-7_200 * SECOND, -SECOND, 3_000_000, SECOND] {
        let stepped = True { steps: vec![(20 * SECOND, by)], ..True::new(0, 0.0) };
        let clocks =
            [stepped, True::new(SECOND, 33.0), True::new(-SECOND, -33.0), True::new(5, 100.0)];
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
        assert!((host.common(shows(at)) - BEGIN - at).abs() < 40_000, "{at} {host:?}");
    }
}

#[test]
fn steps_that_the_logs_tell_of() {
    // Between 20 s and 40 s nothing was said; in it the clock was set twice, which messages cannot
    // tell apart.
    let steps = vec![(25 * SECOND, 10 * SECOND), (35 * SECOND, -3 * SECOND)];
    let clocks = [True::new(0, 0.0), True { steps, ..True::new(SECOND, 12.0) }];
    let quiet = |between| Traffic { between, ..Traffic::lan(0, 1) };
    let messages = messages(&[quiet([0, 20 * SECOND]), quiet([40 * SECOND, 60 * SECOND])], 12);
    let mut hosts = facts(2);
    hosts[1].last = clocks[1].shows(60 * SECOND);
    hosts[1].set = clocks[1]
        .steps
        .iter()
        .map(|(at, by)| crate::ClockSet {
            at: clocks[1].shows(at - 1),
            before_ns: 0,
            offset_ns: *by,
        })
        .collect();
    let estimated = estimate(&hosts, &samples(&clocks, &messages), Some(0));
    let host = &estimated.hosts[1];
    assert_eq!(
        host.steps.iter().map(|step| step.offset_ns).collect::<Vec<_>>(),
        [10 * SECOND, -3 * SECOND]
    );
    assert!(too_early(&clocks, &estimated, &messages) <= 1, "{host:?}");
    for at in [1, 10, 19, 24, 26, 27, 39, 50, 59] {
        let off = error(&clocks, host, 1, at * SECOND);
        assert!(off.abs() < 30_000, "{at} {off} {host:?}");
    }
}
