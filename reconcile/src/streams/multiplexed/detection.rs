//! Detection of multiplexed connections (HTTP/2, AMQP, pipelining). The two sides do not take turns
//! there, so neither do their messages, and the data sent without a turn of the other side is
//! several messages.
//!
//! A large body is many pieces without a turn as well. The balance distinguishes the two: on a
//! multiplexed connection there are as many answers as requests, so that the number of open calls
//! goes up and down and comes back; of bodies one side sends arbitrarily many pieces, and the
//! difference strays like a random walk. So the pieces of both sides are counted in each turn, and
//! the change of the balance over one turn is compared with its change over many.
//!
//! If few calls are open together, or an answer is sometimes one piece and sometimes two, the
//! balance is weak evidence. But a request may be in flight at the same time as the answer to
//! another request. If the sides take turns, no messages cross except the pieces of large bodies,
//! so a few small ones that cross are enough. If requests are seldom sent together, their sizes
//! show it ([`pipelined`]).
//!
//! On a connection with few turns the change over many of them is hardly known. If messages have
//! few sizes, these are better evidence ([`acknowledged`]).

use crate::calls::FlowMessage;
use crate::streams::boundary::IsBoundary;
use crate::streams::fragment_order::OrderedFragments;
use crate::streams::multiplexed::acknowledged;
use crate::streams::multiplexed::pipelined::{self, TurnSizes};
use crate::streams::multiplexed::usual_sizes::UsualSizes;
use crate::tuning::{
    BALANCE_LAG_TURNS, MAX_CROSSING_BYTES, MAX_FEW_VARIANCE, MESSAGES_A_DIFFERENCE,
    MIN_BALANCE_VARIANCE, MIN_CROSSING_TURNS, MIN_TURNS, PIECE_CONTINUES_NS, TURNS_A_CROSSING,
    TURNS_A_SEVERAL, USUAL_SIZE_SAMPLE, USUAL_TO_OWN_BYTES,
};

/// Whether `next` belongs to another piece than `last`, the fragment before it in its direction, if
/// calls need not take turns. A piece is what one thread moved without a pause, and without doing
/// anything else in between.
pub(crate) fn is_boundary(last: &FlowMessage, next: &FlowMessage) -> bool {
    let seen = |part: &FlowMessage| part.sent.or(part.received);
    match (seen(last), seen(next)) {
        (Some(one), Some(other)) => {
            next.elsewhere
                || next.acted
                || one.tid != other.tid
                || other.first.saturating_sub(one.last) > PIECE_CONTINUES_NS
        }
        _ => true,
    }
}

/// Every fragment is a message.
fn is_always_boundary(_: &FlowMessage, _: &FlowMessage) -> bool {
    true
}

/// Traits of a multiplexed connection.
#[derive(Debug)]
pub(crate) struct MultiplexedTraits {
    /// Whether the second of two fragments belongs to another message than the first.
    pub(crate) separates: IsBoundary,
    /// Usual sizes there and back.
    pub(crate) units: [UsualSizes; 2],
}

