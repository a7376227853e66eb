//! The feasible region: all lines that a pair of clocks may follow, given their messages.
//!
//! The difference of two clocks, over time, is a line. No message arrives before it was sent, so
//! the line lies under each (received - sent) of the messages from the first to the second and over
//! each (sent - received) of the messages back. In the plane of a line's two parameters each
//! message cuts off a half-plane, and the remainder is a convex polygon: any line in it explains
//! all messages, and its width at a time is the uncertainty of the difference then. Its centroid is
//! the estimate: the middle, where the least delays there and back are equal (Paxson's assumption).
//! If no line fits, the bounds are moved apart by just as much as makes one fit (`slack`).
//!
//! Times are nanoseconds from an origin nearby, as `f64`, so that they are exact to a nanosecond
//! for a hundred days.

/// A moment, and a bound on the difference of two clocks at it. Both in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct BoundPoint {
    pub(crate) at: f64,
    pub(crate) value: f64,
}

/// A straight line: its value at a time, and its rise per nanosecond.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct StraightLine {
    pub(crate) at: f64,
    pub(crate) value: f64,
    pub(crate) slope: f64,
}

impl StraightLine {
    /// Returns the line's value at a time.
    pub(crate) fn value_at(&self, at: f64) -> f64 {
        self.value + self.slope * (at - self.at)
    }
}

/// Bounds of a line by messages in both directions. `above` are the points that it lies under,
/// `below` those that it lies over; either may be empty.
#[derive(Clone, Debug, Default)]
pub(crate) struct LineBounds {
    above: Vec<BoundPoint>,
    below: Vec<BoundPoint>,
    slopes: [f64; 2],
}

/// A line, and the region of all lines that are possible instead.
#[derive(Clone, Debug)]
pub(crate) struct FittedLine {
    /// The middle of the region.
    pub(crate) line: StraightLine,
    /// Amount by which each bound had to be moved so that there is a line.
    pub(crate) slack: f64,
    /// Corners of the region, as pairs of value at `line.at` and slope. Empty if there are bounds
    /// on one side only.
    corners: Vec<[f64; 2]>,
    bounds: LineBounds,
}

impl LineBounds {
    /// Creates bounds of a line with a slope within `slopes`. Points may be in any order.
    pub(crate) fn new(
        mut above: Vec<BoundPoint>,
        below: Vec<BoundPoint>,
        slopes: [f64; 2],
    ) -> LineBounds {
        let flip = |points: &mut Vec<BoundPoint>| {
            points.iter_mut().for_each(|point| point.value = -point.value)
        };
        convex_hull(&mut above, slopes);
        let mut below = below;
        flip(&mut below);
        convex_hull(&mut below, [-slopes[1], -slopes[0]]);
        flip(&mut below);
        LineBounds { above, below, slopes }
    }

    /// Returns the line in the middle and the region around it; `None` if there is no bound at all.
    pub(crate) fn fit_line(self) -> Option<FittedLine> {
        if self.above.is_empty() || self.below.is_empty() {
            return self.touching_line();
        }
        let (gap, slope) = self.widest_slope();
        // Slightly more than needed, or rounding would leave nothing.
        let slack = if gap > 0.0 { 0.0 } else { 0.5 - 0.5 * gap };
        let times = || self.above.iter().chain(&self.below).map(|point| point.at);
        let (first, last) =
            times().fold((f64::MAX, f64::MIN), |(first, last), at| (first.min(at), last.max(at)));
        let at = 0.5 * (first + last);
        // Slopes in units that give both parameters the same scale.
        let half = (0.5 * (last - first)).max(1e6);
        let [value, _] = self.bounds_at(slope, at);
        let reach = half * (self.slopes[1] - self.slopes[0]) + gap.abs() + 1.0;
        let mut corners = vec![
            [value - reach, self.slopes[0] * half],
            [value + reach, self.slopes[0] * half],
            [value + reach, self.slopes[1] * half],
            [value - reach, self.slopes[1] * half],
        ];
        for point in &self.above {
            cut_polygon(&mut corners, [1.0, (point.at - at) / half], point.value + slack);
        }
        for point in &self.below {
            cut_polygon(&mut corners, [-1.0, -(point.at - at) / half], slack - point.value);
        }
        let [value, rise] = polygon_centre(&corners).unwrap_or_else(|| {
            let [low, high] = self.bounds_at(slope, at);
            [0.5 * (low + high), slope * half]
        });
        if corners.is_empty() {
            corners.push([value, rise]);
        }
        corners.iter_mut().for_each(|corner| corner[1] /= half);
        Some(FittedLine {
            line: StraightLine { at, value, slope: rise / half },
            slack,
            corners,
            bounds: self,
        })
    }

