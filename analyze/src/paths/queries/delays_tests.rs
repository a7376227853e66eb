//! Delays by node and by hop: by hand, and compared with a simple loop over the instances.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use message_trace::MessageTrace;
use proptest::prelude::*;

use super::*;
use crate::fixture::{Fixture, analyzed, some_trace};
use crate::options::WorkDivision;
use crate::paths::{PathInstances, PathPattern, TimedInstances};

/// The number of messages, and the known delays with their weights.
type DelaySamples = (u64, Vec<(i64, f64)>);

fn close(one: f64, other: f64) -> bool {
    (one - other).abs() <= 1e-9 * one.abs().max(other.abs()).max(1.0)
}

/// Requests a -> b -> dns and back; dns was not traced. b works for 10, 20 and 60 before its call,
/// and for 5 before its response; the network from a to b takes 7, the way back is not seen; dns
/// responds after 100, 100 and 400.
fn requests() -> MessageTrace {
    let mut trace = Fixture::new().untraced(&["dns"]);
    for (request, (before, dns)) in (0..).zip([(10, 100), (20, 100), (60, 400)]) {
        let time = 100_000 * request;
        trace.send("a", "b", time, time + 7).ports(40_000, 80);
        let asks = time + 7 + before;
        trace.send("b", "dns", asks, 0).ports(40_000, 53);
        trace.send("dns", "b", 0, asks + dns).ports(53, 40_000).accepting();
        trace.send("b", "a", asks + dns + 5, 0).ports(80, 40_000).accepting().lost();
    }
    trace.trace()
}

