//! The use of exchanges on clocks that were estimated from messages.

use crate::facts::HostFacts;
use crate::hints::clock_groups::ClockGroups;
use crate::hints::exchanges::ClockHints;
use crate::hints::{check, join};
use crate::model::{ClockModel, HintSummary};

/// Uses `hints` on clocks that were estimated from messages: joins clocks that no message connects,
/// and states whether hints and messages agree for the others.
pub(crate) fn apply_hints(
    mut clocks: ClockModel,
    hosts: &[HostFacts],
    clock_of: &[usize],
    root_of: &[usize],
    reference: usize,
    hints: &ClockHints,
) -> ClockModel {
    let grouped = ClockGroups { hosts, clock_of, root_of, reference, hints };
    let has_counts = |hinted: &HintSummary| *hinted != HintSummary::default();
    for (clock, hinted) in clocks.hosts.iter_mut().zip(&hints.of_host) {
        clock.hints = Some(hinted.clone()).filter(has_counts);
    }
    if !hints.is_empty() {
        check::check_hints(&grouped, &mut clocks);
        join::join_groups(&grouped, &mut clocks);
    }
    clocks
}
