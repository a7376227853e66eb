//! Tuned figures of auto: how the best assignment is searched for.

/// Doubts about links.
pub(crate) mod doubted {
    /// Probability of the likeliest request below which a call was given to it by a guess.
    pub(crate) const GUESSED_BELOW: f64 = 0.75;
    /// Share of a service's calls that are guesses from which that is told.
    pub(crate) const GUESSED_SHARE: f64 = 0.5;
    /// Largest share of a link's probability that a doubt takes: what is most likely stays so, and
    /// no more than that is said of it.
    pub(crate) const MAX_AMBIGUITY: f64 = 0.45;
    /// Share of the way to where the likeliest parent would be no likelier than none.
    pub(crate) const MARGIN_SHARE: f64 = 0.9;
}

/// The search for the best assignment.
pub(crate) mod hypotheses {
    /// Number of continuations that are gathered before the worst are dropped, over the number that
    /// is kept.
    pub(crate) const GATHERED_FACTOR: usize = 4;
    /// Distance behind the best hypothesis beyond which a hypothesis is given up, in nats.
    pub(crate) const MARGIN: f64 = 25.0;
    /// Maximum number of open requests; the oldest is given up. docs/accuracy.md and
    /// docs/decisions/0430 have the time that many open requests take.
    pub(crate) const MAX_OPEN_REQUESTS: usize = 1024;
    /// Maximum number of continuations at one event: the more requests are open, the fewer
    /// hypotheses are kept.
    pub(crate) const MAX_CONTINUATIONS: usize = 2048;
    /// Bounds of the number of hypotheses that are kept, whatever the number of open requests.
    pub(crate) const KEPT_BOUNDS: [usize; 2] = [4, 64];
    /// Number of continuations that are gone on with or found to be alike, over the number of
    /// hypotheses kept.
    pub(crate) const ALIKE_FACTOR: usize = 16;
    /// Maximum number of events before the hypotheses that are left become one.
    pub(crate) const MAX_STEPS: usize = 4096;
    /// Smallest share of a call that is kept, as a probability.
    pub(crate) const MIN_SHARE: f64 = 0.001;
    /// Maximum number of parts of a service's events.
    pub(crate) const MAX_IDLE_RANGES: usize = 64;
    /// Minimum number of events of a part.
    pub(crate) const MIN_EVENTS_OF_RANGE: usize = 2048;
    /// Minimum number of events of a piece of what is never idle.
    pub(crate) const MIN_EVENTS_OF_FRAGMENT: usize = 1 << 14;
    /// Minimum number of events of a piece, over the number that is searched twice.
    pub(crate) const FRAGMENT_FACTOR: usize = 12;
    /// Number of events before a cut that are searched with what is behind it, for each open
    /// request. A request with one call has three.
    pub(crate) const EVENTS_BEFORE_CUT: usize = 6;
    /// Number of events after a cut that are searched with what is before it, for each open
    /// request.
    pub(crate) const EVENTS_AFTER_CUT: usize = 3;
    /// Share of its own conviction that a model is given: it takes for independent what is not
    /// (docs/decisions/0401).
    pub(crate) const TEMPER: f64 = 0.6;
    /// Number of last calls of a request that are looked back at.
    pub(crate) const CALLS_BACK: usize = 64;
}

/// What is done strictly in turn (docs/decisions/0435).
pub(crate) mod strict {
    /// Number of calls and answers among which one may contradict the order.
    pub(crate) const CASES_PER_EXCEPTION: usize = 200;
    /// Minimum number of answers that were given while another request was open: with fewer, an
    /// order that is not kept might be contradicted by none. Of recordings in Node no answer
    /// contradicts it; in Rust and Python, where it is not kept, nearly all do.
    pub(crate) const MIN_ANSWERS: usize = 50;
    /// Share of the requests of a kind that must have the same calls in the same order by what the
    /// model says, which may be wrong of many.
    pub(crate) const PLAN_SHARE: f64 = 0.25;
    /// Number of calls, or requests, among which one may be more, or fewer, than counts say.
    /// Chosen, not measured.
    pub(crate) const COUNTED_PER_EXCEPTION: usize = 50;
    /// Maximum number of kinds of requests, and of kinds of calls, if it is tried which go
    /// together. Chosen, not measured.
    pub(crate) const MAX_COUNTED_KINDS: usize = 8;
    /// Maximum number of ways in which they can go together that are tried. Chosen, not measured:
    /// of two kinds of requests and three kinds of calls there were 24.
    pub(crate) const MAX_COUNTED: usize = 256;
}

/// What is done nearly in turn (docs/decisions/0437).
pub(crate) mod nearly_in_turn {
    /// Minimum number of requests with all their calls; of fewer no order is seen. Chosen, not
    /// measured.
    pub(crate) const MIN_CHAINS: usize = 50;
    /// Smallest share of the requests with these calls that must have them all if they are taken in
    /// turn. Chosen, not measured.
    pub(crate) const MIN_CHAINED: f64 = 0.95;
    /// How often a request is a number of places away from its turn: one more than this number,
    /// to the power of minus this figure. The first is for requests that were received, where it
    /// is asked who is likeliest: with a prototype 569, 603 and 552 of 800 calls of a front in
    /// Rust were right in three recordings, and 540, 541 and 502 with 1. How likely that is, is
    /// told by 1 alone: with 2, of what is said with 0.95 in made event loops that take one of
    /// the first three or five at random 73 and 54% are right.
    pub(crate) const RECEIVED: f64 = 2.0;
    pub(crate) const WOKEN: f64 = 1.0;
    /// Nats that a request may cost on average. Recordings in Rust cost 2.1, made loops that take
    /// any of 30 that wait 2.9, and those that take the last 10.
    pub(crate) const MAX_COST: f64 = 5.0;
    /// Nats for what cannot be: a call before its request or before the answer that it waits for,
    /// an answer before its calls have ended.
    pub(crate) const IMPOSSIBLE: f64 = 30.0;
    /// Number of exchanges that are tried for each call in one round.
    pub(crate) const TRIES: usize = 20;
    /// Number of rounds before what is seen counts, and of those that count. With 80 each, and half
    /// as many tries, 10 to 14 of 400 second calls fewer were right.
    pub(crate) const SAMPLING_SWEEPS: [usize; 2] = [100, 100];
    /// Largest number of exchanges that are tried for one service, in all rounds.
    pub(crate) const MAX_TRIES: usize = 30_000_000;
    /// How far apart calls are that are exchanged: one half of them a few places, as neighbours
    /// differ most; the others as many as requests are open at once.
    pub(crate) const NEAR: usize = 4;
    pub(crate) const FAR: usize = 50;
}
