//! Densities of delays, learned from samples on a logarithmic axis, because delays scatter over
//! decades. A kernel is as wide as needed to contain some of the neighbouring samples, so that
//! sharp peaks stay sharp and rare samples are spread. [`Plane`] is the density of a delay given
//! another delay. It has little weight if few samples support it.
//!
//! The contribution of a sample to a density can be left out, so that no assignment of calls
//! confirms itself.

use crate::tuning::auto::model::density::{
    BINS, ENTROPY_BINS, MARGINS, MAX_REACH, PLAIN_SAMPLES, PLANE_BINS, PLANE_KERNEL, UNSEEN_WEIGHT,
};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// The axis of delays: the binary logarithm of nanoseconds plus the clock's resolution.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    /// The resolution of the times, in nanoseconds.
    pub(super) resolution: f64,
}

impl Axis {
    /// The place of a delay, given in nanoseconds.
    pub(super) fn place(self, delay: i64) -> f64 {
        log2(delay.max(0) as f64 + self.resolution)
    }

    /// The differential entropy of delays in nats: the lower, the more predictable they are.
    pub(super) fn entropy(self, delays: impl ExactSizeIterator<Item = i64>) -> f64 {
        let total = delays.len() as f64;
        let mut places: Vec<f64> = delays.map(|delay| self.place(delay)).collect();
        places.sort_unstable_by(f64::total_cmp);
        let scale = places.iter().sum::<f64>() / total * std::f64::consts::LN_2;
        let bin = |place: &f64| (place * ENTROPY_BINS).floor();
        let bins = places
            .chunk_by(|one, other| bin(one) == bin(other))
            .map(|bin| bin.len() as f64 / total);
        scale - bins.map(|share| share * (share * ENTROPY_BINS).ln()).sum::<f64>()
    }
}

/// Number of parts of a factor of two with a logarithm in the table of [`log2`].
const LOGARITHMS: usize = 256;

/// The binary logarithm of a normal number greater than 0, to ten digits. The search spends most of
/// its time on logarithms.
fn log2(number: f64) -> f64 {
    static KNOWN: OnceLock<[(f64, f64); LOGARITHMS]> = OnceLock::new();
    let known = KNOWN.get_or_init(|| {
        std::array::from_fn(|part| {
            let middle = 1.0 + (part as f64 + 0.5) / LOGARITHMS as f64;
            (middle.recip(), middle.log2())
        })
    });
    let bits = number.to_bits();
    let exponent = (bits >> 52) as i32 - 1023;
    let (inverse, log) = known[(bits >> 44) as usize % LOGARITHMS];
    let mantissa = f64::from_bits(bits & ((1 << 52) - 1) | 1023 << 52);
    // Excess over the middle of its part, relative to the middle.
    let more = mantissa * inverse - 1.0;
    let natural = more * (1.0 - more * (1.0 / 2.0 - more * (1.0 / 3.0)));
    f64::from(exponent) + log + natural * std::f64::consts::LOG2_E
}

/// The density of a delay. Values are per factor of two.
#[derive(Debug)]
pub(super) struct Density {
    axis: Axis,
    /// The place on the axis at which the first bin begins.
    low: f64,
    /// For each bin the sum of all kernels there, and the height of the kernel of a sample that
    /// lies in the bin.
    bins: Vec<(f32, f32)>,
    /// Number of samples.
    samples: f64,
    /// The density given another delay, if that is known.
    plane: Option<Plane>,
    /// Logarithm of each bin's density with no sample left out, and last the density beyond the
    /// bins. If the density depends on another delay, there is a row for each of its values, and a
    /// last one for values never seen. An entry that was not computed yet is 0.
    logs: Vec<AtomicU32>,
}