    /// With bounds on one side only: returns the line along that edge of their convex hull which
    /// spans the middle of the time (after Moon et al.), as if the fastest messages had taken no
    /// time.
    fn touching_line(self) -> Option<FittedLine> {
        let (points, sign) =
            if self.below.is_empty() { (&self.above, 1.0) } else { (&self.below, -1.0) };
        let (first, last) = (points.first()?, points.last()?);
        let at = 0.5 * (first.at + last.at);
        let after = points.partition_point(|point| point.at < at);
        let slope =
            match (after.checked_sub(1).and_then(|before| points.get(before)), points.get(after)) {
                (Some(before), Some(after)) => {
                    (after.value - before.value) / (after.at - before.at)
                }
                _ => 0.0,
            };
        let slope = slope.clamp(self.slopes[0], self.slopes[1]);
        let under = points.iter().map(|point| sign * (point.value - slope * (point.at - at)));
        let value = sign * under.fold(f64::MAX, f64::min);
        Some(FittedLine {
            line: StraightLine { at, value, slope },
            slack: 0.0,
            corners: Vec::new(),
            bounds: self,
        })
    }

    /// Returns the lower and the upper bound on the difference at `at` for lines with this slope.
    fn bounds_at(&self, slope: f64, at: f64) -> [f64; 2] {
        let shifted = |point: &BoundPoint| point.value - slope * (point.at - at);
        let low = self.below.iter().map(shifted).fold(f64::MIN, f64::max);
        let high = self.above.iter().map(shifted).fold(f64::MAX, f64::min);
        [low, high]
    }

    /// Returns the greatest slack that lines with one slope have, and that slope. The slack is a
    /// concave function of the slope with bends at the slopes of edges, so its maximum is at a
    /// bend.
    fn widest_slope(&self) -> (f64, f64) {
        let at = self.above.first().map_or(0.0, |point| point.at);
        let edges = [&self.above, &self.below].into_iter().flat_map(|points| {
            points
                .windows(2)
                .map(|pair| (pair[1].value - pair[0].value) / (pair[1].at - pair[0].at))
        });
        let mut best = (f64::MIN, 0.0);
        // Of equal slacks the flattest slope is taken.
        for slope in edges.chain(self.slopes).chain([0.0]) {
            let slope = slope.clamp(self.slopes[0], self.slopes[1]);
            let [low, high] = self.bounds_at(slope, at);
            let gap = high - low;
            if gap > best.0 || gap == best.0 && slope.abs() < f64::abs(best.1) {
                best = (gap, slope);
            }
        }
        best
    }
}

