//! All that two clocks showed each other: the messages with least delay in both directions, as
//! marks on both clocks.
//!
//! A message is a moment on both clocks: one read its time when it was sent, the other later, when
//! it was received. So the difference of the clocks, second minus first, is at most that of the two
//! times for a message from the first to the second, and at least that for a message back. Which
//! clock is taken for the time axis makes no difference to that, and none to the lines; it does
//! where one of the clocks is set.

use super::region::{Bounds, Fit, Point};
use super::samples::{Minima, SLOPE};

/// The greatest difference in speed of two clocks.
pub(super) const SKEW: f64 = 1.0 / SLOPE as f64;

/// A message between two clocks: what they showed when it was sent and received, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Mark {
    /// The first clock.
    pub(super) a: i64,
    /// The second clock.
    pub(super) b: i64,
    /// From the first to the second, so the difference is at most `b - a`; otherwise it is at least
    /// that.
    pub(super) above: bool,
}

/// Two clocks and the messages between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Link {
    /// The first clock, the one with the lower number.
    pub(super) a: usize,
    /// The second clock.
    pub(super) b: usize,
    /// How many messages there were from the first to the second, and back.
    pub(super) messages: [u64; 2],
    /// Those with least delay.
    pub(super) marks: Vec<Mark>,
}

impl Mark {
    /// The time on an axis: the first clock's or the second's.
    pub(super) fn at(&self, second: bool) -> i64 {
        if second { self.b } else { self.a }
    }

    /// As a bound on the difference of the clocks, relative to an origin in time and in difference.
    pub(super) fn point(&self, second: bool, origin: Origin) -> Point {
        let at = self.at(second).saturating_sub(origin.at);
        let value = self.b.saturating_sub(self.a).saturating_sub(origin.difference);
        Point { at: at as f64, value: value as f64 }
    }
}

impl Mark {
    /// The mark whose point that is, on the first clock's axis. Both are whole nanoseconds.
    fn of(point: Point, above: bool, origin: Origin) -> Mark {
        let a = origin.at.saturating_add(point.at as i64);
        let difference = origin.difference.saturating_add(point.value as i64);
        Mark { a, b: a.saturating_add(difference), above }
    }
}

/// Those marks of a line over the first clock's time that hold it in its place.
pub(super) fn holding(fit: &Fit, origin: Origin) -> Vec<Mark> {
    let [above, below] = fit.holding();
    let above = above.iter().map(|point| Mark::of(*point, true, origin));
    above.chain(below.iter().map(|point| Mark::of(*point, false, origin))).collect()
}

/// What times and differences are relative to, so that they fit into an `f64`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Origin {
    /// A time on the axis.
    pub(super) at: i64,
    /// A difference of the clocks.
    pub(super) difference: i64,
}

impl Origin {
    /// That of some marks.
    pub(super) fn of(marks: &[Mark], second: bool) -> Origin {
        marks.first().map_or(Origin::default(), |mark| Origin {
            at: mark.at(second),
            difference: mark.b.saturating_sub(mark.a),
        })
    }
}

/// The line that the difference of the clocks follows over the time of one of them.
pub(super) fn fit<'a>(
    marks: impl Iterator<Item = &'a Mark>,
    second: bool,
    origin: Origin,
) -> Option<Fit> {
    let (above, below): (Vec<_>, Vec<_>) = marks.partition(|mark| mark.above);
    let points = |marks: Vec<&Mark>| marks.iter().map(|mark| mark.point(second, origin)).collect();
    Bounds::new(points(above), points(below), [-SKEW, SKEW]).fit()
}

/// The links between clocks. `clock_of` gives each host's clock, and `on_clock` its own time on
/// that one, where it can be told.
pub(super) fn links(
    pairs: &[&Minima],
    clock_of: &[usize],
    on_clock: impl Fn(usize, i64) -> Option<i64>,
) -> Vec<Link> {
    let mut links: Vec<Link> = Vec::new();
    let mut halves: Vec<(usize, usize, bool, &Minima)> = pairs
        .iter()
        .filter_map(|pair| {
            let (from, to) = (*clock_of.get(pair.from as usize)?, *clock_of.get(pair.to as usize)?);
            (from != to).then_some((from.min(to), from.max(to), from < to, *pair))
        })
        .collect();
    halves.sort_by_key(|(a, b, _, pair)| (*a, *b, pair.from, pair.to));
    for (a, b, above, pair) in halves {
        if links.last().is_none_or(|link| (link.a, link.b) != (a, b)) {
            links.push(Link { a, b, messages: [0; 2], marks: Vec::new() });
        }
        let Some(link) = links.last_mut() else { continue };
        link.messages[usize::from(!above)] += pair.messages;
        link.marks.extend(pair.points.iter().filter_map(|sample| {
            let sent = on_clock(pair.from as usize, sample.sent)?;
            let received = on_clock(pair.to as usize, sample.received)?;
            let (a, b) = if above { (sent, received) } else { (received, sent) };
            Some(Mark { a, b, above })
        }));
    }
    links
}
