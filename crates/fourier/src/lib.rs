#![doc = include_str!("../README.md")]

use std::sync::Arc;

use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};

pub use realfft::num_complex::Complex;

/// A transform from a signal to its spectrum.
pub type Forward = Arc<dyn RealToComplex<f64>>;

/// A transform from a spectrum to its signal.
pub type Inverse = Arc<dyn ComplexToReal<f64>>;

/// The transforms of real signals of `length` values, to their spectra and back.
pub fn transforms(length: usize) -> (Forward, Inverse) {
    let mut planner = RealFftPlanner::new();
    (planner.plan_fft_forward(length), planner.plan_fft_inverse(length))
}
