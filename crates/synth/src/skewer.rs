//! skewer (Project 5, section 7.5.6): gives the clocks of hosts an offset and another rate, or
//! removes such errors from a trace if they are known from another source. A host's clock shows `t
//! + offset + skew * (t - at)` at the time `t`.

use message_trace::{MessageTrace, NodeId};
use rustc_hash::FxHashMap;

use crate::error::Error;
use crate::synthetic_import;

/// The clock of a host.
#[derive(Clone, Debug, PartialEq)]
pub struct SkewedClock {
    /// The host.
    pub host: String,
    /// Offset at [`TraceSkew::at`]: nanoseconds by which the clock is ahead.
    pub offset: i64,
    /// Skew: rate at which the clock runs ahead, in millionths.
    pub skew_ppm: f64,
}

/// Change of a trace.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceSkew {
    /// The clocks; other hosts keep theirs.
    pub clocks: Vec<SkewedClock>,
    /// Time at which the clocks have their offsets, in nanoseconds.
    pub at: i64,
    /// Whether to remove the clocks' errors instead.
    pub remove: bool,
    /// Whether the times on the common clock move, too, so that no stage corrects them. Otherwise
    /// they are removed, and reconcile estimates the clocks.
    pub uncorrected: bool,
    /// Whether a message has only one time, from its sender's clock, at both ends, as in the traces
    /// of Project 5. With two times, an algorithm that looks at one node at a time is not misled by
    /// skew.
    pub one_time: bool,
}

impl SkewedClock {
    /// Time that the clock shows at the true time `time`, in nanoseconds; at the time `at` the
    /// clock is off by its offset.
    fn shown_time(&self, time: i64, at: i64) -> i64 {
        let passed = time.saturating_sub(at);
        time.saturating_add(self.offset)
            .saturating_add((passed as f64 * self.skew_ppm / 1e6).round() as i64)
    }

    /// True time at which the clock shows `shown`.
    fn true_time(&self, shown: i64, at: i64) -> i64 {
        let passed = shown.saturating_sub(at).saturating_sub(self.offset) as f64;
        // The advance of the clock is computed on its own, which keeps the digits that a division
        // of the whole time would lose.
        let ahead = passed * (self.skew_ppm / 1e6) / (1.0 + self.skew_ppm / 1e6);
        shown.saturating_sub(self.offset).saturating_sub(ahead.round() as i64)
    }
}

/// Returns `trace` with the clocks that `skew` gives its hosts.
///
/// # Errors
/// When the trace lacks a host of `skew`, or a host's clock would stand still.
pub fn skew_trace(trace: &MessageTrace, skew: &TraceSkew) -> Result<MessageTrace, Error> {
    let mut clocks: FxHashMap<&str, &SkewedClock> = FxHashMap::default();
    for clock in &skew.clocks {
        if !trace.nodes.0.iter().any(|node| node.host == clock.host) {
            let mut hosts: Vec<&str> =
                trace.nodes.0.iter().map(|node| node.host.as_str()).collect();
            hosts.sort_unstable();
            hosts.dedup();
            hosts.truncate(20);
            let why = format!("there is no host '{}'; hosts are {}", clock.host, hosts.join(", "));
            return Err(Error::Unknown(why));
        }
        if !clock.skew_ppm.is_finite() || clock.skew_ppm <= -1e6 {
            let why =
                format!("the clock of {} would stand still at {} ppm", clock.host, clock.skew_ppm);
            return Err(Error::Unknown(why));
        }
        clocks.insert(&clock.host, clock);
    }
    let of_nodes: Vec<Option<&SkewedClock>> =
        trace.nodes.0.iter().map(|node| clocks.get(node.host.as_str()).copied()).collect();
    let moved = |node: NodeId, time: Option<i64>| {
        let clock = of_nodes.get(node.index()).copied().flatten();
        let by = |clock: &SkewedClock, time| {
            if skew.remove {
                clock.true_time(time, skew.at)
            } else {
                clock.shown_time(time, skew.at)
            }
        };
        clock.zip(time).map_or(time, |(clock, time)| Some(by(clock, time)))
    };
    let mut others = synthetic_import::map_messages(trace, |mut m| {
        // A trace that came with common times only has no times of the hosts' own clocks.
        m.send_first = moved(m.src, m.send_first.or(m.send_ts));
        m.send_last = moved(m.src, m.send_last.or(m.send_ts));
        m.recv_first = moved(m.dst, m.recv_first.or(m.recv_ts));
        m.recv_last = moved(m.dst, m.recv_last.or(m.recv_ts));
        let keep = skew.uncorrected || skew.one_time;
        m.send_ts = moved(m.src, m.send_ts).filter(|_| keep);
        m.recv_ts = moved(m.dst, m.recv_ts).filter(|_| keep);
        if skew.one_time && m.send_first.is_some() {
            (m.recv_first, m.recv_last, m.recv_ts) = (m.send_first, m.send_first, m.send_ts);
        }
        Some(m)
    });
    if skew.uncorrected || skew.one_time {
        others.sort_messages();
    }
    Ok(others)
}

