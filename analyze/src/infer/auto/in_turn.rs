//! FIFO alignment of two sequences: items given and items begun, such as jobs and their runs, or
//! pushes and deliveries. An item that was recorded on one side only must not shift all later
//! items, so some items of both sequences may be left out.

use crate::tuning::auto::queues::in_turn::{LEFT_OUT_FACTOR, MAX_AHEAD};

/// For each item of `begun` the place of its item in `given`; `None` if it is left out. Both are
/// times in order. Items are matched FIFO, with some of both left out, so that each begins soon
/// after it was given. `fits` states whether the items at two places may match.
pub(super) fn match_in_fifo(
    given: &[i64],
    begun: &[i64],
    fits: impl Fn(usize, usize) -> bool,
) -> Vec<Option<usize>> {
    // An item is left out if that saves more than this number of usual waits.
    let mut waits: Vec<i64> = begun
        .iter()
        .zip(given)
        .map(|(begun, given)| begun.saturating_sub(*given).saturating_abs())
        .collect();
    if waits.is_empty() {
        return vec![None; begun.len()];
    }
    let middle = waits.len() / 2;
    let left_out = waits.select_nth_unstable(middle).1.saturating_mul(LEFT_OUT_FACTOR).max(1);
    // Cost of the best alignment of the first items given with the first items begun, by how many
    // more items given there are, and for each such alignment its last step.
    let width = 2 * MAX_AHEAD + 1;
    let mut costs = vec![i64::MAX; width];
    let mut last_steps: Vec<AlignmentStep> = Vec::with_capacity((begun.len() + 1) * width);
    // By the number of items begun, the number of items given that are ahead in the middle of the
    // band: it follows the cheapest entry, since items left out add up.
    let mut middles: Vec<isize> = Vec::with_capacity(begun.len() + 1);
    let place = |run: usize, ahead: usize, middle: isize| {
        (run + ahead).checked_add_signed(middle)?.checked_sub(MAX_AHEAD)
    };
    for run in 0..=begun.len() {
        let cheapest =
            (0..width).filter(|ahead| costs[*ahead] < i64::MAX).min_by_key(|ahead| costs[*ahead]);
        let shift = cheapest.map_or(0, |ahead| (ahead as isize - MAX_AHEAD as isize).signum());
        let middle = middles.last().map_or(0, |middle| middle + shift);
        middles.push(middle);
        let before = std::mem::replace(&mut costs, vec![i64::MAX; width]);
        let earlier = |ahead: usize| before.get(ahead.checked_add_signed(shift)?).copied();
        for ahead in 0..width {
            let Some(job) = place(run, ahead, middle).filter(|job| *job <= given.len()) else {
                last_steps.push(AlignmentStep::SkipGiven);
                continue;
            };
            let mut best =
                (if run == 0 && job == 0 { 0 } else { i64::MAX }, AlignmentStep::SkipGiven);
            let mut try_one = |from: Option<i64>, cost: i64, step: AlignmentStep| {
                let cost =
                    from.filter(|from| *from < i64::MAX).map(|from| from.saturating_add(cost));
                best = cost.filter(|cost| *cost < best.0).map_or(best, |cost| (cost, step));
            };
            if run > 0 && job > 0 && given[job - 1] <= begun[run - 1] {
                let misfit = if fits(job - 1, run - 1) { 0 } else { left_out };
                try_one(
                    earlier(ahead),
                    begun[run - 1].saturating_sub(given[job - 1]).saturating_add(misfit),
                    AlignmentStep::Match,
                );
            }
            if run > 0 {
                try_one(earlier(ahead + 1), left_out, AlignmentStep::SkipBegun);
            }
            if job > 0 && ahead > 0 {
                try_one(costs.get(ahead - 1).copied(), left_out, AlignmentStep::SkipGiven);
            }
            costs[ahead] = best.0;
            last_steps.push(best.1);
        }
    }
    let end = (0..width).min_by_key(|ahead| {
        let middle = middles.last().copied().unwrap_or(0);
        let left = place(begun.len(), *ahead, middle).and_then(|job| given.len().checked_sub(job));
        left.map_or(i64::MAX, |left| {
            costs[*ahead].saturating_add(left_out.saturating_mul(left as i64))
        })
    });
    let (mut run, mut ahead) = (begun.len(), end.unwrap_or(MAX_AHEAD));
    let mut taken = vec![None; begun.len()];
    while let Some(job) = place(run, ahead, middles[run]).filter(|job| run > 0 || *job > 0) {
        let before = run.saturating_sub(1);
        let shift = middles[run] - middles[before];
        match last_steps[run * width + ahead] {
            AlignmentStep::Match => {
                taken[before] = job.checked_sub(1);
                (run, ahead) = (before, ahead.saturating_add_signed(shift));
            }
            AlignmentStep::SkipBegun => {
                (run, ahead) = (before, (ahead + 1).saturating_add_signed(shift))
            }
            AlignmentStep::SkipGiven if ahead > 0 => ahead -= 1,
            AlignmentStep::SkipGiven => break,
        }
    }
    taken
}

/// A step of the alignment.
#[derive(Clone, Copy)]
enum AlignmentStep {
    /// An item given is matched with an item begun.
    Match,
    /// An item begun is left out.
    SkipBegun,
    /// An item given is left out.
    SkipGiven,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_are_matched_in_fifo_order_and_unmatched_ones_are_left_out() {
        let given: Vec<i64> = (0..60).map(|at| 100 * at).collect();
        let begun = |job: &usize| given[*job] + 10 + (*job as i64 * 7) % 30;
        let taken = |jobs: &[usize]| {
            match_in_fifo(&given, &jobs.iter().map(begun).collect::<Vec<_>>(), |_, _| true)
        };
        let all: Vec<usize> = (0..60).collect();
        assert_eq!(taken(&all), all.iter().map(|job| Some(*job)).collect::<Vec<_>>());
        // The first job and one in the middle are never begun; the jobs after them match all the
        // same.
        let some: Vec<usize> = all.iter().copied().filter(|job| ![0, 30].contains(job)).collect();
        assert_eq!(taken(&some), some.iter().map(|job| Some(*job)).collect::<Vec<_>>());
        // A run of an unknown job.
        let mut begun: Vec<i64> = all.iter().map(begun).collect();
        begun.insert(0, -50);
        assert_eq!(match_in_fifo(&given, &begun, |_, _| true)[..3], [None, Some(0), Some(1)]);
        assert!(match_in_fifo(&given, &[], |_, _| true).is_empty());
    }

    #[test]
    fn items_left_out_may_add_up() {
        let given: Vec<i64> = (0..5000).map(|at| 100 * at).collect();
        let jobs: Vec<usize> = (0..5000).filter(|job| job % 100 != 50).collect();
        let begun: Vec<i64> =
            jobs.iter().map(|job| given[*job] + 10 + (*job as i64 * 7) % 30).collect();
        let right: Vec<Option<usize>> = jobs.iter().map(|job| Some(*job)).collect();
        assert_eq!(match_in_fifo(&given, &begun, |_, _| true), right);
    }

    #[test]
    fn a_clock_too_coarse_for_waits_leaves_no_item_out() {
        let given: Vec<i64> = (0..60).map(|at| 100 * at).collect();
        let begun: Vec<i64> = given.iter().map(|given| given + given / 100 % 2).collect();
        let taken = match_in_fifo(&given, &begun, |_, _| true);
        assert!(taken.iter().zip(0..).all(|(job, at)| *job == Some(at)), "{taken:?}");
    }
}