impl FittedLine {
    /// Returns the lowest and the highest value that a line of the region has at a time; infinite
    /// if nothing bounds it.
    pub(crate) fn range_at(&self, at: f64) -> [f64; 2] {
        if self.corners.is_empty() {
            // The highest of the lines below the points passes over or under `at` with one of their
            // slopes.
            let LineBounds { above, below, slopes } = &self.bounds;
            let reach = |points: &[BoundPoint], sign: f64| {
                let edges = points
                    .windows(2)
                    .map(|pair| (pair[1].value - pair[0].value) / (pair[1].at - pair[0].at))
                    .chain(*slopes);
                let touching = |slope: f64| {
                    let under =
                        points.iter().map(|point| sign * (point.value - slope * (point.at - at)));
                    under.fold(f64::INFINITY, f64::min)
                };
                edges.map(touching).fold(f64::NEG_INFINITY, f64::max)
            };
            let high = if above.is_empty() { f64::INFINITY } else { reach(above, 1.0) };
            let low = if below.is_empty() { f64::NEG_INFINITY } else { -reach(below, -1.0) };
            return [low, high];
        }
        let values = self.corners.iter().map(|[value, slope]| value + slope * (at - self.line.at));
        values.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], value| {
            [low.min(value), high.max(value)]
        })
    }

    /// Returns the least and the greatest slope of a line of the region.
    pub(crate) fn slope_range(&self) -> [f64; 2] {
        if self.corners.is_empty() {
            return self.bounds.slopes;
        }
        self.corners.iter().fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], [_, slope]| {
            [low.min(*slope), high.max(*slope)]
        })
    }

    /// Returns the points that bound the line tightly, those above and those below it: no other
    /// points matter.
    pub(crate) fn binding_points(&self) -> [&[BoundPoint]; 2] {
        [&self.bounds.above, &self.bounds.below]
    }

    /// Returns whether there are bounds on both sides.
    pub(crate) fn is_two_sided(&self) -> bool {
        !self.corners.is_empty()
    }
}

/// Reduces `points` to the corners of their lower convex hull that a line with a slope within
/// `slopes` can touch.
pub(crate) fn convex_hull(points: &mut Vec<BoundPoint>, slopes: [f64; 2]) {
    points.sort_unstable_by(|a, b| a.at.total_cmp(&b.at).then(a.value.total_cmp(&b.value)));
    let slope = |a: BoundPoint, b: BoundPoint| (b.value - a.value) / (b.at - a.at);
    let mut kept = 0;
    for place in 0..points.len() {
        let new = points[place];
        if kept > 0 && points[kept - 1].at == new.at {
            continue;
        }
        while kept > 0
            && (slope(points[kept - 1], new) <= slopes[0]
                || kept > 1
                    && slope(points[kept - 2], points[kept - 1]) >= slope(points[kept - 1], new))
        {
            kept -= 1;
        }
        if kept == 0 || slope(points[kept - 1], new) < slopes[1] {
            points[kept] = new;
            kept += 1;
        }
    }
    points.truncate(kept);
}

/// Removes the part of a convex polygon outside the half-plane `normal` * corner <= `most`.
pub(crate) fn cut_polygon(corners: &mut Vec<[f64; 2]>, normal: [f64; 2], most: f64) {
    let over = |corner: &[f64; 2]| normal[0] * corner[0] + normal[1] * corner[1] - most;
    if corners.iter().all(|corner| over(corner) <= 0.0) {
        return;
    }
    let mut left = Vec::with_capacity(corners.len() + 1);
    for (place, corner) in corners.iter().enumerate() {
        let next = &corners[(place + 1) % corners.len()];
        let (here, there) = (over(corner), over(next));
        if here <= 0.0 {
            left.push(*corner);
        }
        if (here < 0.0 && there > 0.0) || (here > 0.0 && there < 0.0) {
            let part = here / (here - there);
            left.push([
                corner[0] + part * (next[0] - corner[0]),
                corner[1] + part * (next[1] - corner[1]),
            ]);
        }
    }
    *corners = left;
}

/// Returns the centroid of a convex polygon, or of its corners if it has no area.
fn polygon_centre(corners: &[[f64; 2]]) -> Option<[f64; 2]> {
    let origin = corners.first()?;
    let (mut area, mut sum) = (0.0, [0.0; 2]);
    for pair in corners.windows(2).skip(1) {
        let [a, b] = [0, 1].map(|place| [pair[place][0] - origin[0], pair[place][1] - origin[1]]);
        let twice = a[0] * b[1] - a[1] * b[0];
        area += twice;
        sum[0] += twice * (a[0] + b[0]);
        sum[1] += twice * (a[1] + b[1]);
    }
    if area.abs() > 1e-9 {
        return Some([origin[0] + sum[0] / (3.0 * area), origin[1] + sum[1] / (3.0 * area)]);
    }
    let mean =
        |axis: usize| corners.iter().map(|corner| corner[axis]).sum::<f64>() / corners.len() as f64;
    Some([mean(0), mean(1)])
}
