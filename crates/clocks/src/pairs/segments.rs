//! Splits the difference of two clocks that is not a single line, because one of them was set, or
//! made to run at another rate.
//!
//! Timestamp pairs are added in order of time as long as one line explains them, within
//! [`MISFIT_NS`]; when no line does any more, something has changed. That is the latest possible
//! time of the change; adding the timestamp pairs from the last to the first gives the earliest. A
//! timestamp pair that contradicts both earlier and later ones is of a message that was matched
//! wrongly, and is left out.
//!
//! A clock that is set makes its own time jump, so the timestamp pairs are ordered by the clock of
//! the two that gives the fewest pieces and, of equals, the least time.

use crate::pairs::credibility::credible_pieces;
use crate::pairs::pair::{AxisOrigin, ClockPair, TimestampPair, binding_stamps, fit_stamps};
use crate::pairs::region::{StraightLine, cut_polygon};
use crate::tuning::{
    CONFIRMING_STAMPS, LOOK_AHEAD, MAX_SKEW, MISFIT_NS, NOTABLE_STEP_NS, STRAY_PASSES,
};

/// Maximum difference of two clocks, relative to their first difference, in nanoseconds: about four
/// months.
const MAX_DIFFERENCE_NS: f64 = 1e16;

/// The difference of two clocks, piece by piece.
#[derive(Clone, Debug)]
pub(crate) struct DifferenceSegments {
    /// Whether the time axis is the second clock's.
    pub(crate) second: bool,
    /// Whether the other clock would have been a worse axis, so that it is the one that was set.
    pub(crate) is_sure: bool,
    /// Origin of times and differences.
    pub(crate) origin: AxisOrigin,
    /// The line of each piece.
    pub(crate) lines: Vec<StraightLine>,
    /// Between the lines: the time of the latest timestamp pair that is surely before the change
    /// and of the first that is surely after it, in nanoseconds since the origin.
    pub(crate) breaks: Vec<[f64; 2]>,
    /// Timestamp pairs that contradict the others, by their index in the pair of clocks.
    pub(crate) strays: Vec<usize>,
    /// If there is one line only, the timestamp pairs that bound it tightly; else empty.
    pub(crate) binding: Vec<TimestampPair>,
    /// Time from the first to the last timestamp pair, in nanoseconds.
    span: f64,
}

/// Finds the pieces of the difference of a pair of clocks.
pub(crate) fn find_segments(pair: &ClockPair) -> DifferenceSegments {
    let origin = AxisOrigin::from_stamps(&pair.timestamps, false);
    if let Some(fit) =
        fit_stamps(pair.timestamps.iter(), false, origin).filter(|fit| fit.slack <= MISFIT_NS)
    {
        return DifferenceSegments {
            second: false,
            is_sure: false,
            origin,
            lines: vec![fit.line],
            breaks: Vec::new(),
            strays: Vec::new(),
            binding: binding_stamps(&fit, origin),
            span: 0.0,
        };
    }
    let [first, second] = [false, true].map(|second| split_on_axis(&pair.timestamps, second));
    let [one, other] = [&first, &second].map(|axis| axis.lines.len() + axis.strays.len());
    // Total amount of the settings, by which the axis of a clock that was set is too long or too
    // short.
    let set: f64 = first.jump_sizes().map(f64::abs).sum();
    let longer = first.span - second.span;
    let is_second = one > other || one == other && set > NOTABLE_STEP_NS && longer > 0.25 * set;
    let is_sure = one != other || set > NOTABLE_STEP_NS && longer.abs() > 0.25 * set;
    DifferenceSegments { is_sure, ..if is_second { second } else { first } }
}

impl DifferenceSegments {
    /// Returns by how many nanoseconds the difference of the clocks jumps at each break.
    pub(crate) fn jump_sizes(&self) -> impl Iterator<Item = f64> {
        self.breaks.iter().zip(self.lines.windows(2)).map(|(between, lines)| {
            let middle = 0.5 * (between[0] + between[1]);
            lines[1].value_at(middle) - lines[0].value_at(middle)
        })
    }
}

