//! Tuned figures of calls: pairing, candidates, windows.

/// Warnings about a whole analysis.
pub(crate) mod warnings {
    /// Smallest share of the calls for a warning.
    pub(crate) const MIN_SHARE: f64 = 0.2;
    /// Minimum number of doubtful calls for a warning.
    pub(crate) const MIN_CALLS: u64 = 20;
}

/// Possible parents of a call.
pub(crate) mod candidates {
    /// Maximum number of candidates of a call; the least likely are dropped.
    pub(crate) const MAX_CANDIDATES: usize = 8;
}

/// Responses in several fragments.
pub(crate) mod response_fragments {
    /// Minimum number of fragments at an endpoint; fewer are no evidence.
    pub(crate) const MIN_FRAGMENTS: usize = 5;
    /// Smallest share of the fragments at an endpoint that the client must wait for.
    pub(crate) const AWAITED_SHARE: f64 = 0.9;
    /// Factor by which the client's next request follows a fragment sooner than the fragment
    /// followed the previous one.
    pub(crate) const SOONER_FACTOR: i64 = 2;
    /// Quantile of the response times at the endpoint; no fragment is awaited for longer.
    pub(crate) const USUAL_SHARE: f64 = 0.95;
}

/// Connections that carry many concurrent calls.
pub(crate) mod multiplexed {
    /// Minimum number of messages in each direction; fewer do not show the usual sizes.
    pub(crate) const MIN_MESSAGES: usize = 64;
    /// Maximum size of a control message, such as an acknowledgement, in bytes.
    pub(crate) const MAX_CONTROL_BYTES: i64 = 64;
    /// Number of turns among which one may have more than one message, on both sides.
    pub(crate) const ALTERNATIONS_PER_LONG_RUN: usize = 5;
    /// Smallest probability of mispairing that is kept.
    pub(crate) const MIN_MISPAIRING: f64 = 0.01;
    /// Minimum number of turns in which messages cross.
    pub(crate) const MIN_CROSSINGS: usize = 8;
    /// Number of turns among which at least one has messages that cross.
    pub(crate) const ALTERNATIONS_PER_CROSSING: usize = 100;
    /// Largest stray of the number of open calls, as a share of the stray of a random walk (the
    /// square root of the number of messages), which it would be if the two sides sent
    /// independently.
    pub(crate) const WALK_SHARE: f64 = 0.5;
    /// Number of further responses over which the number of open calls is compared.
    pub(crate) const ANSWERS_AHEAD: usize = 64;
}

/// Flows with two sides that send independently (docs/decisions/0409 has the rule; its figures were
/// chosen on one synthetic system).
pub(crate) mod one_way {
    /// Minimum number of messages of either side; fewer are not evaluated.
    pub(crate) const MIN_MESSAGES: usize = 30;
    /// Largest share of messages that follow one of their own side, if the sides alternate.
    pub(crate) const MAX_OUT_OF_ALTERNATION: f64 = 0.2;
    /// Minimum number of messages of one flow; fewer do not show whether its sides alternate.
    pub(crate) const MIN_MESSAGES_OF_FLOW: usize = 16;
    /// Smallest share of the responses that come within some time after a request, in excess of
    /// chance.
    pub(crate) const ANSWERED_SHARE: f64 = 0.75;
    /// Minimum excess of these responses over chance, in standard deviations.
    pub(crate) const MIN_DEVIATIONS: f64 = 4.0;
    /// Shortest time after a request that is tried, in nanoseconds; each further one is twice the
    /// one before.
    pub(crate) const FIRST_TIME: i64 = 10_000;
    /// Number of tried times.
    pub(crate) const TIMES_TRIED: u32 = 18;
    /// Smallest share of the responses that come later than one tried time after a request and no
    /// later than the next, in excess of chance.
    pub(crate) const SHARE_BETWEEN: f64 = 0.4;
    /// Maximum number of responses that are examined.
    pub(crate) const MAX_SAMPLE: usize = 2000;
}

/// Pairing of requests and responses.
pub(crate) mod pairing {
    /// Number of parts among which flows are divided, to be paired on all processors.
    pub(crate) const PARTITIONS: u64 = 8;
    /// Maximum number of open requests that are checked for having been lost: no client repeats a
    /// request more often, and a response to older ones is not worth the search.
    pub(crate) const MAX_LOST: usize = 16;
}

/// Unsolicited messages of servers.
pub(crate) mod server_push {
    /// Minimum number of pairs of a flow; fewer are not evaluated.
    pub(crate) const MIN_PAIRS: usize = 16;
    /// Number of pairs among which one may have its response before its request.
    pub(crate) const PAIRS_PER_EARLY_ANSWER: usize = 5;
}

/// Pairing of responses among concurrent calls (docs/decisions/0413).
pub(crate) mod likelihood {
    /// Minimum number of calls. The first model is learned from calls that were open alone, if
    /// there are as many.
    pub(crate) const MIN_CALLS: usize = 32;
    /// Minimum number of messages of one size for a separate kind; others are distinguished by
    /// magnitude.
    pub(crate) const MIN_FREQUENT: u32 = 16;
    /// Minimum number of calls of two sizes for learning their duration; with fewer the duration of
    /// all calls is used.
    pub(crate) const MIN_CALLS_OF_KIND: f64 = 16.0;
    /// Number of classes of durations per factor of e.
    pub(crate) const CLASSES_PER_E_FOLD: f64 = 2.5;
    /// Shortest duration that is distinguished, in nanoseconds.
    pub(crate) const SHORTEST: f64 = 1_000.0;
    /// Number of calls before and after one with which it may exchange responses.
    pub(crate) const NEIGHBOURS: usize = 16;
    /// Maximum number of EM iterations.
    pub(crate) const MAX_ITERATIONS: usize = 6;
    /// Number of sweeps of each iteration over all calls.
    pub(crate) const SWEEPS: usize = 3;
    /// Smallest mispairing probability of a call as a share of the largest one among the calls open
    /// with it, and of the average of its connection: if most pairs are ambiguous, the model
    /// learned from them is unreliable, too. Measured: without it 85 to 94% of the links with a
    /// probability of 0.9 or more were right for gRPC in Python and Rust.
    pub(crate) const SHARED_MISPAIRING: f64 = 0.3;
    /// Log-odds of one pairing over the other from which calls count as clear.
    pub(crate) const CLEAR_ODDS: f64 = 3.0;
    /// Minimum number of clear calls.
    pub(crate) const MIN_CLEAR: usize = 10;
    /// Number of clear calls among which one may contradict.
    pub(crate) const CLEAR_PER_EXCEPTION: usize = 20;
}

/// Responses that come after the surroundings of a batch.
pub(crate) mod late_responses {
    /// Maximum number of open requests; further ones are not waited for.
    pub(crate) const MAX_OPEN_REQUESTS: usize = 1 << 20;
}
