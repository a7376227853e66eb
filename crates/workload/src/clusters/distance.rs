//! Distance of two requests: a string edit distance with differences of demands as costs (Magpie,
//! section 5). A request is a string with a character for each element, its act and role, and a
//! point for each character, its demands.
//!
//! With demands on the scale of differences, the cost of aligning two characters of the same act is
//! the Euclidean distance of their points, plus [`EDIT_COST`] if their roles differ. Inserting or
//! deleting a character costs [`EDIT_COST`] and all its demands. Costs are squared, summed and
//! rooted, so that small noise in each of many elements weighs less than one large difference:
//!
//! `d(a, b)^2 = min over alignments of the sum of cost^2`

use super::scaled_request::{ScaledPoint, ScaledRequest, TextCharacter};
use crate::tuning::{EDIT_COST, MAX_ALIGNED};

/// The distance of two requests; `None` if it is above `limit`.
pub(crate) fn request_distance(a: &ScaledRequest, b: &ScaledRequest, limit: f32) -> Option<f32> {
    let limit = limit * limit;
    let edits = a.fewest_edits(b) as f32 * EDIT_COST * EDIT_COST;
    if edits > limit {
        return None;
    }
    let mut most = f32::INFINITY;
    if a.text == b.text {
        most = a.points.iter().zip(&b.points).map(|(a, b)| squared_distance(a, b)).sum();
        // Any other alignment deletes and inserts at least one character.
        if most <= 2.0 * EDIT_COST * EDIT_COST {
            return (most <= limit).then(|| most.sqrt());
        }
    }
    let squared = if a.text.len().saturating_mul(b.text.len()) > MAX_ALIGNED {
        common_ends_cost(a, b).min(most)
    } else {
        banded_cost(a, b, limit.min(most)).unwrap_or(most).min(most)
    };
    (squared <= limit).then(|| squared.sqrt())
}

/// Squared cost of aligning two characters; `None` if their acts differ.
fn substitution_cost(
    a: (&TextCharacter, &ScaledPoint),
    b: (&TextCharacter, &ScaledPoint),
) -> Option<f32> {
    let role = if a.0.1 == b.0.1 { 0.0 } else { EDIT_COST * EDIT_COST };
    (a.0.0 == b.0.0).then(|| role + squared_distance(a.1, b.1))
}

/// Squared cost of an insertion or deletion.
fn edit_cost(point: &ScaledPoint) -> f32 {
    EDIT_COST * EDIT_COST + squared_distance(point, &ScaledPoint::default())
}

/// Squared distance of two points.
fn squared_distance(a: &ScaledPoint, b: &ScaledPoint) -> f32 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

/// Squared cost of the cheapest alignment; `None` if it is above `limit`. An alignment within the
/// limit has only a few insertions and deletions, so only cells near the diagonal count.
fn banded_cost(a: &ScaledRequest, b: &ScaledRequest, limit: f32) -> Option<f32> {
    let (rows, columns) = (a.text.len(), b.text.len());
    let longest = rows.max(columns);
    let band = if limit.is_finite() { (limit / (EDIT_COST * EDIT_COST)) as usize } else { longest };
    let band = band.min(longest);
    if rows.abs_diff(columns) > band {
        return None;
    }
    let mut before = vec![f32::INFINITY; columns + 1];
    let mut now = before.clone();
    before[0] = 0.0;
    for column in 1..=columns.min(band) {
        before[column] = before[column - 1] + edit_cost(&b.points[column - 1]);
    }
    for row in 1..=rows {
        let (first, last) = (row.saturating_sub(band), (row + band).min(columns));
        if first > columns {
            return None;
        }
        now[first] = f32::INFINITY;
        let of_row = edit_cost(&a.points[row - 1]);
        if first == 0 {
            now[0] = before[0] + of_row;
        }
        let mut lowest = now[first];
        for column in first.max(1)..=last {
            let above = if column < row + band { before[column] } else { f32::INFINITY };
            let left = if column > first { now[column - 1] } else { f32::INFINITY };
            let of = (&a.text[row - 1], &a.points[row - 1]);
            let to = (&b.text[column - 1], &b.points[column - 1]);
            let both =
                substitution_cost(of, to).map_or(f32::INFINITY, |cost| before[column - 1] + cost);
            now[column] = both.min(above + of_row).min(left + edit_cost(&b.points[column - 1]));
            lowest = lowest.min(now[column]);
        }
        if lowest > limit {
            return None;
        }
        std::mem::swap(&mut before, &mut now);
    }
    Some(before[columns]).filter(|cost| *cost <= limit)
}

