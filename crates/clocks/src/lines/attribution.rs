//! Attribution of a change in the difference of two clocks to one of them.
//!
//! When a clock is set, all hosts that communicate with its host see it at the same moment. So of
//! all clocks that could have made some of the changes, the clock that explains most is chosen;
//! partners with messages through that moment and no change count against it. Then the changes that
//! it explains are removed, and so on. Among equals the clock is chosen that the time axis supports
//! (see `segments`), and the reference only if no other clock can be.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::lines::pieces::{ClockPieces, StepTime};
use crate::pairs::pair::ClockPair;
use crate::pairs::segments::DifferenceSegments;
use crate::tuning::{MISFIT_NS, SAME_STEP_NS};

/// A change of one pair, as it would be if one of its clocks had made it.
#[derive(Clone, Copy, Debug)]
struct StepCandidate {
    /// The change, by the numbers of its pair of clocks and of the change in it.
    change: (usize, usize),
    /// The clock that would have made the change.
    clock: usize,
    /// The other clock of the pair.
    partner: usize,
    /// Bounds of the time of the step, in nanoseconds on this clock as if it had never been set.
    between: [i64; 2],
    /// Nanoseconds by which the clock would have been set forward.
    jump: i64,
    /// Whether the time axis supports this clock.
    is_likely: bool,
    /// Number of partners that should have seen the step and did not.
    missed: i64,
}

/// Order of candidates, the most important criterion first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct CandidateRank {
    /// The number of partners with changes that the candidate explains, minus those that saw
    /// nothing.
    support: i64,
    /// Whether the time axis supports this clock.
    is_likely: bool,
    /// Whether the clock is not the reference.
    is_no_reference: bool,
    /// The clock: of equal candidates the one with the smallest number.
    clock: Reverse<usize>,
    /// The change, pair and index: of equal candidates the first.
    change: Reverse<(usize, usize)>,
}

/// Returns the pieces of each of `clocks` clocks.
pub(crate) fn attribute_changes(
    pairs: &[ClockPair],
    segments: &[DifferenceSegments],
    clocks: usize,
    reference: usize,
) -> Vec<ClockPieces> {
    let mut of_clock: Vec<Vec<StepCandidate>> = vec![Vec::new(); clocks];
    let mut shown = vec![[i64::MAX, i64::MIN]; clocks];
    let mut talks = vec![Vec::new(); clocks];
    for (number, (pair, segments)) in pairs.iter().zip(segments).enumerate() {
        for candidate in step_candidates(number, pair, segments) {
            of_clock[candidate.clock].push(candidate);
        }
        let between = two_way_span(pair, segments);
        talks[pair.a].push(ContactTimes {
            pair: number,
            between: between.map(|at| on_clock(segments, false, at)),
        });
        talks[pair.b].push(ContactTimes {
            pair: number,
            between: between.map(|at| on_clock(segments, true, at)),
        });
        let (Some([before, _]), Some([_, after])) =
            (segments.breaks.first(), segments.breaks.last())
        else {
            continue;
        };
        // The first times before a change and the last after one, which separate the pieces.
        for (place, stamp) in pair.timestamps.iter().enumerate() {
            let at = stamp.as_bound(segments.second, segments.origin).at;
            if segments.strays.binary_search(&place).is_ok() {
                continue;
            }
            for (clock, time) in [(pair.a, stamp.a), (pair.b, stamp.b)] {
                let [since, until] = &mut shown[clock];
                *since = if at <= *before { (*since).min(time) } else { *since };
                *until = if at >= *after { (*until).max(time) } else { *until };
            }
        }
    }
    for (all, talks) in of_clock.iter_mut().zip(&talks) {
        let missed: Vec<i64> =
            all.iter().map(|candidate| candidate.missed_pairs(talks, all)).collect();
        all.iter_mut().zip(missed).for_each(|(candidate, missed)| candidate.missed = missed);
    }
    let rank = |seed: &StepCandidate, left: &[Vec<StepCandidate>]| -> CandidateRank {
        let all = left[seed.clock].iter();
        let mut saw: Vec<usize> =
            all.filter(|other| seed.is_same(other)).map(|other| other.partner).collect();
        saw.sort_unstable();
        saw.dedup();
        CandidateRank {
            support: saw.len() as i64 - seed.missed,
            is_likely: seed.is_likely,
            is_no_reference: seed.clock != reference,
            clock: Reverse(seed.clock),
            change: Reverse(seed.change),
        }
    };
    let mut queue: BinaryHeap<(CandidateRank, usize)> = BinaryHeap::new();
    let seeds: Vec<StepCandidate> = of_clock.iter().flatten().copied().collect();
    queue.extend(seeds.iter().enumerate().map(|(number, seed)| (rank(seed, &of_clock), number)));
    let mut steps: Vec<Vec<StepTime>> = vec![Vec::new(); clocks];
    while let Some((old, number)) = queue.pop() {
        let best = seeds[number];
        if !of_clock[best.clock].iter().any(|candidate| candidate.change == best.change) {
            continue;
        }
        // Changes that were explained since can only have lowered the rank.
        let now = rank(&best, &of_clock);
        if now < old {
            queue.push((now, number));
            continue;
        }
        let same: Vec<StepCandidate> =
            of_clock[best.clock].iter().filter(|other| best.is_same(other)).copied().collect();
        steps[best.clock].push(merge_steps(&best, &same));
        for one in &same {
            for clock in [one.clock, one.partner] {
                of_clock[clock].retain(|other| other.change != one.change);
            }
        }
    }
    steps.into_iter().zip(shown).map(|(steps, shown)| ClockPieces::new(shown, steps)).collect()
}

