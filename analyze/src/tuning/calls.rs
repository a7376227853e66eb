//! Tuned figures of calls: pairing, candidates, windows.

/// Doubts that are told of a whole analysis.
pub(crate) mod warnings {
    /// Smallest share of the calls for which a doubt is told.
    pub(crate) const MIN_SHARE: f64 = 0.2;
    /// Minimum number of doubtful calls for which a doubt is told.
    pub(crate) const MIN_CALLS: u64 = 20;
}

/// Possible parents of a call.
pub(crate) mod candidates {
    /// Maximum number of candidates of a call; the least likely are dropped.
    pub(crate) const MAX_CANDIDATES: usize = 8;
}

/// Answers that come in several pieces.
pub(crate) mod response_fragments {
    /// Minimum number of pieces at an endpoint; fewer tell nothing.
    pub(crate) const MIN_FRAGMENTS: usize = 5;
    /// Smallest share of the pieces at an endpoint that the client must wait for.
    pub(crate) const AWAITED_SHARE: f64 = 0.9;
    /// Factor by which the client's next request comes sooner than the piece came after the one
    /// before.
    pub(crate) const SOONER_FACTOR: i64 = 2;
    /// Quantile of the answers' times at the endpoint; no piece is waited for longer.
    pub(crate) const USUAL_SHARE: f64 = 0.95;
}

/// Connections that carry many calls at once.
pub(crate) mod multiplexed {
    /// Minimum number of messages in each direction; fewer do not tell what is usual.
    pub(crate) const MIN_MESSAGES: usize = 64;
    /// Maximum size of a message of the connection's own, such as an acknowledgement, in bytes.
    pub(crate) const MAX_OWN_BYTES: i64 = 64;
    /// Number of turns among which one may have more than a message, on both sides.
    pub(crate) const ALTERNATIONS_PER_LONG_RUN: usize = 5;
    /// Smallest doubt that is kept, as a probability.
    pub(crate) const MIN_MISPAIRING: f64 = 0.01;
    /// Minimum number of turns in which messages cross.
    pub(crate) const MIN_CROSSINGS: usize = 8;
    /// Number of turns among which at least one has messages that cross.
    pub(crate) const ALTERNATIONS_PER_CROSSING: usize = 100;
    /// Largest stray of the number of open calls, as a share of that of a random walk (the square
    /// root of the number of messages), which it would be if both sides sent on their own.
    pub(crate) const WALK_SHARE: f64 = 0.5;
    /// Number of further answers over which the number of open calls is compared.
    pub(crate) const ANSWERS_AHEAD: usize = 64;
}

/// Flows whose two sides send on their own (docs/decisions/0409 has the rule; its figures were
/// chosen on one made system).
pub(crate) mod one_way {
    /// Minimum number of messages of either side; fewer are not judged.
    pub(crate) const MIN_MESSAGES: usize = 30;
    /// Largest share of messages that follow one of their own side, where turns are taken.
    pub(crate) const MAX_OUT_OF_ALTERNATION: f64 = 0.2;
    /// Minimum number of messages of one flow; fewer do not tell whether its sides take turns.
    pub(crate) const MIN_MESSAGES_OF_FLOW: usize = 16;
    /// Smallest share of the answers that come within some time after a request, beyond those that
    /// do by chance.
    pub(crate) const ANSWERED_SHARE: f64 = 0.75;
    /// Minimum excess of these answers over chance, in standard deviations.
    pub(crate) const MIN_DEVIATIONS: f64 = 4.0;
    /// Shortest time that is tried, in nanoseconds; each further one is twice the one before.
    pub(crate) const FIRST_TIME: i64 = 10_000;
    /// Number of times that are tried.
    pub(crate) const TIMES_TRIED: u32 = 18;
    /// Smallest share of the answers between two times that are tried.
    pub(crate) const SHARE_BETWEEN: f64 = 0.4;
    /// Maximum number of answers that are looked at.
    pub(crate) const MAX_SAMPLE: usize = 2000;
}

/// Pairing of requests and responses.
pub(crate) mod pairing {
    /// Number of parts that flows are dealt into, to be paired on all processors.
    pub(crate) const PARTITIONS: u64 = 8;
    /// Maximum number of open requests that are checked for having been lost: nobody sends one
    /// again more often, and an answer is not worth looking at all that was ever lost.
    pub(crate) const MAX_LOST: usize = 16;
}

/// What is told unasked.
pub(crate) mod server_push {
    /// Minimum number of pairs of a flow; fewer are not judged.
    pub(crate) const MIN_PAIRS: usize = 16;
    /// Number of pairs among which one may have its answer before its question.
    pub(crate) const PAIRS_PER_EARLY_ANSWER: usize = 5;
}

/// Which answer is whose, among calls that are open together (docs/decisions/0413).
pub(crate) mod likelihood {
    /// Minimum number of calls. From as many that were open alone it is learned at first, if there
    /// are.
    pub(crate) const MIN_CALLS: usize = 32;
    /// Minimum number of messages of one size for it to be told apart; others are told apart by
    /// their magnitude.
    pub(crate) const MIN_FREQUENT: u32 = 16;
    /// Minimum number of calls of two sizes from which their duration is learned; with fewer it is
    /// that of all.
    pub(crate) const MIN_CALLS_OF_KIND: f64 = 16.0;
    /// Number of classes of durations to a factor of e.
    pub(crate) const CLASSES_PER_E_FOLD: f64 = 2.5;
    /// Shortest duration that is told apart, in nanoseconds.
    pub(crate) const SHORTEST: f64 = 1_000.0;
    /// Number of calls before and behind one with which it may exchange answers.
    pub(crate) const NEIGHBOURS: usize = 16;
    /// Maximum number of rounds of learning.
    pub(crate) const MAX_ITERATIONS: usize = 6;
    /// Number of times that each round goes through all calls.
    pub(crate) const SWEEPS: usize = 3;
    /// Smallest doubt of a call as a share of the greatest doubt among those open with it, and of
    /// the average of its connection: where most are guesses, what was learned from them is a
    /// guess, too. Measured: without it 85 to 94% of the links said with 0.9 or more were right for
    /// gRPC in Python and Rust.
    pub(crate) const SHARED_MISPAIRING: f64 = 0.3;
    /// Odds of one pairing over the other from which calls count as clear, as a logarithm.
    pub(crate) const CLEAR_ODDS: f64 = 3.0;
    /// Minimum number of clear calls.
    pub(crate) const MIN_CLEAR: usize = 10;
    /// Number of clear calls among which one may say otherwise.
    pub(crate) const CLEAR_PER_EXCEPTION: usize = 20;
}

/// Answers that come later than what is around a stretch.
pub(crate) mod late_responses {
    /// Maximum number of open requests; those that come when it is reached are not waited for.
    pub(crate) const MAX_OPEN_REQUESTS: usize = 1 << 20;
}