/// Splits the difference over the time of the `second` clock, or else of the first.
fn split_on_axis(stamps: &[TimestampPair], second: bool) -> DifferenceSegments {
    let origin = AxisOrigin::from_stamps(stamps, second);
    let mut order: Vec<usize> = (0..stamps.len()).collect();
    order.sort_by_key(|place| (stamps[*place].time_on_axis(second), stamps[*place].above));
    let mut strays = Vec::new();
    let at = |place: usize| stamps[place].as_bound(second, origin).at;
    let span =
        order.last().map_or(0.0, |last| at(*last)) - order.first().map_or(0.0, |first| at(*first));
    // Each pass leaves out contradicting timestamp pairs, and pieces that are not credible.
    for _ in 0..STRAY_PASSES {
        let (begins, mut useless) = split_pieces(stamps, &order, second, origin);
        let cuts: Vec<usize> = [0].into_iter().chain(begins).chain([order.len()]).collect();
        let of_piece = |cut: &[usize]| -> Vec<usize> {
            order[cut[0]..cut[1]].iter().filter(|place| !useless.contains(place)).copied().collect()
        };
        let of_pieces: Vec<Vec<usize>> = cuts.windows(2).map(of_piece).collect();
        let piece = |places: &Vec<usize>| places.iter().map(|place| stamps[*place]).collect();
        let believed =
            credible_pieces(&of_pieces.iter().map(piece).collect::<Vec<_>>(), second, origin);
        useless.extend(
            of_pieces
                .iter()
                .zip(believed)
                .filter(|(_, is_believed)| !is_believed)
                .flat_map(|(of, _)| of),
        );
        if useless.is_empty() {
            break;
        }
        order.retain(|place| !useless.contains(place));
        strays.extend(useless);
    }
    let (ends, _) = split_pieces(stamps, &order, second, origin);
    // From the other end: the earliest time of each change.
    let reversed: Vec<usize> = order.iter().rev().copied().collect();
    let (mut starts, _) = split_pieces(stamps, &reversed, second, origin);
    starts.reverse();
    let starts: Vec<usize> = starts.iter().map(|start| order.len() - start).collect();
    // `starts` are the first timestamp pairs after the earliest time, `ends` those after the
    // latest.
    let agree =
        starts.len() == ends.len() && starts.iter().zip(&ends).all(|(start, end)| start <= end);
    let starts = if agree { &starts } else { &ends };
    let breaks: Vec<[usize; 2]> =
        starts.iter().zip(&ends).map(|(start, end)| [start - 1, *end]).collect();
    let mut lines = Vec::new();
    for piece in 0..=breaks.len() {
        let begin = piece.checked_sub(1).map_or(0, |before| breaks[before][1]);
        let end = breaks.get(piece).map_or(order.len(), |next| next[0] + 1);
        // The part that is certain to be of the piece or, if it is empty, the part that may be.
        let range = if begin < end { begin..end } else { piece_range(&breaks, piece, order.len()) };
        let of_piece = order[range].iter().map(|place| &stamps[*place]);
        lines.push(
            fit_stamps(of_piece, second, origin).map_or(StraightLine::default(), |fit| fit.line),
        );
    }
    let breaks = breaks.iter().map(|places| places.map(|place| at(order[place]))).collect();
    strays.sort_unstable();
    DifferenceSegments {
        second,
        is_sure: false,
        origin,
        lines,
        breaks,
        strays,
        binding: Vec::new(),
        span,
    }
}

/// Returns the indices of the timestamp pairs that may be of a piece. `breaks` has the indices of
/// the last pair surely before each change and the first surely after it; `all` is the number of
/// pairs.
fn piece_range(breaks: &[[usize; 2]], piece: usize, all: usize) -> std::ops::Range<usize> {
    let begin = piece.checked_sub(1).map_or(0, |before| breaks[before][0] + 1);
    begin..breaks.get(piece).map_or(all, |next| next[1]).max(begin)
}

/// Returns the begins of new pieces (indices into `order`), with as many timestamp pairs in each as
/// one line explains, and the strays: the timestamp pairs that contradict both the earlier and the
/// later ones.
fn split_pieces(
    stamps: &[TimestampPair],
    order: &[usize],
    second: bool,
    origin: AxisOrigin,
) -> (Vec<usize>, Vec<usize>) {
    let (mut begins, mut strays) = (Vec::new(), Vec::new());
    let Some(first) = order.first() else { return (begins, strays) };
    let point = |place: usize| stamps[place].as_bound(second, origin);
    let (start, end) = (point(*first).at, point(order[order.len() - 1]).at);
    let half = (0.5 * (end - start).abs()).max(1e6);
    let centre = 0.5 * (start + end);
    let fresh = || {
        let rise = MAX_SKEW * half;
        let far = MAX_DIFFERENCE_NS;
        vec![[-far, -rise], [far, -rise], [far, rise], [-far, rise]]
    };
    let explain = |region: &mut Vec<[f64; 2]>, place: usize| {
        let point = point(place);
        let sign = if stamps[place].above { 1.0 } else { -1.0 };
        let normal = [sign, sign * (point.at - centre) / half];
        cut_polygon(region, normal, sign * point.value + MISFIT_NS);
        !region.is_empty()
    };
    let mut region = fresh();
    for (position, place) in order.iter().enumerate() {
        let before = region.clone();
        if explain(&mut region, *place) {
            continue;
        }
        let alike = order[position + 1..]
            .iter()
            .filter(|next| stamps[**next].above == stamps[*place].above);
        let contradicting =
            alike.take(LOOK_AHEAD).filter(|next| !explain(&mut before.clone(), **next));
        if contradicting.count() < CONFIRMING_STAMPS {
            strays.push(*place);
            region = before;
            continue;
        }
        begins.push(position);
        region = fresh();
        explain(&mut region, *place);
    }
    (begins, strays)
}
