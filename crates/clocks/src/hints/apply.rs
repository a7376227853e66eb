//! The use of exchanges on clocks that messages have given.

use crate::facts::HostFacts;
use crate::hints::clock_groups::ClockGroups;
use crate::hints::exchanges::ClockHints;
use crate::hints::{check, join};
use crate::model::{ClockModel, HintSummary};

/// Uses `hints` on clocks that were estimated by messages: joins what no message connects, and says
/// whether they agree with messages where these connect.
pub(crate) fn apply_hints(
    mut clocks: ClockModel,
    hosts: &[HostFacts],
    clock_of: &[usize],
    root_of: &[usize],
    reference: usize,
    hints: &ClockHints,
) -> ClockModel {
    let grouped = ClockGroups { hosts, clock_of, root_of, reference, hints };
    let is_told = |hinted: &HintSummary| *hinted != HintSummary::default();
    for (clock, hinted) in clocks.hosts.iter_mut().zip(&hints.of_host) {
        clock.hints = Some(hinted.clone()).filter(is_told);
    }
    if !hints.is_empty() {
        check::check_hints(&grouped, &mut clocks);
        join::join_groups(&grouped, &mut clocks);
    }
    clocks
}
