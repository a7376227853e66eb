//! Tuned figures of auto: how a service is learned.

/// Agreement of the beginnings (docs/decisions/0410).
pub(crate) mod agreement {
    /// Number of classes of calls by how many requests they may be for, each twice as many as the
    /// one before.
    pub(crate) const CLASSES: usize = 11;
    /// Difference in fit, in nats a call, by which a beginning counts by a factor of e less.
    pub(crate) const WORSE_NATS: f64 = 0.3;
    /// Probability from which a share is left as it is.
    pub(crate) const LEFT_ALONE: f64 = 0.995;
    /// Maximum number of requests among which what the likely one loses is divided.
    pub(crate) const MAX_OTHERS: usize = 5;
    /// Weight of the best assignment's own word: where all others fit far worse, they say little.
    pub(crate) const OWN_WEIGHT: f64 = 0.1;
    /// Minimum weight of calls, with those taken as seen, by which a class is judged.
    pub(crate) const MIN_CALLS: f64 = 12.0;
    /// Number of calls taken as seen beforehand on which all beginnings agree.
    pub(crate) const PRIOR_CALLS: f64 = 2.0;
}

/// Beginnings of learning (docs/decisions/0410, 0411).
pub(crate) mod beginnings {
    /// Number of hypotheses that are kept while a beginning is tried. docs/decisions/0423 has what
    /// 32 came to for one service.
    pub(crate) const WIDTH: usize = 8;
    /// Number of requests, about, that a beginning is tried on.
    pub(crate) const REQUESTS: usize = 800;
    /// Number of rounds of learning.
    pub(crate) const RESTART_ITERATIONS: usize = 4;
    /// Number of further rounds, in which calls are taken to be nobody's only as often as they are
    /// while no request is open.
    pub(crate) const LAST_ITERATIONS: usize = 2;
    /// Minimum number of requests to learn from alone: those that shared the service with the
    /// fewest others.
    pub(crate) const MIN_SOLO: usize = 30;
    /// Nats a call by which a beginning by threads must fit better, as it explains threads by
    /// itself.
    pub(crate) const THREAD_HANDICAP: f64 = 0.1;
    /// Cost of a beginning, in nats a call, whose requests only ever wait after their last call and
    /// never before their first. One that is about as likely the other way round fits by up to 0.4
    /// nats better or worse, by chance. Measured in docs/decisions/0411: with 0.5 half of the made
    /// cases stay wrong, with 2 five of five are right.
    pub(crate) const WAITING_COST: f64 = 2.0;
    /// Nats a call by which learning must make a beginning fit worse to be taken back: as many as
    /// make one count by a factor of e less. docs/decisions/0438 has what less costs.
    pub(crate) const WORSE_NATS: f64 = 0.3;
    /// Fit of a call for which nobody has a request, in nats, as if the model said so.
    pub(crate) const BACKGROUND_LOG_LIKELIHOOD: f64 = -30.0;
}

/// Learning of a service, over stretches and in rounds.
pub(crate) mod rounds {
    /// Number of hypotheses that are kept in the last search.
    pub(crate) const LAST_WIDTH: usize = 64;
    /// Number of requests, about, that a model is learned from.
    pub(crate) const REQUESTS: usize = 4000;
    /// Number of requests open at a time beyond which a model is learned from fewer, in proportion:
    /// at each call all that are open are looked at.
    pub(crate) const MANY_OPEN: f64 = 64.0;
    /// Minimum number of requests that a model is learned from.
    pub(crate) const MIN_REQUESTS: usize = 1000;
    /// Factor in the number of requests from which a stretch is worth learning from anew.
    pub(crate) const RELEARN_FACTOR: usize = 2;
    /// Share of requests or calls of new kinds from which a stretch is worth learning from anew.
    pub(crate) const RELEARN_NEW_SHARE: f64 = 0.1;
    /// Maximum number of shapes of requests; each search adds some, and with more it is begun anew.
    pub(crate) const MAX_SHAPES: usize = 1 << 16;
    /// Share of the calls that are nobody's from which something went wrong.
    pub(crate) const LOST_SHARE: f64 = 0.3;
    /// Number of hypotheses that are kept while a model is learned.
    pub(crate) const WIDTH: usize = 24;
    /// Maximum number of rounds of learning.
    pub(crate) const MAX_ITERATIONS: usize = 16;
    /// Number of calls among which one may still change when learning is over.
    pub(crate) const CALLS_PER_CHANGE: usize = 500;
    /// Number of rounds without fewer changes after which learning is over.
    pub(crate) const PATIENCE: usize = 2;
    /// Number of times in a row, and share of the calls: learning is over when more than that share
    /// became nobody's as often. What is nobody's is not learned from, so every round would leave
    /// fewer.
    pub(crate) const LOSING: (usize, f64) = (2, 0.02);
}

