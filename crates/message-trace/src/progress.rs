//! Progress of a stage, reported whether or not there is a listener.

/// A listener for the progress of a stage. All methods may be called from any thread.
pub trait Progress: Sync {
    /// Reports that a step of the stage begins: `what` for people ("reading logs"), and the number
    /// of units in it, 0 if unknown.
    fn begin_step(&self, what: &str, units: u64);
    /// Reports that `units` more units of the step are done.
    fn advance_step(&self, units: u64);
}

/// A listener that ignores everything.
impl Progress for () {
    fn begin_step(&self, _: &str, _: u64) {}
    fn advance_step(&self, _: u64) {}
}