/// Returns the traits of a connection with these fragments, there and back, if it is multiplexed,
/// in the view of end number `end`: the connecting (0) or the accepting one (1).
pub(crate) fn detect_multiplexing(
    there: impl Iterator<Item = FlowMessage>,
    back: impl Iterator<Item = FlowMessage>,
    end: usize,
) -> Option<MultiplexedTraits> {
    let (mut of_pieces, mut of_parts) = (FragmentBalance::default(), FragmentBalance::default());
    let mut crossings = CrossingTurns::default();
    let mut turns: [TurnSizes; 2] = Default::default();
    let mut is_sampled = [true; 2];
    let mut last: [Option<FlowMessage>; 2] = [None; 2];
    let mut former = 1;
    for (direction, part) in OrderedFragments::new(there, back, end) {
        let is_turn = direction != former;
        let is_new = is_turn || last[direction].is_none_or(|last| is_boundary(&last, &part));
        if is_turn && direction == 0 {
            of_pieces.begin_turn();
            of_parts.begin_turn();
        }
        of_pieces.fragments[direction] += u64::from(is_new);
        of_parts.fragments[direction] += 1;
        crossings.add_fragment(direction, &part, last[0].filter(|_| direction == 1), is_turn);
        let of_side = &mut turns[direction];
        let more = of_side.bytes.len() < USUAL_SIZE_SAMPLE;
        is_sampled[direction] = if is_turn { more } else { is_sampled[direction] };
        if is_sampled[direction] {
            is_turn.then(|| of_side.begin_turn());
            of_side.add_bytes(part.bytes);
        }
        (last[direction], former) = (Some(part), direction);
    }
    let crosses = of_pieces.is_even() && crossings.are_many(of_pieces.turns);
    let units = || [0, 1].map(|side: usize| UsualSizes::from_turns(&turns[side].bytes));
    let separates: IsBoundary = match () {
        () if of_pieces.is_acknowledged() => is_boundary,
        () if crosses => is_boundary,
        () if of_parts.is_one_per_turn() => is_always_boundary,
        () => {
            let units = units();
            if acknowledged::is_acknowledged(&turns, &units) {
                return Some(MultiplexedTraits { separates: is_always_boundary, units });
            }
            return pipelined::is_pipelined(&turns, &units)
                .then_some(MultiplexedTraits { separates: is_boundary, units });
        }
    };
    Some(MultiplexedTraits { separates, units: units() })
}

/// Turns in which a request and an answer crossed.
#[derive(Debug, Default)]
struct CrossingTurns {
    turns: u64,
    /// Whether the current turn is counted.
    is_counted: bool,
    /// Number of fragments there and back.
    fragments: [u64; 2],
    /// Number of their bytes.
    bytes: [u64; 2],
}

impl CrossingTurns {
    /// Adds the next fragment; for a fragment that comes back, `before` is the last fragment that
    /// went there.
    fn add_fragment(
        &mut self,
        direction: usize,
        part: &FlowMessage,
        before: Option<FlowMessage>,
        is_turn: bool,
    ) {
        self.fragments[direction] += 1;
        self.bytes[direction] += part.bytes;
        self.is_counted &= !is_turn;
        let Some(before) = before else { return };
        let is_own = |direction: usize, part: &FlowMessage| {
            USUAL_TO_OWN_BYTES * part.bytes * self.fragments[direction] < self.bytes[direction]
        };
        // By the clock of the answering side: it sent its fragment before the other had arrived.
        let times = part.sent.zip(before.received);
        let crosses = times.is_some_and(|(sent, received)| sent.first < received.first);
        if crosses && !self.is_counted && !is_own(1, part) && !is_own(0, &before) {
            self.turns += 1;
            self.is_counted = true;
        }
    }

    /// Whether enough of `turns` turns have messages that cross, and the messages are small.
    fn are_many(&self, turns: u64) -> bool {
        let is_small = |side: usize| self.bytes[side] <= MAX_CROSSING_BYTES * self.fragments[side];
        self.turns >= MIN_CROSSING_TURNS
            && self.turns * TURNS_A_CROSSING >= turns
            && is_small(0)
            && is_small(1)
    }
}

/// Balance: how many pieces went there and back, turn by turn.
#[derive(Debug, Default)]
struct FragmentBalance {
    fragments: [u64; 2],
    turns: u64,
    /// The balance at the latest turns.
    latest: [i64; BALANCE_LAG_TURNS],
    /// Changes over one turn.
    one: BalanceChanges,
    /// Changes over [`BALANCE_LAG_TURNS`] turns.
    many: BalanceChanges,
}

/// Changes of the balance.
#[derive(Debug, Default)]
struct BalanceChanges {
    /// Number of changes.
    count: f64,
    sum: f64,
    /// Sum of the squares of all changes.
    squares: f64,
}

impl BalanceChanges {
    fn add_change(&mut self, change: i64) {
        let change = change as f64;
        self.count += 1.0;
        self.sum += change;
        self.squares += change * change;
    }

    fn variance(&self) -> f64 {
        let mean = self.sum / self.count.max(1.0);
        self.squares / self.count.max(1.0) - mean * mean
    }
}

