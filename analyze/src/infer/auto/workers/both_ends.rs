//! Aligns runs with requests by the order of two queues: the request received first is begun first,
//! and the run done first is answered first.

use rustc_hash::FxHashMap;

use super::known::HandoffWitness;
use super::overtaking::{RunRequest, RunRequests};
use super::run::WorkerRun;
use crate::infer::auto::in_turn::match_in_fifo;
use crate::infer::auto::service::RequestId;
use crate::infer::span::NodeSpan;
use crate::tuning::auto::workers::{
    MAX_EARLY, MAX_OVERTAKING, MIN_SHOWN, NEARBY_RUNS, REQUESTS_PER_EXCEPTION, SHOWN_SHARE,
};

/// The request that was found for a run. Requests are given by their places.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct QueuedRun {
    pub(super) request: Option<usize>,
    /// An alternative request with its probability.
    pub(super) rival: Option<(usize, f64)>,
    /// Whether a hand-off shows the request.
    pub(super) is_shown: bool,
}

/// The request of each of `runs`, by its place among `requests`; `None` if runs and requests cannot
/// be aligned. `spans` has the times of all requests of the service. `witnesses` are requests that
/// hand-offs seem to show.
pub(super) fn match_runs(
    spans: &[NodeSpan],
    requests: &[RequestId],
    runs: &[WorkerRun],
    witnesses: &[HandoffWitness],
) -> Option<Vec<QueuedRun>> {
    let span = |place: usize| spans[requests[place].index()];
    let mut done: Vec<usize> = (0..runs.len()).collect();
    done.sort_by_key(|run| (runs[*run].end, *run));
    let mut answered: Vec<usize> = (0..requests.len()).collect();
    answered.sort_by_key(|place| (span(*place).end, *place));
    let ends: Vec<[i64; 2]> = done.iter().map(|run| [runs[*run].done, runs[*run].end]).collect();
    let answers: Vec<i64> = answered.iter().map(|place| span(*place).end).collect();
    let begins_later =
        |(run, place): (usize, usize)| span(answered[place]).begin <= runs[done[run]].begin;
    let pairs = align_ends(&ends, &answers, begins_later).into_iter().map(|(run, place)| {
        let (run, place) = (done[run], answered[place]);
        RunRequest {
            run,
            request: place,
            begin: runs[run].begin,
            done: runs[run].done,
            end: runs[run].end,
            of: span(place),
            shown: None,
        }
    });
    let mut pairs = RunRequests::new(pairs.collect());
    let left_out = requests.len().max(runs.len()) - pairs.len();
    let are_all = REQUESTS_PER_EXCEPTION * left_out <= requests.len();
    if !are_all || pairs.overtaking_rate() > MAX_OVERTAKING {
        return None;
    }
    apply_witnesses(&mut pairs, requests, runs, witnesses);
    pairs.improve();
    if pairs.early_share() > MAX_EARLY {
        return None;
    }
    let mut queued = vec![QueuedRun::default(); runs.len()];
    pairs.for_each_pair(|pair, rival| {
        queued[pair.run] =
            QueuedRun { request: Some(pair.request), rival, is_shown: pair.is_shown() };
    });
    Some(queued)
}

/// Records the requests that witnesses show, object by object, if they mostly agree with the order
/// of the queues.
fn apply_witnesses(
    pairs: &mut RunRequests,
    requests: &[RequestId],
    runs: &[WorkerRun],
    witnesses: &[HandoffWitness],
) {
    let place: FxHashMap<RequestId, usize> = requests.iter().copied().zip(0..).collect();
    let ended = |pair: &RunRequest| (runs[pair.run].thread, pair.end);
    let mut of_threads: Vec<(u32, i64, usize)> =
        (0..).zip(pairs.pairs()).map(|(at, pair)| (ended(pair).0, ended(pair).1, at)).collect();
    of_threads.sort_unstable();
    let mut of_objects: FxHashMap<i64, Vec<(usize, usize)>> = FxHashMap::default();
    for HandoffWitness { thread, signalled, request, object } in witnesses {
        let next = of_threads.partition_point(|(of, end, _)| (of, end) <= (thread, signalled));
        let last = next.checked_sub(1).map(|last| of_threads[last]).filter(|(of, ..)| of == thread);
        if let Some(((.., at), place)) = last.zip(place.get(request)) {
            of_objects.entry(*object).or_default().push((at, *place));
        }
    }
    for shown in of_objects.into_values().filter(|shown| shown.len() >= MIN_SHOWN) {
        let same = shown.iter().filter(|(at, place)| pairs.pairs()[*at].request == *place).count();
        if same as f64 >= SHOWN_SHARE * shown.len() as f64 {
            shown.into_iter().for_each(|(at, place)| pairs.mark_shown(at, place));
        }
    }
}

