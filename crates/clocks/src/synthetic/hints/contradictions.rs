//! Exchanges that contradict messages, or the exchanges of other hosts.

use super::*;
use crate::HintCheck;

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