impl FragmentBalance {
    /// Begins a turn.
    fn begin_turn(&mut self) {
        let now = self.fragments[0] as i64 - self.fragments[1] as i64;
        let (turn, lag) = (self.turns as usize, BALANCE_LAG_TURNS as u64);
        if self.turns > 0 {
            self.one.add_change(now - self.latest[(turn - 1) % BALANCE_LAG_TURNS]);
        }
        if self.turns >= lag {
            self.many.add_change(now - self.latest[turn % BALANCE_LAG_TURNS]);
        }
        self.latest[turn % BALANCE_LAG_TURNS] = now;
        self.turns += 1;
    }

    /// Whether the data sent in one call is answered, or acknowledged, in one call, though not turn
    /// by turn: equally many go there and back, and the number of open ones goes up and down and
    /// comes back. Heads and bodies on both sides are even in each turn.
    fn is_one_per_turn(&self) -> bool {
        let [there, back] = self.fragments;
        let changes = self.one.variance() >= MIN_BALANCE_VARIANCE;
        changes
            && MESSAGES_A_DIFFERENCE * there.abs_diff(back) <= there + back
            && self.is_acknowledged()
    }

    /// Whether both sides often send several pieces in a turn, equally many, and the number of open
    /// ones comes back.
    fn is_acknowledged(&self) -> bool {
        let [there, back] = self.fragments;
        let more = |pieces: u64| pieces.saturating_sub(self.turns) * TURNS_A_SEVERAL >= self.turns;
        // A random walk goes BALANCE_LAG_TURNS times as far, in squares, within the precision of
        // this number of turns. Many pieces per turn are bodies more often than calls.
        let one = self.one.variance();
        let deviations = if one <= MAX_FEW_VARIANCE { 1.25 } else { 3.0 };
        let open = (2.0 * BALANCE_LAG_TURNS as f64 / self.turns.max(1) as f64).sqrt();
        let comes_back =
            self.many.variance() <= BALANCE_LAG_TURNS as f64 * (1.0 - deviations * open) * one;
        self.is_even() && more(there) && more(back) && comes_back
    }

    /// Whether there are enough turns, and both sides send about as many pieces.
    fn is_even(&self) -> bool {
        let [there, back] = self.fragments;
        self.turns >= MIN_TURNS && 2 * there <= 3 * back && 2 * back <= 3 * there
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::CallSpan;
    use crate::indices::ProcessIndex;

    const MS: i64 = 1_000_000;

    /// A fragment that is sent, and received immediately.
    fn fragment_at(at: i64, elsewhere: bool) -> FlowMessage {
        let seen = Some(CallSpan::from_call(at, ProcessIndex::default(), 1));
        FlowMessage {
            sent: seen,
            received: seen,
            bytes: 100,
            parts: 1,
            elsewhere,
            acted: false,
            begins: [false; 2],
        }
    }

    /// Pseudo-random numbers below `most`.
    fn random(state: &mut u64, most: u64) -> u64 {
        *state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*state >> 33) % most
    }

    /// Requests and answers of `callers`. Each sends again when it has its answer, after up to 8
    /// ms.
    fn calls(callers: u64, count: usize) -> [Vec<FlowMessage>; 2] {
        let mut state = 1;
        let mut next: Vec<i64> = (0..callers).map(|caller| caller as i64 * MS / 3).collect();
        let (mut requests, mut answers) = (Vec::new(), Vec::new());
        for _ in 0..count {
            let caller = (0..next.len()).min_by_key(|caller| next[*caller]).unwrap_or(0);
            let back = next[caller] + MS / 2 + random(&mut state, 8_000) as i64 * 1_000;
            requests.push(fragment_at(next[caller], true));
            answers.push(fragment_at(back, true));
            next[caller] = back + MS / 2 + random(&mut state, 1_000) as i64 * 1_000;
        }
        answers.sort_by_key(|part| part.sent.map(|seen| seen.first));
        [requests, answers]
    }

