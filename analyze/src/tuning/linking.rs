//! Tuned figures of message linking.

/// Number of departures that one thread links at a time: few, so that results are not in memory
/// twice for long.
pub(crate) const DEPARTURES_AT_ONCE: usize = 16 * 1024;
/// Smallest weight of a parent relative to the best choice. The others, normalised, still sum to 1,
/// and the number of parents does not depend on the length of the window.
pub(crate) const NEGLIGIBLE: f64 = 1e-6;
