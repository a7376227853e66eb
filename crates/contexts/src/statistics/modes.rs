//! Modes: the number of peaks of the distribution of response times, by a kernel density estimate.
//!
//! - **Scale.** Logarithmic: response times are skewed to the right (trace-context profiling,
//!   section 4.3 recalls that they are often log-normal), and on a linear scale a bandwidth that
//!   suits the short times turns every long one into a peak.
//! - **Coarse clocks.** Times of one tick are spread evenly over that tick, so that a tick is not a
//!   peak.
//! - **Bandwidth.** Silverman's rule of thumb, 0.9 s n^(-1/5), with s between the least and the
//!   greatest of three: the standard deviation, the interquartile range / 1.349, and the shortest
//!   interval with a fifth of the samples / 0.507. Each equals the standard deviation of a normal
//!   distribution. With several clusters the first two measure the distance between them, and may
//!   smooth them into one; the third measures the width of the narrowest, and may split a wider one
//!   into single points. So bandwidths are doubled from a quarter of the least to the greatest, and
//!   the one with the most peaks is used.
//! - **Peaks.** Small bandwidths show random peaks. A peak counts if the density falls, on the way
//!   to any higher one, to at most [`MAX_VALLEY`] of it and by several of its standard errors, and
//!   if [`MIN_PEAK_SHARE`] of the samples are around it. The variance of the estimate f at a point
//!   is f / (2 n h sqrt(pi)). The number of standard errors is the distance of the highest and the
//!   lowest of m normal numbers, 2 sqrt(ln m), m being the length of the distribution in
//!   bandwidths; at least [`MIN_PEAK_ERRORS`].

use crate::tuning::{MAX_VALLEY, MIN_FOR_FIFTH, MIN_FOR_MODES, MIN_PEAK_ERRORS, MIN_PEAK_SHARE};

use super::sample::TimeSample;

/// Distance from the centre of a kernel to its cut-off, in bandwidths.
const KERNEL_CUTOFF: f64 = 4.0;
/// Grid points per bandwidth.
const GRID_POINTS: f64 = 4.0;

/// Number of modes of sorted samples from a clock with the tick `tick`, in nanoseconds; `None` if
/// there are too few samples.
pub fn count_modes(sorted: &[TimeSample], tick: i64) -> Option<u32> {
    let values = spread_over_tick(sorted, tick);
    let whole: f64 = values.iter().map(|value| value.weight).sum();
    let squares: f64 = values.iter().map(|value| value.weight * value.weight).sum();
    let number = whole * whole / squares;
    if number.is_nan() || number < MIN_FOR_MODES {
        return None;
    }
    let scales = distribution_widths(&values, whole, number);
    let (Some(least), Some(most)) =
        (scales.clone().min_by(f64::total_cmp), scales.max_by(f64::total_cmp))
    else {
        return Some(1);
    };
    let rule = 0.9 * number.powf(-0.2);
    let doubled = std::iter::successors(Some(least / 4.0), |scale| Some(2.0 * scale));
    let bandwidths = doubled.take_while(|scale| *scale < most).chain([most]);
    let peaks = bandwidths.map(|scale| {
        let bandwidth = rule * scale;
        let error = 1.0 / (2.0 * number * bandwidth * std::f64::consts::PI.sqrt());
        let landscape = DensityLandscape::from_values(&values, whole, bandwidth);
        let chance = 2.0 * landscape.bandwidths.max(1.0).ln().sqrt();
        let errors = chance.max(MIN_PEAK_ERRORS);
        landscape.count_peaks(|peak, valley, mass| {
            valley <= MAX_VALLEY * peak
                && peak - valley >= errors * (error * (peak + valley)).sqrt()
                && mass >= MIN_PEAK_SHARE
        })
    });
    peaks.max()
}

/// A response time on the logarithmic scale: the logarithm of its nanoseconds, and its weight.
#[derive(Clone, Copy)]
struct ScaledTime {
    at: f64,
    weight: f64,
}

/// Logarithms of the times; equal times are spread evenly over one tick.
fn spread_over_tick(sorted: &[TimeSample], tick: i64) -> Vec<ScaledTime> {
    let tick = tick.max(1) as f64;
    let mut values = Vec::with_capacity(sorted.len());
    for tie in sorted.chunk_by(|a, b| a.time == b.time) {
        let step = tick / tie.len() as f64;
        for (number, sample) in tie.iter().enumerate() {
            let within = (number as f64 + 0.5) * step - tick / 2.0;
            // A time of 0 may be any time below a tick.
            let at = (sample.time.max(0) as f64 + tick + within).ln();
            values.push(ScaledTime { at, weight: f64::from(sample.weight) });
        }
    }
    values
}

/// The three measures of the distribution's width, except widths of 0. `whole` is the sum of all
/// weights, and `number` the effective number of samples.
fn distribution_widths(
    values: &[ScaledTime],
    whole: f64,
    number: f64,
) -> impl Iterator<Item = f64> + Clone + use<> {
    let mean = values.iter().map(|value| value.at * value.weight).sum::<f64>() / whole;
    let squares = values.iter().map(|value| (value.at - mean).powi(2) * value.weight).sum::<f64>();
    let cumulated = |share: f64| {
        let mut sum = 0.0;
        let reached = values.iter().find(|value| {
            sum += value.weight;
            sum >= share * whole
        });
        reached.map_or(0.0, |value| value.at)
    };
    let (share, normal) = if number >= MIN_FOR_FIFTH { (0.2, 0.507) } else { (0.5, 1.349) };
    let scales = [
        (squares / whole).sqrt(),
        (cumulated(0.75) - cumulated(0.25)) / 1.349,
        shortest_interval(values, share * whole) / normal,
    ];
    let least = 1e-12 * mean.abs();
    scales.into_iter().filter(move |scale| *scale > least && scale.is_finite())
}

