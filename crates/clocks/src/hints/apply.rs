//! The use of exchanges on clocks that messages have given.

use crate::facts::HostFacts;
use crate::hints::exchanges::Hints;
use crate::hints::grouped::Grouped;
use crate::hints::{check, join};
use crate::model::{Clocks, Hinted};

/// Uses `hints` on clocks that were estimated by messages: joins what no message connects, and says
/// whether they agree with messages where these connect.
pub(crate) fn apply(
    mut clocks: Clocks,
    hosts: &[HostFacts],
    clock_of: &[usize],
    root_of: &[usize],
    reference: usize,
    hints: &Hints,
) -> Clocks {
    let grouped = Grouped { hosts, clock_of, root_of, reference, hints };
    let is_told = |hinted: &Hinted| *hinted != Hinted::default();
    for (clock, hinted) in clocks.hosts.iter_mut().zip(&hints.of_host) {
        clock.hints = Some(hinted.clone()).filter(is_told);
    }
    if !hints.is_empty() {
        check::check(&grouped, &mut clocks);
        join::join(&grouped, &mut clocks);
    }
    clocks
}
