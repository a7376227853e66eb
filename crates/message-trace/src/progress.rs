//! Progress of a stage, told without knowing whether anyone listens.

/// A listener for the progress of a stage. All methods may be called from any thread.
pub trait Progress: Sync {
    /// A step of the stage begins: `what` for people ("reading logs"), and how many units it has, 0
    /// if unknown.
    fn begin_step(&self, what: &str, units: u64);
    /// `units` more units of the step are done.
    fn advance_step(&self, units: u64);
}

/// Nobody listens.
impl Progress for () {
    fn begin_step(&self, _: &str, _: u64) {}
    fn advance_step(&self, _: u64) {}
}
