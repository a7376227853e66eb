//! Calls that timed out among good ones: their times are those of giving up, of starting late, or
//! of late responses that no caller awaits.

use super::{BEGIN, RandomSource, SECOND, TrueClock, estimate_clocks, host_facts, worst_error};
use crate::{ClockModel, ClockSamples};

const MS: i64 = 1_000_000;
const HOUR: i64 = 3_600 * SECOND;
/// Numbers of good calls, all in an hour, and of bad ones among them.
const CALLS: [usize; 2] = [3_840, 20];

/// Outcome of a call that was begun at a time: when the request was received, the response sent,
/// and received.
type TimedOutCall = fn(i64, i64) -> [i64; 3];

/// Kinds of time-outs, given when the call began and how late it was, from a minute to an hour.
const WAYS: [(&str, TimedOutCall); 5] = [
    ("the response is late", |at, late| [at + MS, at + 2 * MS, at + late]),
    ("the request is late", |at, late| [at + late, at + late + MS, at + late + 2 * MS]),
    ("the caller gave up before there was a response", |at, late| {
        [at + MS, at + late, at + 10 * SECOND]
    }),
    ("the caller gave up before the request was taken", |at, late| {
        [at + late, at + late + MS, at + 10 * SECOND]
    }),
    ("the callee gave up after an hour", |at, _| [at + MS, at + HOUR, at + SECOND]),
];

/// Returns the true times of calls: begun, received, answered, back. The bad ones are spread over
/// the hour, or in sequence if `together`.
fn true_calls(bad: TimedOutCall, together: bool, seed: u64) -> Vec<[i64; 4]> {
    let mut random = RandomSource(seed);
    let [good, few] = CALLS;
    let every = (good + few) / few;
    let is_bad = |number: usize| match together {
        true => (good / 2..good / 2 + few).contains(&number),
        false => number % every == every / 2,
    };
    let call = |number: usize| {
        let at = HOUR / (good + few) as i64 * number as i64 + random.next_below(100 * MS);
        let late = 60 * SECOND + random.next_below(HOUR - 60 * SECOND);
        if is_bad(number) {
            let [received, answered, back] = bad(at, late);
            return [at, received, answered, back];
        }
        let received = at + MS + random.next_below(2 * MS);
        let answered = received + random.next_below(10 * MS);
        [at, received, answered, answered + MS + random.next_below(2 * MS)]
    };
    (0..good + few).map(call).collect()
}

fn solve_calls(clocks: &[TrueClock], calls: &[[i64; 4]]) -> ClockModel {
    let mut samples = ClockSamples::new(2);
    for [begun, received, answered, back] in calls {
        samples.add_message(0, 1, clocks[0].shown_time(*begun), clocks[1].shown_time(*received));
        samples.add_message(1, 0, clocks[1].shown_time(*answered), clocks[0].shown_time(*back));
    }
    estimate_clocks(&host_facts(2), &samples, Some(0))
}

#[test]
fn calls_that_timed_out_are_no_steps() {
    let clocks = [TrueClock::default(), TrueClock::new(50 * MS, 10.0)];
    for (way, bad) in WAYS {
        for together in [false, true] {
            let found = solve_calls(&clocks, &true_calls(bad, together, 1));
            let steps: Vec<_> = found.hosts.iter().flat_map(|host| &host.steps).collect();
            assert!(steps.is_empty(), "{way}, together {together}: {steps:?}");
            let off = worst_error(&clocks, &found, 1, [0, HOUR]);
            let stated = found.hosts[1].uncertainty_ns.unwrap();
            assert!(
                off < MS && off <= stated && stated < 3 * MS,
                "{way}, together {together}: {off} {stated}"
            );
        }
    }
}

#[test]
fn a_step_among_timed_out_calls_is_found() {
    for by in [30 * SECOND, -30 * SECOND] {
        let steps = vec![(HOUR / 3, by)];
        let clocks = [TrueClock::default(), TrueClock { steps, ..TrueClock::new(50 * MS, 10.0) }];
        for (way, bad) in WAYS {
            let found = solve_calls(&clocks, &true_calls(bad, false, 2));
            assert!(found.hosts[0].steps.is_empty(), "{way}: {found:#?}");
            let [step] = found.hosts[1].steps.as_slice() else { panic!("{way}: {found:#?}") };
            assert!((step.offset_ns - by).abs() < MS, "{way}: {step:?}");
            assert!((step.at - BEGIN - HOUR / 3).abs() < 10 * SECOND, "{way}: {step:?}");
        }
    }
}
