//! A set of messages with a common delay, which an edge of the graph is made of.

use super::select::ShiftRange;
use super::sites::SiteEvent;

/// A set O of messages to one node with a common delay, as FindCausedMessages returns it.
pub(super) struct CausedMessages {
    pub(super) group: u32,
    /// d, in quanta.
    pub(super) delay: usize,
    /// Within which delays the messages are.
    pub(super) shifts: ShiftRange,
    /// Excess of C over its mean at each of them.
    pub(super) excess: Vec<f64>,
    pub(super) messages: Vec<SiteEvent>,
}

impl CausedMessages {
    /// Number of messages with such a delay beyond those that have it by chance.
    pub(super) fn excess_count(&self) -> f64 {
        self.excess.iter().sum()
    }
}
