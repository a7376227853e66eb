//! The estimate of all clocks, from samples to the result, step by step.

use crate::facts::{HostFacts, known_pieces};
use crate::hints::{self, ClockHints};
use crate::lines::pieces::ClockPieces;
use crate::lines::solve;
use crate::model::ClockModel;
use crate::pairs::pair;
use crate::samples::ClockSamples;
use crate::{assemble, identity};

/// Estimates the clocks of `hosts`, which are numbered in `samples` by their index. The reference
/// is the host number `reference`, or else the best connected one. Equal input gives equal output.
pub fn estimate_clocks(
    hosts: &[HostFacts],
    samples: &ClockSamples,
    reference: Option<usize>,
) -> ClockModel {
    estimate_with_hints(hosts, samples, &ClockHints::default(), reference)
}

/// Estimates the clocks as [`estimate_clocks`] does, also with `hints`, timestamps that hosts
/// exchanged with the collector: they relate hosts that no message connects; for all others they
/// are a check only.
pub fn estimate_with_hints(
    hosts: &[HostFacts],
    samples: &ClockSamples,
    hints: &ClockHints,
    reference: Option<usize>,
) -> ClockModel {
    let of_hosts = samples.pair_minima();
    let clock_of = identity::clocks_of_hosts(hosts, &of_hosts);
    let clocks = clock_of.iter().max().map_or(0, |last| last + 1);
    // Steps recorded in each clock's own logs; times continue as if it had never been set.
    let known: Vec<ClockPieces> = (0..clocks)
        .map(|clock| {
            let of_clock = hosts.iter().zip(&clock_of).filter(|(_, of)| **of == clock);
            of_clock
                .map(|(host, _)| known_pieces(host))
                .max_by_key(ClockPieces::len)
                .unwrap_or_default()
        })
        .collect();
    let pairs = pair::clock_pairs(&of_hosts, &clock_of, |host, time| {
        let pieces = &known[clock_of[host]];
        Some(time.saturating_sub(pieces.shift_before(pieces.piece_at(time)?)))
    });
    let solved = solve::solve_clocks(
        &pairs,
        clocks,
        reference.and_then(|host| clock_of.get(host)).copied(),
        &[],
    );
    let root_of: Vec<usize> = solved
        .clocks
        .iter()
        .enumerate()
        .map(|(clock, line)| line.as_ref().map_or(clock, |line| line.against))
        .collect();
    let clocks = assemble::assemble_clocks(hosts, &clock_of, &known, &pairs, &solved, reference);
    hints::apply::apply_hints(clocks, hosts, &clock_of, &root_of, solved.reference, hints)
}

impl ClockModel {
    /// Adds the steps that `hosts` record to clocks that were estimated from steady times (as if no
    /// clock had ever been set), so that the model converts times as the clocks showed them.
    #[must_use]
    pub fn with_recorded_steps(&self, hosts: &[HostFacts]) -> ClockModel {
        let mut clocks = self.clone();
        for (clock, host) in clocks.hosts.iter_mut().zip(hosts) {
            *clock = assemble::with_known_steps(std::mem::take(clock), &known_pieces(host));
        }
        clocks
    }
}
