//! Pairs of clocks: the messages with least delay in both directions, as timestamps on both clocks.
//!
//! A message is a moment on both clocks: one was read when it was sent, the other later, when it
//! was received. So the difference of the clocks, second minus first, is at most the difference of
//! the two times for a message from the first to the second, and at least that for a message back.
//! The choice of the clock for the time axis changes neither these bounds nor the lines, unless one
//! of the clocks is set.

use crate::pairs::region::{BoundPoint, FittedLine, LineBounds};
use crate::samples::DelayMinima;
use crate::tuning::MAX_SKEW;

/// The times at which one message was sent and received, each on its own host's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TimestampPair {
    /// Time on the first clock, in nanoseconds.
    pub(crate) a: i64,
    /// Time on the second clock, in nanoseconds.
    pub(crate) b: i64,
    /// Whether the message went from the first to the second host, so that the difference is at
    /// most `b - a`; otherwise it is at least `b - a`.
    pub(crate) above: bool,
}

/// Two clocks and the messages between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClockPair {
    /// Number of the first clock, which is the lower one.
    pub(crate) a: usize,
    /// Number of the second clock.
    pub(crate) b: usize,
    /// Number of messages from the first to the second, and back.
    pub(crate) messages: [u64; 2],
    /// The messages with least delay.
    pub(crate) timestamps: Vec<TimestampPair>,
}

impl TimestampPair {
    /// Returns the time on the axis of the `second` clock, or else of the first, in nanoseconds.
    pub(crate) fn time_on_axis(&self, second: bool) -> i64 {
        if second { self.b } else { self.a }
    }

    /// Returns the bound on the difference of the clocks, relative to an origin in time and in
    /// difference.
    pub(crate) fn as_bound(&self, second: bool, origin: AxisOrigin) -> BoundPoint {
        let at = self.time_on_axis(second).saturating_sub(origin.at);
        let value = self.b.saturating_sub(self.a).saturating_sub(origin.difference);
        BoundPoint { at: at as f64, value: value as f64 }
    }
}

impl TimestampPair {
    /// Returns the timestamp pair of a point over the first clock's time. Both numbers of the point
    /// are whole nanoseconds.
    fn from_point(point: BoundPoint, above: bool, origin: AxisOrigin) -> TimestampPair {
        let a = origin.at.saturating_add(point.at as i64);
        let difference = origin.difference.saturating_add(point.value as i64);
        TimestampPair { a, b: a.saturating_add(difference), above }
    }
}

/// Returns the timestamp pairs that bound a line tightly; the line is over the first clock's time.
pub(crate) fn binding_stamps(fit: &FittedLine, origin: AxisOrigin) -> Vec<TimestampPair> {
    let [above, below] = fit.binding_points();
    let above = above.iter().map(|point| TimestampPair::from_point(*point, true, origin));
    above
        .chain(below.iter().map(|point| TimestampPair::from_point(*point, false, origin)))
        .collect()
}

/// Origin of times and differences, in nanoseconds, so that they fit into an `f64`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct AxisOrigin {
    /// A time on the axis, in nanoseconds.
    pub(crate) at: i64,
    /// A difference of the clocks, in nanoseconds.
    pub(crate) difference: i64,
}

impl AxisOrigin {
    /// Returns the origin for some timestamp pairs: the time and the difference of the first.
    pub(crate) fn from_stamps(stamps: &[TimestampPair], second: bool) -> AxisOrigin {
        stamps.first().map_or(AxisOrigin::default(), |stamp| AxisOrigin {
            at: stamp.time_on_axis(second),
            difference: stamp.b.saturating_sub(stamp.a),
        })
    }
}

/// Fits the line that the difference of the clocks follows over the time of one of them: of the
/// `second`, or of the first. `None` if no line fits.
pub(crate) fn fit_stamps<'a>(
    stamps: impl Iterator<Item = &'a TimestampPair>,
    second: bool,
    origin: AxisOrigin,
) -> Option<FittedLine> {
    let (above, below): (Vec<_>, Vec<_>) = stamps.partition(|stamp| stamp.above);
    let points = |stamps: Vec<&TimestampPair>| {
        stamps.iter().map(|stamp| stamp.as_bound(second, origin)).collect()
    };
    LineBounds::new(points(above), points(below), [-MAX_SKEW, MAX_SKEW]).fit_line()
}

/// Returns all pairs of clocks with messages. `clock_of` is each host's clock, and `on_clock`
/// converts a host's own time to the time of its clock, if possible.
pub(crate) fn clock_pairs(
    minima: &[&DelayMinima],
    clock_of: &[usize],
    on_clock: impl Fn(usize, i64) -> Option<i64>,
) -> Vec<ClockPair> {
    let mut pairs: Vec<ClockPair> = Vec::new();
    let mut halves: Vec<(usize, usize, bool, &DelayMinima)> = minima
        .iter()
        .filter_map(|minima| {
            let (from, to) =
                (*clock_of.get(minima.from as usize)?, *clock_of.get(minima.to as usize)?);
            (from != to).then_some((from.min(to), from.max(to), from < to, *minima))
        })
        .collect();
    halves.sort_by_key(|(a, b, _, minima)| (*a, *b, minima.from, minima.to));
    for (a, b, above, minima) in halves {
        if pairs.last().is_none_or(|pair| (pair.a, pair.b) != (a, b)) {
            pairs.push(ClockPair { a, b, messages: [0; 2], timestamps: Vec::new() });
        }
        let Some(pair) = pairs.last_mut() else { continue };
        pair.messages[usize::from(!above)] += minima.messages;
        pair.timestamps.extend(minima.points.iter().filter_map(|sample| {
            let sent = on_clock(minima.from as usize, sample.sent)?;
            let received = on_clock(minima.to as usize, sample.received)?;
            let (a, b) = if above { (sent, received) } else { (received, sent) };
            Some(TimestampPair { a, b, above })
        }));
    }
    pairs
}