/// Length of the shortest interval that contains samples of at least this weight.
fn shortest_interval(values: &[ScaledTime], weight: f64) -> f64 {
    let (mut shortest, mut within, mut first) = (f64::INFINITY, 0.0, 0);
    for value in values {
        within += value.weight;
        while let Some(begin) = values.get(first).filter(|begin| within - begin.weight >= weight) {
            within -= begin.weight;
            first += 1;
        }
        if let Some(begin) = values.get(first).filter(|_| within >= weight) {
            shortest = shortest.min(value.at - begin.at);
        }
    }
    shortest
}

/// The density estimate as an alternation of peaks and valleys.
#[derive(Default)]
struct DensityLandscape {
    /// Height of each peak, and the share of all weight between the valleys around it.
    peaks: Vec<(f64, f64)>,
    /// Height of the valley after each peak but the last.
    valleys: Vec<f64>,
    /// Total width of all islands, in bandwidths.
    bandwidths: f64,
    /// Whether the density rises at the last grid point.
    rising: bool,
    /// Density at the last grid point.
    height: f64,
    /// Share of all weight since the last valley.
    mass: f64,
}

impl DensityLandscape {
    fn from_values(values: &[ScaledTime], whole: f64, bandwidth: f64) -> DensityLandscape {
        let step = bandwidth / GRID_POINTS;
        let reach = (KERNEL_CUTOFF * GRID_POINTS) as usize;
        let kernel: Vec<f64> = (0..=2 * reach)
            .map(|place| (-0.5 * ((place as f64 - reach as f64) / GRID_POINTS).powi(2)).exp())
            .map(|height| height / (bandwidth * (2.0 * std::f64::consts::PI).sqrt()))
            .collect();
        let mut landscape = DensityLandscape { rising: true, ..DensityLandscape::default() };
        let mut grid: Vec<f64> = Vec::new();
        // Values that are too far apart to share a kernel are on separate islands.
        for island in values.chunk_by(|a, b| b.at - a.at < 2.0 * KERNEL_CUTOFF * bandwidth) {
            let (Some(first), Some(last)) = (island.first(), island.last()) else { continue };
            let places = ((last.at - first.at) / step) as usize + 2;
            landscape.bandwidths += 1.0 + (last.at - first.at) / bandwidth;
            grid.clear();
            grid.resize(places, 0.0);
            for value in island {
                // Each value is divided between the two grid points next to it.
                let place = (value.at - first.at) / step;
                let (below, part) = (place as usize, place.fract());
                for (place, part) in [(below, 1.0 - part), (below + 1, part)] {
                    if let Some(weight) = grid.get_mut(place) {
                        *weight += part * value.weight / whole;
                    }
                }
            }
            for middle in 0..places + 2 * reach {
                let from = middle.saturating_sub(2 * reach);
                let near = grid.get(from..places.min(middle + 1)).unwrap_or_default();
                let height = near
                    .iter()
                    .zip(kernel.iter().skip(2 * reach - (middle - from)))
                    .map(|(weight, kernel)| weight * kernel)
                    .sum();
                let mass = middle.checked_sub(reach).and_then(|place| grid.get(place));
                landscape.add_height(height, mass.copied().unwrap_or(0.0));
            }
            landscape.add_height(0.0, 0.0);
        }
        landscape
    }

    /// Advances to the next grid point, with its density and its share of all weight. A level range
    /// belongs to the preceding slope.
    fn add_height(&mut self, height: f64, mass: f64) {
        if self.rising && height < self.height {
            self.rising = false;
            self.peaks.push((self.height, 0.0));
        } else if !self.rising && height > self.height {
            self.rising = true;
            self.valleys.push(self.height);
            if let Some((_, of)) = self.peaks.last_mut() {
                *of = std::mem::take(&mut self.mass);
            }
        }
        self.height = height;
        self.mass += mass;
        if let Some((_, of)) = self.peaks.last_mut().filter(|_| !self.rising) {
            *of = self.mass;
        }
    }

    /// Number of peaks: the highest one, and each for which `counts` returns true, given its
    /// height, the height of the highest valley on the way to a higher peak, and the share of all
    /// weight around it. Valleys are passed from the highest to the lowest, as if water sank: there
    /// the land of the lower peak becomes a part of the land of the higher one.
    fn count_peaks(&self, counts: impl Fn(f64, f64, f64) -> bool) -> u32 {
        let mut lands: Vec<(f64, f64)> = self.peaks.clone();
        let mut of: Vec<usize> = (0..lands.len()).collect();
        let mut order: Vec<usize> = (0..self.valleys.len()).collect();
        order.sort_by(|a, b| self.valleys[*b].total_cmp(&self.valleys[*a]));
        let mut count = 1;
        for valley in order {
            let [left, right] = [valley, valley + 1].map(|peak| find_land(&mut of, peak));
            let (low, high) =
                if lands[left].0 < lands[right].0 { (left, right) } else { (right, left) };
            count += u32::from(counts(lands[low].0, self.valleys[valley], lands[low].1));
            of[low] = high;
            lands[high].1 += lands[low].1;
        }
        count
    }
}

/// The land to which a peak belongs now, by the number of its highest peak: the root in the
/// union-find forest `of`.
fn find_land(of: &mut [usize], mut peak: usize) -> usize {
    while of[peak] != peak {
        of[peak] = of[of[peak]];
        peak = of[peak];
    }
    peak
}

#[cfg(test)]
#[path = "modes_tests.rs"]
mod tests;
