//! Runs put beside requests by the order of two queues: what is received first is begun first, and
//! what is done first is answered first.

use rustc_hash::FxHashMap;

use super::known::Witness;
use super::overtaking::{Pair, Pairs};
use super::run::Run;
use crate::infer::auto::in_turn::in_turn;
use crate::infer::span::Span;
use crate::tuning::auto::workers::{
    MAX_EARLY, MAX_OVERTAKING, MIN_SHOWN, REQUESTS_PER_EXCEPTION, SHOWN_SHARE,
};

/// The request of a run by its place, and another one that it may be for with that probability.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Queued {
    pub(super) request: Option<usize>,
    pub(super) rival: Option<(usize, f64)>,
    /// Whether a hand-off shows it.
    pub(super) is_shown: bool,
}

/// The request of each of `runs`, by its place among `requests`, which are those of `spans`; `None`
/// where they do not go together. `witnesses` are requests that hand-offs seem to show.
pub(super) fn of(
    spans: &[Span],
    requests: &[u32],
    runs: &[Run],
    witnesses: &[Witness],
) -> Option<Vec<Queued>> {
    let span = |place: usize| spans[requests[place] as usize];
    let mut done: Vec<usize> = (0..runs.len()).collect();
    done.sort_by_key(|run| (runs[*run].end, *run));
    let mut answered: Vec<usize> = (0..requests.len()).collect();
    answered.sort_by_key(|place| (span(*place).end, *place));
    let ends: Vec<i64> = done.iter().map(|run| runs[*run].end).collect();
    let answers: Vec<i64> = answered.iter().map(|place| span(*place).end).collect();
    let pairs = beside(&ends, &answers).into_iter().map(|(run, place)| {
        let (run, place) = (done[run], answered[place]);
        Pair {
            run,
            place,
            begin: runs[run].begin,
            end: runs[run].end,
            of: span(place),
            shown: None,
        }
    });
    let mut pairs = Pairs::of(pairs.collect());
    let left_out = requests.len().max(runs.len()) - pairs.len();
    let are_all = REQUESTS_PER_EXCEPTION * left_out <= requests.len();
    if !are_all || pairs.overtaking() > MAX_OVERTAKING {
        return None;
    }
    show(&mut pairs, requests, runs, witnesses);
    pairs.improve();
    if pairs.early() > MAX_EARLY {
        return None;
    }
    let mut queued = vec![Queued::default(); runs.len()];
    pairs.each(|pair, rival| {
        queued[pair.run] = Queued { request: Some(pair.place), rival, is_shown: pair.is_shown() };
    });
    Some(queued)
}

/// Notes what witnesses show, object by object, where it is mostly what the order of the queues
/// tells as well.
fn show(pairs: &mut Pairs, requests: &[u32], runs: &[Run], witnesses: &[Witness]) {
    let place: FxHashMap<u32, usize> = requests.iter().copied().zip(0..).collect();
    let ended = |pair: &Pair| (runs[pair.run].thread, pair.end);
    let mut of_threads: Vec<(u32, i64, usize)> =
        (0..).zip(pairs.pairs()).map(|(at, pair)| (ended(pair).0, ended(pair).1, at)).collect();
    of_threads.sort_unstable();
    let mut of_objects: FxHashMap<i64, Vec<(usize, usize)>> = FxHashMap::default();
    for Witness { thread, signalled, request, object } in witnesses {
        let next = of_threads.partition_point(|(of, end, _)| (of, end) <= (thread, signalled));
        let last = next.checked_sub(1).map(|last| of_threads[last]).filter(|(of, ..)| of == thread);
        if let Some(((.., at), place)) = last.zip(place.get(request)) {
            of_objects.entry(*object).or_default().push((at, *place));
        }
    }
    for shown in of_objects.into_values().filter(|shown| shown.len() >= MIN_SHOWN) {
        let same = shown.iter().filter(|(at, place)| pairs.pairs()[*at].place == *place).count();
        if same as f64 >= SHOWN_SHARE * shown.len() as f64 {
            shown.into_iter().for_each(|(at, place)| pairs.show(at, place));
        }
    }
}

/// Puts what ended beside its answer, both by their places in order.
fn beside(ends: &[i64], answers: &[i64]) -> Vec<(usize, usize)> {
    let is_before = |(end, answer): (&i64, &i64)| end <= answer;
    if ends.len() == answers.len() && ends.iter().zip(answers).all(is_before) {
        return (0..ends.len()).map(|at| (at, at)).collect();
    }
    let found = in_turn(ends, answers, |_, _| true);
    let mut pairs: Vec<(usize, usize)> = Vec::new();
    // As many that are left out on both sides between two pairs have waited for longer than usual.
    let fill = |pairs: &mut Vec<(usize, usize)>, end: usize, answer: usize| {
        let (first_end, first_answer) = pairs.last().map_or((0, 0), |(a, b)| (a + 1, b + 1));
        if end - first_end == answer - first_answer {
            let between = (first_end..end).zip(first_answer..answer);
            pairs.extend(between.filter(|(end, answer)| ends[*end] <= answers[*answer]));
        }
    };
    for (answer, end) in found.into_iter().enumerate() {
        if let Some(end) = end {
            fill(&mut pairs, end, answer);
            pairs.push((end, answer));
        }
    }
    fill(&mut pairs, ends.len(), answers.len());
    pairs
}