/// Beginning by correlation.
pub(crate) mod correlate {
    /// Number of bins to a factor of two of the lag.
    pub(crate) const BINS: f64 = 6.0;
    /// Maximum number of events of a kind that are looked at on either side of a call.
    pub(crate) const REACH: usize = 256;
    /// Smallest number of pairs beyond chance for which a distribution of lags is used, as a share
    /// of the calls.
    pub(crate) const MIN_EXCESS: f64 = 0.3;
}

/// The order of service (docs/decisions/0411).
pub(crate) mod discipline {
    /// Cases taken as seen beforehand: the number of times that two requests waited that were as
    /// likely to be next, and how often the later one was.
    pub(crate) const PRIOR: (usize, usize) = (6, 2);
    /// Cases taken as seen beforehand in an event loop: order was kept in 58 of 60.
    pub(crate) const LOOP_PRIOR: (usize, usize) = (60, 2);
    /// Time between two that wait below which one system call woke both, in nanoseconds: messages
    /// that it received are a nanosecond apart. Nothing else is told apart below a microsecond.
    pub(crate) const TOGETHER_NS: i64 = 1_000;
    /// Lower bound of what is learned, in nats.
    pub(crate) const MIN_NATS: f64 = -1.0;
    /// Upper bound of what is learned, in nats.
    pub(crate) const MAX_NATS: f64 = 4.0;
    /// Smallest learned value that counts, in nats. The one best assignment, from which it is
    /// learned, has fewer overtakings than there are, as it gives calls that could be of either to
    /// the one that waits longer.
    pub(crate) const SURE_NATS: f64 = 1.5;
    /// Value supposed of an event loop before it is known, in nats. Measured in
    /// docs/decisions/0423, with 5 nats: 70 and 75% of the calls of asyncio's two recordings.
    pub(crate) const LOOP_NATS: f64 = 3.0;
}

/// Exchanges of calls after the search (docs/decisions/0415).
pub(crate) mod exchanges {
    /// Number of times that all calls are looked at. Measured: more than two times changed nothing
    /// on the sets of docs/accuracy.md.
    pub(crate) const SWEEPS: usize = 2;
    /// Maximum number of requests that a call's request is compared with, those received next to
    /// it. Measured: with 12 the sets have the same links within 0.2 points, and a service with
    /// many open requests takes three times as long.
    pub(crate) const MAX_OTHERS: usize = 4;
    /// Maximum number of calls of another request that one call is compared with, those made next
    /// to it.
    pub(crate) const MAX_ALIKE: usize = 2;
    /// Maximum number of calls of two requests together; those with more are left as they are. What
    /// is looked at grows with the square of their calls, and many calls are told apart by some of
    /// them anyway.
    pub(crate) const MAX_CALLS: usize = 16;
    /// Smallest gain of an exchange, in nats.
    pub(crate) const MIN_GAIN: f64 = 0.01;
}

/// Learning a model from an assignment.
pub(crate) mod learn {
    /// Smallest share of the calls to which a trigger must have happened.
    pub(crate) const ALWAYS_SHARE: f64 = 0.97;
    /// Minimum number of samples from which it is learned what a delay says of the next.
    pub(crate) const MIN_SAMPLES: usize = 50;
    /// Maximum number of shapes of a kind of request that are remembered, the most frequent.
    pub(crate) const MAX_SHAPES_OF_KIND: usize = 256;
    /// Number of nats by which another trigger must be better than the last event.
    pub(crate) const PREFERENCE: f64 = 0.02;
    /// Number of calls taken as seen where there was none.
    pub(crate) const NEVER: f64 = 0.5;
}