/// Aligns the ends of runs with responses. Returns pairs of their places. `ends` has the end of the
/// last call and the end of each run, `answers` the times of responses, both in order.
/// `begins_later` states whether a run began after the request of a response was received.
fn align_ends(
    ends: &[[i64; 2]],
    answers: &[i64],
    begins_later: impl Fn((usize, usize)) -> bool,
) -> Vec<(usize, usize)> {
    let can_be = |(end, answer): (usize, usize)| ends[end][0] <= answers[answer];
    let straight = (0..ends.len()).map(|at| (at, at));
    if ends.len() == answers.len() && straight.clone().all(can_be) {
        return straight.collect();
    }
    let ended: Vec<i64> = ends.iter().map(|[_, end]| *end).collect();
    let found = match_in_fifo(&ended, answers, |_, _| true);
    let pairs = (0..).zip(found).filter_map(|(answer, end)| Some((end?, answer))).collect();
    close_gaps(pairs, ends.len(), answers.len(), |pair| can_be(pair) && begins_later(pair))
}

/// These pairs of ends and responses, with some gaps closed. If equally many ends and responses are
/// left out near each other, none of them is missing: one run was answered later than usual, and
/// later runs had to wait. All of them and the pairs between them are matched in order.
fn close_gaps(
    pairs: Vec<(usize, usize)>,
    ends: usize,
    answers: usize,
    can_be: impl Fn((usize, usize)) -> bool,
) -> Vec<(usize, usize)> {
    // Items left out: the number of pairs before each, whether it is a response, and its place.
    let mut left_out: Vec<(usize, bool, usize)> = Vec::new();
    let mut next = (0, 0);
    for (before, (end, answer)) in (0..).zip(pairs.iter().copied().chain([(ends, answers)])) {
        left_out.extend((next.0..end).map(|end| (before, false, end)));
        left_out.extend((next.1..answer).map(|answer| (before, true, answer)));
        next = (end + 1, answer + 1);
    }
    let (mut all, mut at) = (Vec::new(), 0);
    for near in left_out.chunk_by(|one, next| next.0 - one.0 <= NEARBY_RUNS) {
        let [(first, ..), .., (last, ..)] = near else { continue };
        let between = &pairs[*first..*last];
        let of = |is_answer: bool| {
            near.iter().filter(move |(_, of, _)| *of == is_answer).map(|(.., place)| *place)
        };
        let mut ends: Vec<usize> = between.iter().map(|(end, _)| *end).chain(of(false)).collect();
        let mut answers: Vec<usize> = between.iter().map(|(_, of)| *of).chain(of(true)).collect();
        ends.sort_unstable();
        answers.sort_unstable();
        let in_fifo = || ends.iter().copied().zip(answers.iter().copied());
        let is_short = between.len() <= 2 * NEARBY_RUNS;
        if is_short && ends.len() == answers.len() && in_fifo().all(&can_be) {
            all.extend(&pairs[at..*first]);
            all.extend(in_fifo());
            at = *last;
        }
    }
    all.extend(&pairs[at..]);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pairs if these ends, which are handed over `later` than their calls end, are aligned
    /// with these responses.
    fn aligned_pairs(ends: &[i64], later: i64, answers: &[i64]) -> Vec<(usize, usize)> {
        let ends: Vec<[i64; 2]> = ends.iter().map(|end| [end - later, *end]).collect();
        align_ends(&ends, answers, |_| true)
    }

    /// Pairs each of `count` items with the item at the same place.
    fn straight(count: usize) -> Vec<(usize, usize)> {
        (0..count).map(|at| (at, at)).collect()
    }

    #[test]
    fn a_response_before_the_signal_keeps_its_place() {
        let ends: Vec<i64> = (0..40).map(|at| 1000 * at).collect();
        let mut answers: Vec<i64> = ends.iter().map(|end| end + 20).collect();
        answers[20] = ends[20] - 10;
        assert_eq!(aligned_pairs(&ends, 30, &answers), straight(40));
        // Request 20 could not be answered before its calls had ended.
        assert!(!aligned_pairs(&ends, 5, &answers).contains(&(20, 20)));
    }

    #[test]
    fn a_delayed_run_makes_others_wait_and_none_is_left_out() {
        let mut ends: Vec<i64> = (0..40).map(|at| 1000 * at).collect();
        let mut answers: Vec<i64> = ends.iter().map(|end| end + 20).collect();
        // The responses of three are late; the first one is sent when the second has just ended.
        (ends[21], ends[22]) = (ends[20] + 500, ends[20] + 510);
        (answers[20], answers[21], answers[22]) = (ends[20] + 520, ends[20] + 990, ends[20] + 995);
        // An additional response without a known run.
        answers.insert(3, 2500);
        let one_left_out = |at: usize| (at, at + usize::from(at > 2));
        let expected: Vec<(usize, usize)> = (0..40).map(one_left_out).collect();
        assert_eq!(aligned_pairs(&ends, 0, &answers), expected);
    }

    #[test]
    fn equally_many_items_left_out_nearby_are_matched_in_order() {
        let pairs = || vec![(0, 0), (2, 1), (3, 2), (4, 4)];
        assert_eq!(close_gaps(pairs(), 5, 5, |_| true), straight(5));
        assert_eq!(close_gaps(pairs(), 5, 5, |pair| pair != (2, 2)), pairs(), "impossible");
        assert_eq!(close_gaps(pairs(), 6, 5, |_| true), pairs(), "one more end than responses");
        let far: Vec<(usize, usize)> = (0..NEARBY_RUNS + 1).map(|at| (at + 1, at)).collect();
        assert_eq!(close_gaps(far.clone(), NEARBY_RUNS + 2, NEARBY_RUNS + 2, |_| true), far);
    }
}