#[cfg(test)]
mod tests {
    use message_trace::MessageId;

    use proptest::prelude::*;

    use super::*;
    use crate::maketrace::{ConfigChanges, make_trace, shipped_config};

    fn clock(offset: i64, skew_ppm: f64) -> SkewedClock {
        SkewedClock { host: "B".into(), offset, skew_ppm }
    }

    fn trace() -> MessageTrace {
        let changes = ConfigChanges { instances: Some(3), ..ConfigChanges::default() };
        make_trace(&shipped_config("children-0-2").unwrap().unwrap().with_changes(&changes), &())
            .unwrap()
            .trace
    }

    #[test]
    fn a_clock_shows_its_offset_and_skew() {
        // A second after 'at', a clock that is 5 us ahead and gains 10 us a second is 15 us ahead.
        assert_eq!(clock(5_000, 10.0).shown_time(2_000_000_000, 1_000_000_000), 2_000_015_000);
        assert_eq!(clock(5_000, 10.0).true_time(2_000_015_000, 1_000_000_000), 2_000_000_000);
        assert_eq!(clock(-3, 0.0).shown_time(1, 0), -2);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn added_skew_can_be_removed(time in 0i64..4_000_000_000_000_000_000, passed in -1_000_000_000_000_000i64..1_000_000_000_000_000, offset in -1_000_000_000_000i64..1_000_000_000_000, ppm in -1000.0f64..1000.0) {
            let (clock, at) = (clock(offset, ppm), time - passed);
            prop_assert!((clock.true_time(clock.shown_time(time, at), at) - time).abs() <= 1);
        }
    }

    #[test]
    fn only_the_times_read_by_the_host_move() {
        let trace = trace();
        let uncorrected = TraceSkew {
            clocks: vec![clock(7, 0.0)],
            at: 0,
            remove: false,
            uncorrected: true,
            one_time: false,
        };
        let skewed = skew_trace(&trace, &uncorrected).unwrap();
        assert_eq!(skewed.len(), trace.len());
        let is_b = |node: NodeId| i64::from(trace.nodes.get(node).unwrap().host == "B");
        let mut at_b = 0;
        for row in trace.ids() {
            let (before, after) = (trace.message(row), skewed.message(row));
            assert_eq!(after.send_ts.unwrap() - before.send_ts.unwrap(), 7 * is_b(before.src));
            assert_eq!(after.recv_last.unwrap() - before.recv_last.unwrap(), 7 * is_b(before.dst));
            assert_eq!(skewed.call_id(row), trace.call_id(row));
            at_b += is_b(before.src);
        }
        assert!(at_b > 0);
        // Without times on the common clock, these have to be estimated again.
        let own =
            skew_trace(&trace, &TraceSkew { uncorrected: false, ..uncorrected.clone() }).unwrap();
        let first = MessageId::from_index(0);
        assert_eq!((own.send_ts(first), own.recv_ts(first)), (None, None));
        assert_eq!(own.message(first).recv_first, trace.recv_ts(first).map(|time| time + 7));
        // With one time, messages from A to B are received by A's clock.
        let one = skew_trace(&trace, &TraceSkew { one_time: true, ..uncorrected.clone() }).unwrap();
        for row in trace.ids() {
            let message = one.message(row);
            assert_eq!((message.recv_ts, message.recv_last), (message.send_ts, message.send_first));
        }
        assert_eq!(one.send_ts(first), trace.send_ts(first));
        let back = skew_trace(&skewed, &TraceSkew { remove: true, ..uncorrected }).unwrap();
        assert!(trace.ids().all(|row| back.message(row) == trace.message(row)));
    }

    #[test]
    fn an_unknown_host_is_reported_with_the_known_ones() {
        let with = |clock| TraceSkew {
            clocks: vec![clock],
            at: 0,
            remove: false,
            uncorrected: false,
            one_time: false,
        };
        let error = skew_trace(&trace(), &with(SkewedClock { host: "X".into(), ..clock(1, 0.0) }))
            .unwrap_err()
            .to_string();
        assert!(error.contains("no host 'X'") && error.contains("A, B, C"), "{error}");
        let error = skew_trace(&trace(), &with(clock(0, -1e6))).unwrap_err().to_string();
        assert!(error.contains("stand still"), "{error}");
    }
}