#[test]
fn a_hand_made_trace_gives_the_expected_figures() {
    let (_directory, dir) = analyzed(&requests());
    let patterns = PathPattern::read_all(dir.patterns_path()).unwrap();
    let whole = patterns.iter().find(|pattern| pattern.hops.len() == 4).unwrap();
    let only = PathFilter { patterns: vec![whole.id], ..PathFilter::default() };
    let nodes = DelayTable::for_nodes(&dir, &only, &AnalysisResources::default(), &()).unwrap();
    assert_eq!((nodes.instances, nodes.expected), (3, whole.expected));
    assert!(close(nodes.total_time, whole.total_time));
    let [b, dns] = &nodes.rows[..] else { panic!("{nodes:?}") };
    assert_eq!((b.node.as_str(), b.traced, b.delays.count), ("b", true, 6));
    // 5, 5, 5, 10, 20, 60 (the 99th percentile), each with the probability of its request.
    let instances = PathInstances::read(dir.paths_path()).unwrap();
    let of = instances.iter().filter(|instance| i64::from(instance.pattern) == whole.id);
    let p: Vec<f64> = of.map(|instance| instance.probability).collect();
    let weighted = |delays: [f64; 3]| p[0] * delays[0] + p[1] * delays[1] + p[2] * delays[2];
    let delay = b.delays.delay.unwrap();
    assert_eq!((delay.p50, delay.p99), (5.0, 60.0));
    let total = weighted([5.0 + 10.0, 5.0 + 20.0, 5.0 + 60.0]);
    assert!(close(b.delays.expected, 2.0 * p.iter().sum::<f64>()), "{b:?}");
    assert!(
        close(b.delays.total_time, total) && close(delay.mean, total / b.delays.expected),
        "{b:?}"
    );
    let server = whole.hops[1].dst.as_str();
    assert_eq!((dns.node.as_str(), dns.traced, dns.delays.count), (server, false, 3));
    let delay = dns.delays.delay.unwrap();
    assert!(close(delay.mean, weighted([100.0, 100.0, 400.0]) / p.iter().sum::<f64>()), "{dns:?}");
    assert_eq!((delay.p50, delay.p99), (100.0, 400.0));

    let hops = DelayTable::for_hops(&dir, &only, &AnalysisResources::default(), &()).unwrap();
    let in_words = |hop: &HopDelays| {
        (hop.src.clone(), hop.dst.clone(), hop.delays.delay.map(|delay| delay.p50))
    };
    let of = |src: &str, dst: &str, delay| (src.to_owned(), dst.to_owned(), delay);
    let expected =
        [of("a", "b", Some(7.0)), of("b", server, None), of(server, "b", None), of("b", "a", None)];
    assert_eq!(hops.rows.iter().map(in_words).collect::<Vec<_>>(), expected);
    assert!(hops.rows.iter().all(|hop| hop.delays.count == 3 && close(hop.delays.bytes, 100.0)));
    assert!(hops.rows[0].dst_traced && !hops.rows[1].dst_traced);

    // The second request alone.
    let second = PathFilter { from: Some(100_000), to: Some(200_000), ..only };
    let nodes = DelayTable::for_nodes(&dir, &second, &AnalysisResources::default(), &()).unwrap();
    assert_eq!(nodes.rows.iter().map(|node| node.delays.count).collect::<Vec<_>>(), [2, 1]);
    assert_eq!(nodes.rows[0].delays.delay.unwrap().p99, 20.0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn tables_equal_the_reference_implementation(
        trace in some_trace(),
        memory in prop::sample::select(vec![0, 500, 1 << 20]),
        threads in 1usize..4,
        from in prop::option::of(0i64..400),
    ) {
        let (_directory, dir) = analyzed(&trace);
        let patterns = PathPattern::read_all(dir.patterns_path()).unwrap();
        let filter = PathFilter { from, ..PathFilter::default() };
        // Several hops in a partition.
        let division = WorkDivision { partitions: 2, ..AnalysisResources::default().division };
        let resources = AnalysisResources { memory, threads: NonZeroUsize::new(threads), division };
        let mut nodes: BTreeMap<(String, bool), DelaySamples> = BTreeMap::new();
        let mut hops: BTreeMap<[String; 4], DelaySamples> = BTreeMap::new();
        let timed = TimedInstances::open(&dir).unwrap();
        for group in 0..timed.group_count() {
            let each = |instance: &TimedInstance<'_>| {
                if !filter.is_in_time(instance) {
                    return Ok(());
                }
                let p = instance.which.probability;
                for (place, hop) in patterns[instance.which.pattern as usize].hops.iter().enumerate() {
                    let delays = [(true, instance.node_latency(place)), (false, instance.untraced_latency(place))];
                    for (traced, delay) in delays.into_iter().filter_map(|(traced, delay)| Some((traced, delay?))) {
                        let of = nodes.entry((hop.src.clone(), traced)).or_default();
                        of.0 += 1;
                        of.1.push((delay, p));
                    }
                    let key = [&hop.src, &hop.dst, &hop.src_port, &hop.dst_port].map(String::clone);
                    let of = hops.entry(key).or_default();
                    of.0 += 1;
                    of.1.extend(instance.network_latency(place).map(|delay| (delay, p)));
                }
                Ok(())
            };
            timed.read_group(group, |_| true, each).unwrap();
        }
        let found = DelayTable::for_nodes(&dir, &filter, &resources, &()).unwrap();
        prop_assert_eq!(found.rows.len(), nodes.len());
        for row in &found.rows {
            let (count, delays) = nodes.get_mut(&(row.node.clone(), row.traced)).unwrap();
            prop_assert_eq!((row.delays.count, row.delays.delay), (*count, DelaySummary::from_samples(delays)));
        }
        let found = DelayTable::for_hops(&dir, &filter, &resources, &()).unwrap();
        prop_assert_eq!(found.rows.len(), hops.len());
        for row in &found.rows {
            let key = [&row.src, &row.dst, &row.src_port, &row.dst_port].map(String::clone);
            let (count, delays) = hops.get_mut(&key).unwrap();
            prop_assert_eq!((row.delays.count, row.delays.delay), (*count, DelaySummary::from_samples(delays)));
        }
        // Rows are in the order of the patterns.
        let first = |row: &HopDelays| {
            patterns.iter().flat_map(|pattern| &pattern.hops).position(|hop| {
                (&hop.src, &hop.dst, &hop.src_port, &hop.dst_port) == (&row.src, &row.dst, &row.src_port, &row.dst_port)
            })
        };
        prop_assert!(found.rows.is_sorted_by_key(first));
        if from.is_none() {
            let total: f64 = patterns.iter().map(|pattern| pattern.total_time).sum();
            prop_assert!(close(found.total_time, total));
            let expected: f64 = patterns.iter().map(|pattern| pattern.expected).sum();
            prop_assert!(close(found.expected, expected));
        }
    }
}
