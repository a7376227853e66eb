//! Caused messages: a set of messages with a common delay, from which an edge of the graph is made.

use super::select::ShiftRange;
use super::sites::SiteEvent;

/// A set O of messages to one node with a common delay, as FindCausedMessages returns it.
pub(super) struct CausedMessages {
    /// The group of the messages, an index into the groups of the sites.
    pub(super) group: u32,
    /// d: the delay, in quanta.
    pub(super) delay: usize,
    /// The range of the delays of these messages, in quanta.
    pub(super) shifts: ShiftRange,
    /// Excess of the correlation C over its mean at each delay of the range.
    pub(super) excess: Vec<f64>,
    pub(super) messages: Vec<SiteEvent>,
}

impl CausedMessages {
    /// By how many messages more have a delay in the range than by chance.
    pub(super) fn excess_count(&self) -> f64 {
        self.excess.iter().sum()
    }
}
