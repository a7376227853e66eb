//! Composition of a clock known against a second one, which is known against a third: the first
//! against the third.

use crate::model::{HostClock, HostClockStep};

/// Composes the clock `host`, known on the common time of a group, with the clock that `group` is
/// known against. The result has its offset at the time `at`, in nanoseconds. Uncertainty and
/// source are set by the caller.
pub(crate) fn compose_clocks(host: &HostClock, group: &HostClock, at: i64) -> HostClock {
    // The steps of both clocks in order: time, uncertainty, and whether it is a step of `group`.
    let of_group = group.steps.iter().map(|step| (step.at, step.within_ns, true));
    let of_host = host.steps.iter().map(|step| (group.common_time(step.at), step.within_ns, false));
    let mut breaks: Vec<(i64, i64, bool)> = of_group.chain(of_host).collect();
    breaks.sort_by_key(|(at, ..)| *at);
    let shows = |[of_host, of_group]: [usize; 2], at: i64| {
        host.after_steps(of_host).shown_time(group.after_steps(of_group).shown_time(at))
    };
    let skew = |[of_host, of_group]: [usize; 2]| {
        let [host, group] = [host.after_steps(of_host), group.after_steps(of_group)]
            .map(|clock| clock.skew_ppm / 1e6);
        (host + group + host * group) * 1e6
    };
    let mut passed = [0, 0];
    let at = breaks.first().map_or(at, |first| at.min(first.0));
    let mut model = HostClock {
        host: host.host.clone(),
        against: group.against.clone(),
        at,
        offset_ns: shows(passed, at).saturating_sub(at),
        skew_ppm: skew(passed),
        since: host
            .since
            .or_else(|| group.since.map(|since| host.after_steps(0).shown_time(since))),
        ..HostClock::default()
    };
    for (at, within_ns, is_of_group) in breaks {
        passed[usize::from(is_of_group)] += 1;
        let offset_ns = shows(passed, at).saturating_sub(model.shown_time(at));
        model.steps.push(HostClockStep { at, offset_ns, skew_ppm: skew(passed), within_ns });
    }
    model
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn make_clock(at: i64, offset_ns: i64, skew_ppm: f64, steps: Vec<HostClockStep>) -> HostClock {
        HostClock { at, offset_ns, skew_ppm, steps, ..HostClock::default() }
    }

    fn make_step(at: i64, offset_ns: i64, skew_ppm: f64) -> HostClockStep {
        HostClockStep { at, offset_ns, skew_ppm, within_ns: 3 }
    }

    #[test]
    fn offsets_add_up() {
        // The group's clock is 1000 ahead, the host's another 50.
        let both = compose_clocks(
            &make_clock(700, 50, 0.0, vec![]),
            &make_clock(100, 1_000, 0.0, vec![]),
            10,
        );
        assert_eq!((both.at, both.offset_ns, both.skew_ppm), (10, 1_050, 0.0));
        assert_eq!((both.common_time(2_000), both.shown_time(950)), (950, 2_000));
        // Twice as fast, and then half as fast as that: when the third shows 400, 300 after 100,
        // the group's shows 1700, and the host's, 1000 after 700, 700 + 50 + 500.
        let both = compose_clocks(
            &make_clock(700, 50, -500_000.0, vec![]),
            &make_clock(100, 1_000, 1_000_000.0, vec![]),
            10,
        );
        assert_eq!((both.shown_time(400), both.skew_ppm), (1_250, 0.0));
    }

    #[test]
    fn steps_of_both_clocks_are_kept() {
        // The host was set by 500 when the group's showed 3000, which is 2000 of the third; the
        // group's by 7 at 4000.
        let host = make_clock(0, 50, 0.0, vec![make_step(3_000, 500, 0.0)]);
        let group = make_clock(0, 1_000, 0.0, vec![make_step(4_000, 7, 10.0)]);
        let both = compose_clocks(&host, &group, 5_000);
        assert_eq!((both.at, both.offset_ns), (2_000, 1_050));
        assert_eq!(both.steps, [make_step(2_000, 500, 0.0), make_step(4_000, 7, 10.0)]);
        assert_eq!([1_999, 2_000, 4_000].map(|at| both.shown_time(at)), [3_049, 3_550, 5_557]);
    }

    /// A clock, with steps that never repeat a time that it showed.
    fn any_clock() -> impl Strategy<Value = HostClock> {
        let steps =
            proptest::collection::vec((1..1_000_000_i64, 0..1_000_000_i64, -200.0..200.0), 0..4);
        (0..1_000_000_i64, -1_000_000_000..1_000_000_000_i64, -200.0..200.0, steps).prop_map(
            |(at, offset, skew, mut steps)| {
                steps.sort_by_key(|(at, ..)| *at);
                steps.dedup_by_key(|(at, ..)| *at);
                let steps = steps
                    .into_iter()
                    .map(|(at, offset, skew)| make_step(at, offset, skew))
                    .collect();
                make_clock(at, offset, skew, steps)
            },
        )
    }

    proptest! {
        /// Composition equals the two clocks applied in sequence, except for rounding and at the
        /// steps themselves.
        #[test]
        fn composition_equals_both_clocks_in_sequence(host in any_clock(), group in any_clock(), at in 0..1_000_000_i64, time in 0..2_000_000_i64) {
            let both = compose_clocks(&host, &group, at);
            prop_assume!(both.steps.iter().all(|step| step.at.abs_diff(time) > 10));
            let difference = both.shown_time(time) - host.shown_time(group.shown_time(time));
            prop_assert!(difference.abs() <= 10, "{} {:?}", difference, both);
        }
    }
}