    /// Requests and answers in turn, of up to `most` pieces each.
    fn bodies(most: u64, count: usize, seed: u64) -> [Vec<FlowMessage>; 2] {
        let (mut state, mut at) = (seed, 0);
        let mut sides = [Vec::new(), Vec::new()];
        for _ in 0..count {
            for side in &mut sides {
                for _ in 0..=random(&mut state, most) {
                    at += MS;
                    side.push(fragment_at(at, true));
                }
            }
        }
        sides
    }

    fn is_multiplexed([there, back]: [Vec<FlowMessage>; 2]) -> bool {
        let both = [0, 1].map(|end| {
            detect_multiplexing(there.iter().copied(), back.iter().copied(), end).is_some()
        });
        assert_eq!(both[0], both[1], "data received immediately looks the same from both ends");
        both[0]
    }

    #[test]
    fn calls_that_are_open_together_are_multiplexed() {
        assert!(is_multiplexed(calls(8, 1_000)));
        assert!(is_multiplexed(calls(3, 1_000)));
        assert!(!is_multiplexed(calls(8, 40)), "too few to tell");
    }

    /// Jobs for three workers, each taking up to 8 ms, and the reports of their completion: every 4
    /// ms, as one thread handles all of them.
    fn given_in_threes(count: usize) -> [Vec<FlowMessage>; 2] {
        let [given, done] = calls(3, count);
        let mut before = i64::MIN;
        let reports = done.iter().filter_map(|part| {
            let at = (part.sent?.first + 4 * MS - 1) / (4 * MS) * (4 * MS);
            let is_first = at > before;
            before = if is_first { at } else { before + 1_000 };
            Some(self::fragment_at(before, is_first))
        });
        [reports.collect(), given]
    }

    #[test]
    fn messages_acknowledged_one_by_one_are_multiplexed() {
        let [done, given] = given_in_threes(1_000);
        let found = detect_multiplexing(done.iter().copied(), given.iter().copied(), 0);
        assert!(
            found.is_some_and(|found| (found.separates)(
                &fragment_at(0, false),
                &fragment_at(1, false)
            )),
            "each is one"
        );
    }

    /// Jobs that are sent about every 4 ms, each with a report some 5 ms later.
    fn few_jobs(count: i64, bytes: impl Fn(i64) -> u64) -> [Vec<FlowMessage>; 2] {
        let mut state = 1;
        let (mut given, mut done) = (Vec::new(), Vec::new());
        for job in 0..count {
            let at = 4 * MS * job + random(&mut state, 4_000) as i64 * 1_000;
            given.push(FlowMessage { bytes: 10 * bytes(job), ..fragment_at(at, true) });
            let over = at + MS + random(&mut state, 8_000) as i64 * 1_000;
            done.push(FlowMessage { bytes: bytes(job), ..fragment_at(over, true) });
        }
        done.sort_by_key(|part| part.sent.map(|seen| seen.first));
        [done, given]
    }

    #[test]
    fn a_few_messages_acknowledged_one_by_one_are_multiplexed() {
        assert!(is_multiplexed(few_jobs(90, |_| 21)));
        assert!(!is_multiplexed(few_jobs(90, |job| 21 + 2 * job as u64)), "of all sizes");
        assert!(!is_multiplexed(few_jobs(30, |_| 21)), "too few");
        assert!(!is_multiplexed(few_jobs(90, |_| 2_100)), "bodies");
    }

    #[test]
    fn few_turns_with_pieces_by_chance_are_not_multiplexed() {
        let mut found = 0;
        for seed in 1..=200 {
            let [mut there, mut back] = bodies(3, 60, seed);
            // Equally many of both sides.
            let least = there.len().min(back.len());
            there.truncate(least);
            back.truncate(least);
            found += i32::from(is_multiplexed([there, back]));
        }
        assert!(found <= 4, "{found}");
    }

    #[test]
    fn heads_and_bodies_are_not_multiplexed() {
        let twice = |parts: Vec<FlowMessage>| -> Vec<FlowMessage> {
            parts
                .iter()
                .flat_map(|part| [*part, FlowMessage { elsewhere: false, ..*part }])
                .collect()
        };
        let [requests, answers] = calls(1, 1_000);
        assert!(!is_multiplexed([twice(requests), twice(answers)]));
    }