/// Lengths of the common prefix and of the common suffix after it.
fn common_ends(a: &ScaledRequest, b: &ScaledRequest) -> (usize, usize) {
    let begin = a.text.iter().zip(&b.text).take_while(|(a, b)| a == b).count();
    let (rest_a, rest_b) = (&a.text[begin..], &b.text[begin..]);
    let end = rest_a.iter().rev().zip(rest_b.iter().rev()).take_while(|(a, b)| a == b).count();
    (begin, end)
}

/// Squared cost of aligning the common prefix and suffix and deleting or inserting everything else:
/// for requests so long that trying all alignments would take too long.
fn common_ends_cost(a: &ScaledRequest, b: &ScaledRequest) -> f32 {
    align_common_ends(a, b)
        .into_iter()
        .map(|pair| match pair {
            AlignedPair::Both(a_at, b_at) => squared_distance(&a.points[a_at], &b.points[b_at]),
            AlignedPair::First(at) => edit_cost(&a.points[at]),
            AlignedPair::Second(at) => edit_cost(&b.points[at]),
        })
        .sum()
}

/// The alignment of the common prefix and suffix, with everything else deleted or inserted.
fn align_common_ends(a: &ScaledRequest, b: &ScaledRequest) -> Vec<AlignedPair> {
    let (begin, end) = common_ends(a, b);
    let (last_a, last_b) = (a.text.len() - end, b.text.len() - end);
    let pairs = (0..begin).map(|at| AlignedPair::Both(at, at));
    let pairs = pairs.chain((begin..last_a).map(AlignedPair::First));
    let pairs = pairs.chain((begin..last_b).map(AlignedPair::Second));
    pairs.chain((0..end).map(|at| AlignedPair::Both(last_a + at, last_b + at))).collect()
}

/// Aligned elements of two requests, by their indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AlignedPair {
    /// An element of each of the two requests.
    Both(usize, usize),
    /// An element of the first request only.
    First(usize),
    /// An element of the second request only.
    Second(usize),
}

/// The cheapest alignment of two requests, in order.
pub(crate) fn align_requests(a: &ScaledRequest, b: &ScaledRequest) -> Vec<AlignedPair> {
    let (rows, columns) = (a.text.len(), b.text.len());
    if a.text == b.text {
        return (0..rows).map(|at| AlignedPair::Both(at, at)).collect();
    }
    if rows.saturating_mul(columns) > MAX_ALIGNED {
        return align_common_ends(a, b);
    }
    let width = columns + 1;
    let mut costs = vec![0.0_f32; (rows + 1) * width];
    for column in 1..=columns {
        costs[column] = costs[column - 1] + edit_cost(&b.points[column - 1]);
    }
    let both = |row: usize, column: usize| {
        let of = (&a.text[row - 1], &a.points[row - 1]);
        substitution_cost(of, (&b.text[column - 1], &b.points[column - 1])).unwrap_or(f32::INFINITY)
    };
    for row in 1..=rows {
        costs[row * width] = costs[(row - 1) * width] + edit_cost(&a.points[row - 1]);
        for column in 1..=columns {
            let above = (row - 1) * width + column;
            costs[row * width + column] = (costs[above - 1] + both(row, column))
                .min(costs[above] + edit_cost(&a.points[row - 1]))
                .min(costs[row * width + column - 1] + edit_cost(&b.points[column - 1]));
        }
    }
    let (mut row, mut column) = (rows, columns);
    let mut pairs = Vec::with_capacity(rows.max(columns));
    while row > 0 || column > 0 {
        let cost = costs[row * width + column];
        let is_both = row > 0
            && column > 0
            && cost == costs[(row - 1) * width + column - 1] + both(row, column);
        if is_both {
            (row, column) = (row - 1, column - 1);
            pairs.push(AlignedPair::Both(row, column));
        } else if row > 0
            && (column == 0
                || cost == costs[(row - 1) * width + column] + edit_cost(&a.points[row - 1]))
        {
            row -= 1;
            pairs.push(AlignedPair::First(row));
        } else {
            column -= 1;
            pairs.push(AlignedPair::Second(column));
        }
    }
    pairs.reverse();
    pairs
}