/// Returns the step that all of `same` saw.
fn merge_steps(best: &StepCandidate, same: &[StepCandidate]) -> StepTime {
    let latest = same.iter().map(|candidate| candidate.between[0]).max().unwrap_or(best.between[0]);
    let earliest =
        same.iter().map(|candidate| candidate.between[1]).min().unwrap_or(best.between[1]);
    let mut jumps: Vec<i64> = same.iter().map(|candidate| candidate.jump).collect();
    jumps.sort_unstable();
    let jump = jumps.get(jumps.len() / 2).copied().unwrap_or(best.jump);
    StepTime { between: [latest.min(earliest), latest.max(earliest)], jump }
}

/// Returns two candidates for each change of a pair: either of its two clocks may have been set.
fn step_candidates(
    number: usize,
    pair: &ClockPair,
    segments: &DifferenceSegments,
) -> Vec<StepCandidate> {
    let mut all = Vec::new();
    for (place, (between, jump)) in segments.breaks.iter().zip(segments.jump_sizes()).enumerate() {
        // The second clock minus the first.
        let jump = jump as i64;
        for (clock, partner, is_second) in [(pair.a, pair.b, false), (pair.b, pair.a, true)] {
            let is_axis = is_second == segments.second;
            all.push(StepCandidate {
                change: (number, place),
                clock,
                partner,
                between: between.map(|at| on_clock(segments, is_second, at)),
                jump: if is_second { jump } else { -jump },
                is_likely: segments.is_sure && !is_axis,
                missed: 0,
            });
        }
    }
    all
}

impl StepCandidate {
    /// Returns whether one setting of the clock explains both changes.
    fn is_same(&self, other: &StepCandidate) -> bool {
        let tolerance = (2.0 * MISFIT_NS) as i64 + (self.jump / 10).saturating_abs();
        self.clock == other.clock
            && self.between[0] <= other.between[1].saturating_add(SAME_STEP_NS)
            && other.between[0] <= self.between[1].saturating_add(SAME_STEP_NS)
            && (self.jump.saturating_sub(other.jump)).saturating_abs() <= tolerance
    }

    /// Returns the number of pairs of this clock with messages before and after and no change of
    /// any size.
    fn missed_pairs(&self, talks: &[ContactTimes], all: &[StepCandidate]) -> i64 {
        let [before, after] = self.between;
        let is_quiet = |talk: &&ContactTimes| {
            let mut of_pair = all.iter().filter(|other| other.change.0 == talk.pair);
            talk.between[0] < before
                && after < talk.between[1]
                && !of_pair.any(|other| other.between[0] <= after && before <= other.between[1])
        };
        talks.iter().filter(is_quiet).count() as i64
    }
}

/// Returns the time, in nanoseconds, that the first or the second clock of a pair would show at the
/// time `at` on the pair's axis, if it had never been set.
fn on_clock(segments: &DifferenceSegments, is_second: bool, at: f64) -> i64 {
    let DifferenceSegments { second, origin, ref lines, .. } = *segments;
    let axis = origin.at.saturating_add(at as i64);
    let difference = lines
        .first()
        .map_or(0, |first| first.value_at(at) as i64)
        .saturating_add(origin.difference);
    match (is_second == second, is_second) {
        (true, _) => axis,
        (false, true) => axis.saturating_add(difference),
        (false, false) => axis.saturating_sub(difference),
    }
}

/// Returns the time, on its axis, in which a pair had messages in both directions.
fn two_way_span(pair: &ClockPair, segments: &DifferenceSegments) -> [f64; 2] {
    let mut times = [[f64::MAX, f64::MIN]; 2];
    for stamp in &pair.timestamps {
        let at = stamp.as_bound(segments.second, segments.origin).at;
        let [first, last] = &mut times[usize::from(stamp.above)];
        (*first, *last) = (first.min(at), last.max(at));
    }
    [times[0][0].max(times[1][0]), times[0][1].min(times[1][1])]
}

/// Time in which a clock had messages, on this clock as if it had never been set.
#[derive(Clone, Copy, Debug)]
struct ContactTimes {
    /// The pair of clocks to which the messages belong, by its number.
    pair: usize,
    /// The first and the last time, in nanoseconds.
    between: [i64; 2],
}