    #[test]
    fn turns_are_not_multiplexed() {
        assert!(!is_multiplexed(calls(1, 1_000)));
    }

    #[test]
    fn bodies_are_not() {
        for seed in 1..20 {
            assert!(!is_multiplexed(bodies(20, 500, seed)), "{seed}");
        }
        // One side alone.
        let [there, _] = bodies(20, 200, 1);
        assert!(!is_multiplexed([there, Vec::new()]));
    }

    /// Requests of `bytes` bytes every 10 ms, answered after 1 ms; in one turn of `every` another
    /// one follows, `late` after the first, while that is being answered.
    fn crossing(bytes: u64, every: i64, late: i64) -> [Vec<FlowMessage>; 2] {
        let mut sides = [Vec::new(), Vec::new()];
        for turn in 0..1_000 {
            // The last answer is longer, so that sizes are no evidence.
            let mut add = |side: usize, at: i64, takes: i64| {
                let [sent, received] = [at, at + takes].map(|at| {
                    Some(CallSpan::from_call(10 * MS * turn + at, ProcessIndex::default(), 1))
                });
                let bytes = bytes + u64::from(at == 3 * MS);
                sides[side].push(FlowMessage { sent, received, bytes, ..fragment_at(0, true) });
            };
            add(0, 0, MS / 10);
            if turn % every == 0 {
                add(0, MS - MS / 20, late);
                add(1, MS, MS / 10);
                add(1, 3 * MS, MS / 10);
            } else {
                add(1, MS, MS / 10);
            }
        }
        sides
    }

    #[test]
    fn small_messages_that_cross_are_multiplexed() {
        let is_seen = |[there, back]: [Vec<FlowMessage>; 2]| {
            detect_multiplexing(there.into_iter(), back.into_iter(), 0).is_some()
        };
        assert!(is_seen(crossing(100, 20, MS / 10)));
        assert!(!is_seen(crossing(100, 200, MS / 10)), "too seldom");
        assert!(!is_seen(crossing(10_000, 20, MS / 10)), "bodies");
        assert!(!is_seen(crossing(100, 20, MS / 30)), "it came before the answer was sent");
    }

    #[test]
    fn requests_that_are_sometimes_sent_together_are_cut() {
        // Every eighth of a hundred turns has two calls, and one more is written in two.
        let mut sides = [Vec::new(), Vec::new()];
        for turn in 0..100 {
            let mut add = |side: usize, at: i64, bytes: u64| {
                let part = fragment_at(10 * MS * turn + at, true);
                sides[side].push(FlowMessage { bytes, ..part });
            };
            let calls = if turn % 8 == 0 { 2 } else { 1 };
            match turn {
                16 => [0, MS].iter().for_each(|at| add(0, *at, 64)),
                _ => add(0, 0, 64 * calls),
            }
            add(1, 2 * MS, 5 * calls);
        }
        let [there, back] = sides;
        let found = detect_multiplexing(there.iter().copied(), back.iter().copied(), 0);
        assert!(found.is_some_and(|found| found.units[0].count_messages(128) == Some(2)));
        // An answer that does not grow with its request is a single one.
        let longer = back.into_iter().map(|part| FlowMessage { bytes: 5, ..part });
        assert!(detect_multiplexing(there.into_iter(), longer, 0).is_none());
    }

    #[test]
    fn pieces_end_at_other_activity() {
        let (first, soon, late) = (
            fragment_at(0, false),
            fragment_at(PIECE_CONTINUES_NS, false),
            fragment_at(PIECE_CONTINUES_NS + 1, false),
        );
        assert!(!is_boundary(&first, &soon) && is_boundary(&first, &late));
        assert!(is_boundary(&first, &fragment_at(PIECE_CONTINUES_NS, true)));
        let mut other = soon;
        other.sent = Some(CallSpan::from_call(PIECE_CONTINUES_NS, ProcessIndex::default(), 2));
        assert!(is_boundary(&first, &other), "another thread's");
    }
}