impl Density {
    /// The density of `delays`; with `known`, given another delay that is known before each of
    /// them.
    pub(super) fn from_delays(axis: Axis, delays: &[i64], known: Option<&[i64]>) -> Density {
        let places: Vec<f64> = delays.iter().map(|delay| axis.place(*delay)).collect();
        let (low, bins) = smooth_samples(&places);
        let plane = known.map(|known| {
            let known: Vec<f64> = known.iter().map(|delay| axis.place(*delay)).collect();
            Plane::from_samples(&places, &known)
        });
        let rows = plane.as_ref().map_or(1, |plane| plane.rows() + 1);
        let logs = (0..rows * (bins.len() + 1)).map(|_| AtomicU32::new(0)).collect();
        Density { axis, low, bins, samples: places.len() as f64, plane, logs }
    }

    /// The logarithm of the density of `delay`, per nanosecond, given the other delay `known`;
    /// `own`: this delay is one of the samples and is left out.
    pub(super) fn log(&self, delay: i64, known: i64, own: bool) -> f64 {
        let place = self.axis.place(delay);
        let at = (place - self.low) * BINS;
        let bin = if at >= 0.0 { (at as usize).min(self.bins.len()) } else { self.bins.len() };
        let row = self.plane.as_ref().map_or(0, |plane| plane.row(self.axis.place(known)));
        // From a factor of two to a nanosecond.
        self.log_of_bin(bin, row, own) - place * std::f64::consts::LN_2
    }

    /// The logarithm of the density in a bin, per factor of two, given the row of the other delay.
    fn log_of_bin(&self, bin: usize, row: usize, own: bool) -> f64 {
        let known = self.logs.get(row * (self.bins.len() + 1) + bin).filter(|_| !own);
        // A race is harmless: every thread computes the same value.
        let log = known.map_or(0, |log| log.load(Ordering::Relaxed));
        if log != 0 {
            return f64::from(f32::from_bits(log));
        }
        let mut density = self.plain_density(bin, own);
        if let Some(plane) = &self.plane {
            let (near, conditional) = plane.density_at(bin, row, own);
            density = (near * conditional + PLAIN_SAMPLES * density) / (near + PLAIN_SAMPLES);
        }
        let log = (density / std::f64::consts::LN_2).ln();
        let Some(known) = known else { return log };
        known.store((log as f32).to_bits(), Ordering::Relaxed);
        f64::from(log as f32)
    }

    /// The density in a bin, minus the contribution of one of its samples if `own`.
    fn plain_density(&self, bin: usize, own: bool) -> f64 {
        let (sum, middle) = self.bins.get(bin).copied().unwrap_or((0.0, 0.0));
        let without = if own { f64::from(middle) } else { 0.0 };
        let samples = self.samples + 2.0 - f64::from(u8::from(own));
        (f64::from(sum) - without).max(0.0) / samples + UNSEEN_WEIGHT / samples
    }
}

/// The sum of kernels over the samples: the place of the first bin, and each bin with the height of
/// a kernel there.
fn smooth_samples(places: &[f64]) -> (f64, Vec<(f32, f32)>) {
    let low = places.iter().copied().fold(f64::MAX, f64::min) - MARGINS[0];
    let high = places.iter().copied().fold(f64::MIN, f64::max) + MARGINS[0];
    if low > high {
        return (0.0, Vec::new());
    }
    let bins = ((high - low) * BINS) as usize + 2;
    let mut counts = vec![0u32; bins];
    places.iter().for_each(|place| counts[((place - low) * BINS) as usize] += 1);
    let mut before = vec![0u32; bins + 1];
    for bin in 0..bins {
        before[bin + 1] = before[bin] + counts[bin];
    }
    let wanted = (places.len() as f64).sqrt().max(3.0).min(places.len() as f64);
    let mut smooth = vec![(0f32, 0f32); bins];
    for bin in (0..bins).filter(|bin| counts[*bin] > 0) {
        let samples_within =
            |reach: usize| before[(bin + reach + 1).min(bins)] - before[bin.saturating_sub(reach)];
        let reach = (1..MAX_REACH)
            .find(|reach| f64::from(samples_within(*reach)) >= wanted)
            .unwrap_or(MAX_REACH);
        let kernel = gaussian((reach as f64 * 0.6).max(1.0));
        let half = kernel.len() / 2;
        smooth[bin].1 = kernel[half] * BINS as f32;
        for (at, weight) in kernel.iter().enumerate() {
            if let Some(slot) = (bin + at).checked_sub(half).and_then(|to| smooth.get_mut(to)) {
                slot.0 += counts[bin] as f32 * weight * BINS as f32;
            }
        }
    }
    (low, smooth)
}

