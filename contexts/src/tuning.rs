//! The tuned figures of this crate.

/// Number of bins of an operation's histogram. Chosen, not measured.
pub(crate) const HISTOGRAM_BINS: usize = 32;

/// Minimum number of samples of which modes are counted. Chosen, not measured.
pub(crate) const MIN_FOR_MODES: f64 = 20.0;

/// Minimum number of samples of which the shortest fifth tells how wide a cluster is. Of fewer the
/// shortest half does.
pub(crate) const MIN_FOR_FIFTH: f64 = 80.0;

/// Maximum height of the valley beside a mode, as a share of the mode's.
pub(crate) const VALLEY: f64 = 0.8;

/// Minimum depth of the valley beside a mode, in standard errors of the difference. A cluster of
/// seven samples that stands alone has as much. At least 97 of 100 samples of seven shapes with one
/// mode have one (`modes_tests.rs`).
pub(crate) const MIN_PEAK_ERRORS: f64 = 3.0;

/// Minimum share of the samples around a mode.
pub(crate) const MIN_PEAK_SHARE: f64 = 0.005;
