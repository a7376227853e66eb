//! Part of a whole, as all measures of the score compute it.

/// `part` of `whole`, from 0 to 1; `None` if `whole` is 0.
pub(super) fn share_of_whole(part: usize, whole: usize) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}