/// A Gaussian kernel with this standard deviation in bins; its values sum to 1.
fn gaussian(deviation: f64) -> Vec<f32> {
    let half = (3.0 * deviation) as i32;
    let values: Vec<f64> =
        (-half..=half).map(|at| (-0.5 * (f64::from(at) / deviation).powi(2)).exp()).collect();
    let sum: f64 = values.iter().sum();
    values.into_iter().map(|value| (value / sum) as f32).collect()
}

/// The density of one delay for each value of another.
#[derive(Clone, Debug)]
pub(super) struct Plane {
    /// The place at which the bins begin on the axis of each of the two delays.
    low: [f64; 2],
    /// Number of bins along each axis.
    size: [usize; 2],
    /// The smoothed number of samples in each bin, row by row; a row has one value of the other
    /// delay.
    joint: Vec<f32>,
    /// Number of samples near each value of the other delay.
    near: Vec<f32>,
    /// Contribution of one sample to its own bin of `joint`, and to its own row of `near`.
    own: [f64; 2],
}

impl Plane {
    fn from_samples(places: &[f64], known: &[f64]) -> Plane {
        let axes = [places, known];
        let low = axes.map(|axis| axis.iter().copied().fold(f64::MAX, f64::min) - MARGINS[1]);
        let high = axes.map(|axis| axis.iter().copied().fold(f64::MIN, f64::max) + MARGINS[1]);
        let size =
            [0, 1].map(|axis| ((high[axis] - low[axis]).max(0.0) * PLANE_BINS[axis]) as usize + 1);
        let mut counts = vec![0f32; size[0] * size[1]];
        for (place, known) in places.iter().zip(known) {
            let [x, y] = [(place, 0), (known, 1)]
                .map(|(at, axis)| ((at - low[axis]) * PLANE_BINS[axis]) as usize);
            counts[y * size[0] + x] += 1.0;
        }
        let kernels = PLANE_KERNEL.map(gaussian);
        let along = convolve_axis(&counts, &kernels[0], 1, size[0]);
        let joint = convolve_axis(&along, &kernels[1], size[0], size[1]);
        let near = joint.chunks(size[0]).map(|row| row.iter().sum()).collect();
        let [x, y] = [0, 1].map(|axis: usize| f64::from(kernels[axis][kernels[axis].len() / 2]));
        Plane { low, size, joint, near, own: [x * y, y] }
    }

    /// Number of rows.
    fn rows(&self) -> usize {
        self.size[1]
    }

    /// The row of a value of the other delay; the row after the last one is for values far from all
    /// samples.
    fn row(&self, known: f64) -> usize {
        let at = (known - self.low[1]) * PLANE_BINS[1];
        if at < 0.0 { self.rows() } else { (at as usize).min(self.rows()) }
    }

    /// Number of samples near this row, and their density at this bin of the plain density.
    fn density_at(&self, bin: usize, row: usize, own: bool) -> (f64, f64) {
        let Some(near) = self.near.get(row) else { return (0.0, 0.0) };
        let (mut near, mut here) = (f64::from(*near), 0.0);
        // The plain density begins farther from the samples and has narrower bins.
        let before = (MARGINS[0] - MARGINS[1]) * PLANE_BINS[0];
        let column = (bin as f64 * PLANE_BINS[0] / BINS - before).floor();
        if column >= 0.0 && (column as usize) < self.size[0] {
            here = f64::from(self.joint[row * self.size[0] + column as usize]);
        }
        if own {
            (here, near) = ((here - self.own[0]).max(0.0), (near - self.own[1]).max(0.0));
        }
        if near <= 1e-6 { (0.0, 0.0) } else { (near, here / near * PLANE_BINS[0]) }
    }
}

