#![doc = include_str!("../README.md")]

use std::sync::Arc;

use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};

pub use realfft::num_complex::Complex;

/// A transform from a signal to its spectrum.
pub type ForwardTransform = Arc<dyn RealToComplex<f64>>;

/// A transform from a spectrum to its signal.
pub type InverseTransform = Arc<dyn ComplexToReal<f64>>;

/// The transforms of real signals of `length` values, to their spectra and back.
pub fn real_transforms(length: usize) -> (ForwardTransform, InverseTransform) {
    let mut planner = RealFftPlanner::new();
    (planner.plan_fft_forward(length), planner.plan_fft_inverse(length))
}
