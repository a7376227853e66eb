//! Tuned figures of `auto`: the search for the best assignment.

/// Warnings about links.
pub(crate) mod doubted {
    /// Probability of the likeliest request below which the request of a call is ambiguous.
    pub(crate) const AMBIGUOUS_BELOW: f64 = 0.75;
    /// Share of ambiguous calls of a service from which there is a warning.
    pub(crate) const AMBIGUOUS_SHARE: f64 = 0.5;
    /// Largest share of a link's probability that a warning takes: the most likely parent stays so,
    /// but no more than that is claimed.
    pub(crate) const MAX_AMBIGUITY: f64 = 0.45;
    /// Largest discount of a link, as a share of the discount with which the likeliest parent would
    /// be no likelier than no parent.
    pub(crate) const MARGIN_SHARE: f64 = 0.9;
}

/// The search for the best assignment.
pub(crate) mod hypotheses {
    /// Difference of two shares of a call that are taken as equal: far above what sums of rounded
    /// logarithms differ by.
    pub(crate) const EQUAL_SHARES: f64 = 1e-6;
    /// Number of continuations that are gathered before the worst are dropped, relative to the
    /// number that is kept.
    pub(crate) const GATHERED_FACTOR: usize = 4;
    /// Distance from the best hypothesis beyond which a hypothesis is dropped, in nats.
    pub(crate) const MARGIN_NATS: f64 = 25.0;
    /// Maximum number of open requests; the oldest is dropped. docs/performance.md and
    /// docs/decisions/0430 have the time that many open requests take.
    pub(crate) const MAX_OPEN_REQUESTS: usize = 1024;
    /// Maximum number of continuations at one event: the more requests are open, the fewer
    /// hypotheses are kept.
    pub(crate) const MAX_CONTINUATIONS: usize = 2048;
    /// Bounds of the number of hypotheses that are kept, for any number of open requests.
    pub(crate) const KEPT_BOUNDS: [usize; 2] = [4, 64];
    /// Maximum number of continuations that are examined, since many of them turn out to be equal,
    /// relative to the number of hypotheses kept.
    pub(crate) const ALIKE_FACTOR: usize = 16;
    /// Maximum number of events before the remaining hypotheses are reduced to one.
    pub(crate) const MAX_STEPS: usize = 4096;
    /// Smallest probability with which a request is kept as a candidate of a call.
    pub(crate) const MIN_SHARE: f64 = 0.001;
    /// Maximum number of parts of a service's events.
    pub(crate) const MAX_IDLE_RANGES: usize = 64;
    /// Minimum number of events of a part.
    pub(crate) const MIN_EVENTS_OF_RANGE: usize = 2048;
    /// Minimum number of events of a fragment of a service that is never idle.
    pub(crate) const MIN_EVENTS_OF_FRAGMENT: usize = 1 << 14;
    /// Minimum number of events of a fragment, relative to the number that is searched twice.
    pub(crate) const FRAGMENT_FACTOR: usize = 12;
    /// Number of events before a cut that are searched together with those after it, for each open
    /// request. A request with one call has three.
    pub(crate) const EVENTS_BEFORE_CUT: usize = 6;
    /// Number of events after a cut that are searched together with those before it, for each open
    /// request.
    pub(crate) const EVENTS_AFTER_CUT: usize = 3;
    /// Factor of the log-probabilities of the model: it treats dependent events as independent
    /// (docs/decisions/0401).
    pub(crate) const LOG_PROBABILITY_FACTOR: f64 = 0.6;
    /// Number of last calls of a request that are examined.
    pub(crate) const CALLS_BACK: usize = 64;
}

/// FIFO services (docs/decisions/0435).
pub(crate) mod strict {
    /// Number of calls and responses among which one may contradict the order.
    pub(crate) const CASES_PER_EXCEPTION: usize = 200;
    /// Minimum number of responses that were sent while another request was open: with fewer, an
    /// order that is not kept might not be contradicted. In recordings of Node no response
    /// contradicts it; in Rust and Python, where it is not kept, nearly all do.
    pub(crate) const MIN_ANSWERS: usize = 50;
    /// Smallest share of the requests of a kind that must have the same calls in the same order
    /// according to the model, which may be wrong for many requests.
    pub(crate) const PLAN_SHARE: f64 = 0.25;
    /// Number of calls, or requests, among which one may deviate from the counts. Chosen, not
    /// measured.
    pub(crate) const COUNTED_PER_EXCEPTION: usize = 50;
    /// Maximum number of kinds of requests, and of kinds of calls, for which call plans are derived
    /// from counts. Chosen, not measured.
    pub(crate) const MAX_COUNTED_KINDS: usize = 8;
    /// Maximum number of call plans that are tried. Chosen, not measured: for two kinds of requests
    /// and three kinds of calls there were 24.
    pub(crate) const MAX_COUNTED: usize = 256;
}

/// Nearly FIFO services (docs/decisions/0437).
pub(crate) mod nearly_in_turn {
    /// Minimum number of requests with all their calls; fewer do not show an order. Chosen, not
    /// measured.
    pub(crate) const MIN_CHAINS: usize = 50;
    /// Smallest share of the requests with these calls that must have all of them in FIFO order.
    /// Chosen, not measured.
    pub(crate) const MIN_CHAINED: f64 = 0.95;
    /// Exponent of the order of receipts, if the likeliest request is sought: a request that is n
    /// places away from its FIFO position has the frequency (n + 1) to the power of minus this
    /// figure. With a prototype 569, 603 and 552 of 800 calls of a front in Rust were right in
    /// three recordings, and 540, 541 and 502 with 1. Probabilities are estimated with 1 only: with
    /// 2, in synthetic event loops that take one of the first three or five at random, 73 and 54%
    /// of the calls with a probability of 0.95 are right.
    pub(crate) const RECEIPT_POWER: f64 = 2.0;
    /// Exponent of the order of wake-ups by responses, and of receipts if probabilities are
    /// estimated.
    pub(crate) const WAKE_UP_POWER: f64 = 1.0;
    /// Maximum average cost of a request, in nats. Recordings in Rust cost 2.1, synthetic loops
    /// that take any of 30 waiting requests 2.9, and those that take the last one 10.
    pub(crate) const MAX_COST: f64 = 5.0;
    /// Nats for impossible orders: a call before its request or before the response that it waits
    /// for, a response before its calls have ended.
    pub(crate) const IMPOSSIBLE: f64 = 30.0;
    /// Number of exchanges that are tried for each call in one sweep.
    pub(crate) const TRIES_PER_CALL: usize = 20;
    /// Number of sweeps before samples count, and of those that count. With 80 each, and half as
    /// many tries, 10 to 14 of 400 second calls fewer were right.
    pub(crate) const SAMPLING_SWEEPS: [usize; 2] = [100, 100];
    /// Largest number of exchanges that are tried for one service, in all sweeps.
    pub(crate) const MAX_TRIES: usize = 30_000_000;
    /// Largest distance of the two calls of one half of the exchanges, in places: a few, since
    /// mostly neighbours overtake each other.
    pub(crate) const NEAR_CALLS: usize = 4;
    /// Largest distance of the two calls of the other exchanges, in places: about the number of
    /// concurrently open requests.
    pub(crate) const FAR_CALLS: usize = 50;
}