/// Convolves `values` with `kernel` along the axis with this stride and size.
fn convolve_axis(values: &[f32], kernel: &[f32], stride: usize, size: usize) -> Vec<f32> {
    let half = kernel.len() / 2;
    let mut smooth = vec![0f32; values.len()];
    for (at, value) in values.iter().enumerate().filter(|(_, value)| **value > 0.0) {
        let along = at / stride % size;
        for (offset, weight) in kernel.iter().enumerate() {
            if let Some(to) = (along + offset).checked_sub(half).filter(|to| *to < size) {
                smooth[at - along * stride + to * stride] += value * weight;
            }
        }
    }
    smooth
}

#[cfg(test)]
mod tests {
    use super::*;

    const AXIS: Axis = Axis { resolution: 1000.0 };

    /// The integral of the density over all delays.
    fn mass(density: &Density, known: i64) -> f64 {
        let step = 1.0 / 64.0;
        (0..64 * 40)
            .map(|at| 2f64.powf(f64::from(at) * step))
            .map(|delay| {
                density.log(delay as i64, known, false).exp()
                    * delay
                    * std::f64::consts::LN_2
                    * step
            })
            .sum()
    }

    #[test]
    fn logarithms_match_the_library() {
        for at in 0..100_000_u32 {
            let number = 1.0 + f64::from(at).powi(3) * 1.7;
            let off = log2(number) - number.log2();
            assert!(off.abs() < 1e-10, "{number}: {off}");
        }
    }

    #[test]
    fn a_density_sums_to_about_one() {
        let delays: Vec<i64> = (0..2000).map(|at| 100_000 + at * at).collect();
        let known: Vec<i64> = (0..2000).map(|at| 50_000 + 1000 * (at % 7)).collect();
        for density in [
            Density::from_delays(AXIS, &delays, None),
            Density::from_delays(AXIS, &delays, Some(&known)),
        ] {
            // Delays that were never seen have a small density everywhere.
            assert!((0.97..1.05).contains(&mass(&density, 53_000)), "{}", mass(&density, 53_000));
        }
    }

    #[test]
    fn a_known_delay_predicts_the_next() {
        // Both delays are short or both are long.
        let delays: Vec<i64> =
            (0..1000).map(|at| if at % 2 == 0 { 100_000 } else { 10_000_000 }).collect();
        let density = Density::from_delays(AXIS, &delays, Some(&delays));
        assert!(
            density.log(100_000, 100_000, false) > density.log(100_000, 10_000_000, false) + 1.0
        );
        assert!(
            density.log(10_000_000, 10_000_000, false)
                > density.log(10_000_000, 100_000, false) + 1.0
        );
    }

    #[test]
    fn a_lone_sample_does_not_confirm_itself() {
        let mut delays = vec![100_000; 500];
        delays.push(80_000_000);
        let density = Density::from_delays(AXIS, &delays, None);
        assert!(density.log(80_000_000, 0, true) < density.log(80_000_000, 0, false) - 1.0);
        assert!((density.log(100_000, 0, true) - density.log(100_000, 0, false)).abs() < 0.01);
    }

    #[test]
    fn sharp_delays_have_the_lower_entropy() {
        let wide = AXIS.entropy((0..1000i32).map(|at| 100_000 + 1000 * i64::from(at)));
        let sharp = AXIS.entropy((0..1000i32).map(|at| 100_000 + i64::from(at)));
        assert!(sharp < wide - 1.0);
    }
}
