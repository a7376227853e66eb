//! The estimate of all clocks, from samples to the result, one step after the other.

use crate::facts::{HostFacts, known};
use crate::hints::{self, Hints};
use crate::lines::pieces::Pieces;
use crate::lines::solve;
use crate::model::Clocks;
use crate::pairs::pair;
use crate::samples::Samples;
use crate::{assemble, identity};

/// The clocks of `hosts`, whose numbers in `samples` are their places. The reference is the host
/// number `reference`, or else the one that is best connected. Equal input gives equal output.
pub fn estimate(hosts: &[HostFacts], samples: &Samples, reference: Option<usize>) -> Clocks {
    estimate_with(hosts, samples, &Hints::default(), reference)
}

/// As [`estimate`], with timestamps that hosts exchanged with the collector: hosts that no message
/// connects become related by them; for all others they are a check only.
pub fn estimate_with(
    hosts: &[HostFacts],
    samples: &Samples,
    hints: &Hints,
    reference: Option<usize>,
) -> Clocks {
    let of_hosts = samples.pairs();
    let clock_of = identity::clocks(hosts, &of_hosts);
    let clocks = clock_of.iter().max().map_or(0, |last| last + 1);
    // What each clock's own logs say of its steps; times go on as if it had never been set.
    let known: Vec<Pieces> = (0..clocks)
        .map(|clock| {
            let of_clock = hosts.iter().zip(&clock_of).filter(|(_, of)| **of == clock);
            of_clock.map(|(host, _)| known(host)).max_by_key(Pieces::len).unwrap_or_default()
        })
        .collect();
    let pairs = pair::pairs(&of_hosts, &clock_of, |host, time| {
        let pieces = &known[clock_of[host]];
        Some(time.saturating_sub(pieces.shift(pieces.piece(time)?)))
    });
    let solved =
        solve::solve(&pairs, clocks, reference.and_then(|host| clock_of.get(host)).copied(), &[]);
    let root_of: Vec<usize> = solved
        .clocks
        .iter()
        .enumerate()
        .map(|(clock, line)| line.as_ref().map_or(clock, |line| line.against))
        .collect();
    let clocks = assemble::assemble(hosts, &clock_of, &known, &pairs, &solved, reference);
    hints::apply::apply(clocks, hosts, &clock_of, &root_of, solved.reference, hints)
}

impl Clocks {
    /// The same clocks with the steps that `hosts` tell of, where this is an estimate from times
    /// that were made steady before: for times as the clocks showed them.
    #[must_use]
    pub fn as_set(&self, hosts: &[HostFacts]) -> Clocks {
        let mut clocks = self.clone();
        for (clock, host) in clocks.hosts.iter_mut().zip(hosts) {
            *clock = assemble::with_known(std::mem::take(clock), &known(host));
        }
        clocks
    }
}
