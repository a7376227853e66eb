//! Limits on the clocks of two ends from their times, if the two are one flow: no byte arrives
//! before it is sent. Each byte forth bounds the difference of the clocks from above, each byte
//! back from below.

use super::half_flow::HalfFlowSide;
use super::half_flow_table::HalfFlowView;
use crate::tuning::{MAX_HOST_SKEW, MAX_PAUSE_NATS, MAX_TRAVEL_NS, TIME_SLACK_NS};

/// Window of clock differences: the accepting host's clock minus the connecting host's lies between
/// `low` and `high` nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OffsetWindow {
    pub(super) low: i64,
    pub(super) high: i64,
}

impl OffsetWindow {
    /// The width of the window, in nanoseconds.
    pub(super) fn width(self) -> i64 {
        self.high - self.low
    }
}

/// The window of two ends with the same first `turns` turns; `None` if these cannot be the times of
/// one flow. With `totals` the last bytes are the same as well.
pub(super) fn offset_window(
    connecting: HalfFlowView,
    accepting: HalfFlowView,
    turns: u8,
    totals: bool,
) -> Option<OffsetWindow> {
    let (mut low, mut high) = (i64::MIN, i64::MAX);
    if connecting.side == HalfFlowSide::Connecting && accepting.side == HalfFlowSide::Accepting {
        high = accepting.made - connecting.made;
    }
    // Clocks drift while the flow continues.
    let drift = |time: i64| ((time - connecting.made).max(0) as f64 * MAX_HOST_SKEW) as i64;
    let (sent, got) = (connecting.sent, accepting.received);
    if sent.bytes > 0 && got.bytes > 0 {
        high = high.min(got.first - sent.first + drift(sent.first));
        if totals {
            high = high.min(got.last - sent.last + drift(sent.last));
        }
    }
    let (sent, got) = (accepting.sent, connecting.received);
    if sent.bytes > 0 && got.bytes > 0 {
        low = low.max(sent.first - got.first - drift(got.first));
        if totals {
            low = low.max(sent.last - got.last - drift(got.last));
        }
    }
    for (here, there) in connecting.turns.iter().zip(accepting.turns).take(usize::from(turns)) {
        let difference = there.first - here.first;
        if here.sent {
            high = high.min(difference + drift(here.first));
        } else {
            low = low.max(difference - drift(here.first));
        }
    }
    match (low, high) {
        (i64::MIN, i64::MAX) => return None,
        (i64::MIN, _) => low = high - MAX_TRAVEL_NS,
        (_, i64::MAX) => high = low + MAX_TRAVEL_NS,
        _ => {}
    }
    (low <= high + TIME_SLACK_NS)
        .then_some(OffsetWindow { low: low.min(high), high: high.max(low) })
}

/// Evidence of the pauses between the turns, in nats, if they are the same at both ends: none if
/// they are regular, as those of unrelated timers can be equal too.
pub(super) fn pause_log_odds(connecting: HalfFlowView, turns: u8, window: OffsetWindow) -> f64 {
    let width = (window.width() + 2 * TIME_SLACK_NS) as f64;
    let starts: Vec<i64> = connecting
        .turns
        .iter()
        .take(usize::from(turns))
        .filter(|turn| turn.sent)
        .map(|turn| turn.first)
        .collect();
    let irregular = |times: &[i64]| match times {
        [first, second, third] => ((third - second) - (second - first)).unsigned_abs() as f64,
        _ => 0.0,
    };
    starts
        .windows(3)
        .map(|times| (irregular(times) / width).max(1.0).ln().min(MAX_PAUSE_NATS) / 2.0)
        .sum()
}
