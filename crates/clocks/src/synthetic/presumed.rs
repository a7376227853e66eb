//! Hosts that are presumed to have one clock.

use super::*;
use crate::ClockSource;

fn presumed_hosts(count: usize) -> Vec<HostFacts> {
    let one = |facts: HostFacts| HostFacts { machine: 1, is_presumed: true, ..facts };
    host_facts(count).into_iter().map(one).collect()
}

/// Returns the hosts with a clock other than the one that most hosts share.
fn separate_clocks(estimated: &ClockModel) -> Vec<&str> {
    let is_apart = |host: &&HostClock| host.source == ClockSource::Messages;
    estimated.hosts.iter().filter(is_apart).map(|host| host.host.as_str()).collect()
}

/// Messages that take ten times as long there as back: an estimate would put them in the middle.
fn asymmetric_traffic(a: usize, b: usize) -> HostTraffic {
    HostTraffic { least: [1_000_000, 100_000], ..HostTraffic::lan_minute(a, b) }
}

#[test]
fn of_ten_hosts_the_one_that_contradicts_has_a_clock_of_its_own() {
    // The first exchanges messages with all others, and two of those with each other.
    let mut traffic: Vec<HostTraffic> = (1..10).map(|host| asymmetric_traffic(0, host)).collect();
    traffic.push(asymmetric_traffic(4, 7));
    for (offset, skew) in [(3_000_000, 0.0), (-3_000_000, 15.0)] {
        let mut clocks = vec![TrueClock::new(0, 0.0); 10];
        clocks[4] = TrueClock::new(offset, skew);
        let messages = random_messages(&traffic, 21);
        let estimated =
            estimate_clocks(&presumed_hosts(10), &collect_samples(&clocks, &messages), None);
        assert_eq!((estimated.reference.as_str(), separate_clocks(&estimated)), ("h0", vec!["h4"]));
        for host in estimated.hosts.iter().filter(|host| host.host != "h4") {
            assert_eq!((host.offset_ns, host.skew_ppm), (0, 0.0), "{}", host.host);
            let is_first = host.host == "h0";
            let source = if is_first { ClockSource::Reference } else { ClockSource::Presumed };
            assert_eq!((host.source, host.uncertainty_ns.is_some()), (source, is_first));
        }
        // The delays leave 1.1 ms, and the estimate is in the middle.
        assert!(worst_error(&clocks, &estimated, 4, [0, 60 * SECOND]) < 550_000);
    }
}

#[test]
fn hosts_that_differ_without_direct_messages_are_not_one_clock() {
    let traffic: Vec<HostTraffic> = (1..4).map(|host| HostTraffic::lan_minute(0, host)).collect();
    let clocks = [0, 3_000_000, -2_000_000, 0].map(|offset| TrueClock::new(offset, 0.0));
    let messages = random_messages(&traffic, 22);
    // The first explains both contradictions, but then no line fits its clock.
    let estimated =
        estimate_clocks(&presumed_hosts(4), &collect_samples(&clocks, &messages), Some(3));
    assert_eq!(separate_clocks(&estimated), ["h0", "h1", "h2"]);
    for (host, clock) in estimated.hosts.iter().zip(&clocks) {
        let error = host.offset_ns - clock.offset;
        assert!(error.abs() < 100_000, "{} {error}", host.host);
    }
}

#[test]
fn a_host_that_differs_from_all_others_is_set_apart_alone() {
    let traffic: Vec<HostTraffic> = (1..6).map(|host| HostTraffic::lan_minute(0, host)).collect();
    let mut clocks = vec![TrueClock::new(0, 0.0); 6];
    clocks[0] = TrueClock::new(5_000_000, -20.0);
    let messages = random_messages(&traffic, 23);
    let estimated =
        estimate_clocks(&presumed_hosts(6), &collect_samples(&clocks, &messages), Some(1));
    assert_eq!(separate_clocks(&estimated), ["h0"]);
    assert!((estimated.hosts[0].offset_ns - 5_000_000).abs() < 50_000);
}

#[test]
fn hosts_that_nothing_contradicts_are_one_clock() {
    let traffic: Vec<HostTraffic> = (1..5).map(|host| asymmetric_traffic(host - 1, host)).collect();
    let clocks = vec![TrueClock::new(0, 0.0); 5];
    let estimated = estimate_clocks(
        &presumed_hosts(5),
        &collect_samples(&clocks, &random_messages(&traffic, 24)),
        None,
    );
    assert!(estimated.hosts.iter().all(|host| host.offset_ns == 0 && host.skew_ppm == 0.0));
    assert!(separate_clocks(&estimated).is_empty());
}
