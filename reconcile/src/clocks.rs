//! The hosts' clocks, from the messages alone: each host's offset and skew against a reference host
//! (WAP5 section 5.2, after Paxson), with steps and an uncertainty.
//!
//! The way of the data, one concern a file: of all messages those with least delay are kept
//! (`samples`), put together for each two clocks (`link`), and cut where one of them was set
//! (`segments`); `attribution` says whose clock it was, and `pieces` what that makes of its times.
//! `graph` gives each piece of a clock a first line along a tree, `refine` makes it explain all
//! messages, `uncertainty` says how far it may be off. `region` is the geometry under all of it,
//! `model` the result and its use, which `assemble` and `evidence` fill in. What timestamps
//! exchanged with a collector (`hints`) add to it is `join`, `through` and `check`.
//! `docs/clocks.md` has the method and its limits.

mod assemble;
mod attribution;
mod belief;
mod check;
mod evidence;
mod graph;
mod hints;
mod identity;
mod join;
mod link;
mod majority;
mod model;
mod pieces;
mod refine;
mod region;
mod samples;
mod segments;
mod solve;
#[cfg(test)]
mod synthetic;
mod through;
mod uncertainty;

pub use hints::Hints;
pub use model::{Clocks, Evidence, HintCheck, Hinted, HostClock, Source, Step};
pub use samples::{Sample, Samples};

use pieces::{Pieces, StepTime};

/// What is known of a host beside its messages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostFacts {
    /// Its name.
    pub name: String,
    /// What hosts with the same clock have in common: a number of their kernel, 0 if unknown. It is
    /// believed where the messages do not contradict.
    pub machine: u128,
    /// What its clock showed when its first log began or its first message came, in nanoseconds,
    pub first: i64,
    /// and when the last did.
    pub last: i64,
    /// When its clock was set, as its logs tell, in order of time.
    pub set: Vec<ClockSet>,
}

/// A clock was set, as the host itself saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockSet {
    /// What it would have shown when that was seen, in nanoseconds.
    pub at: i64,
    /// It was set then, or up to so many nanoseconds before.
    pub before_ns: i64,
    /// By how much it was set forward, in nanoseconds.
    pub offset_ns: i64,
}

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
    let pairs = samples.pairs();
    let clock_of = identity::clocks(hosts, &pairs);
    let clocks = clock_of.iter().max().map_or(0, |last| last + 1);
    // What each clock's own logs say of its steps; times go on as if it had never been set.
    let known: Vec<Pieces> = (0..clocks)
        .map(|clock| {
            let of_clock = hosts.iter().zip(&clock_of).filter(|(_, of)| **of == clock);
            of_clock.map(|(host, _)| known(host)).max_by_key(Pieces::len).unwrap_or_default()
        })
        .collect();
    let links = link::links(&pairs, &clock_of, |host, time| {
        let pieces = &known[clock_of[host]];
        Some(time.saturating_sub(pieces.shift(pieces.piece(time)?)))
    });
    let solved =
        solve::solve(&links, clocks, reference.and_then(|host| clock_of.get(host)).copied(), &[]);
    let root_of: Vec<usize> = solved
        .clocks
        .iter()
        .enumerate()
        .map(|(clock, line)| line.as_ref().map_or(clock, |line| line.against))
        .collect();
    let clocks = assemble::assemble(hosts, &clock_of, &known, &links, &solved, reference);
    hints::apply(clocks, hosts, &clock_of, &root_of, solved.reference, hints)
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

/// The steps that a host's logs tell of.
fn known(host: &HostFacts) -> Pieces {
    let mut shift = 0_i64;
    let steps = host.set.iter().map(|set| {
        let at = set.at.saturating_sub(shift);
        shift = shift.saturating_add(set.offset_ns);
        StepTime {
            between: [at.saturating_sub(set.before_ns), at.saturating_add(1)],
            jump: set.offset_ns,
        }
    });
    Pieces::new([host.first, host.last], steps.collect())
}
