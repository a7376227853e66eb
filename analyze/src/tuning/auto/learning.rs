//! Tuned figures of `auto`: learning of a service.

/// Restart consensus (docs/decisions/0410).
pub(crate) mod agreement {
    /// Number of classes of calls by their number of candidate requests, each twice as many as in
    /// the class before.
    pub(crate) const CLASSES: usize = 11;
    /// Difference in log-likelihood, in nats per call, by which the weight of a restart falls by a
    /// factor of e.
    pub(crate) const WORSE_NATS: f64 = 0.3;
    /// Probability from which a share is not calibrated.
    pub(crate) const MIN_UNCALIBRATED: f64 = 0.995;
    /// Maximum number of requests among which the probability that the likeliest request loses is
    /// divided.
    pub(crate) const MAX_OTHERS: usize = 5;
    /// Weight of the best assignment's own vote, so that other assignments with far lower
    /// log-likelihoods have little weight.
    pub(crate) const OWN_WEIGHT: f64 = 0.1;
    /// Minimum weight of calls, including prior ones, to evaluate a class.
    pub(crate) const MIN_CALLS: f64 = 12.0;
    /// Prior number of calls on which all restarts agree.
    pub(crate) const PRIOR_CALLS: f64 = 2.0;
}

/// Restarts of learning (docs/decisions/0410, 0411).
pub(crate) mod beginnings {
    /// Number of hypotheses that are kept in a restart. docs/decisions/0423 has the result of 32
    /// for one service.
    pub(crate) const WIDTH: usize = 8;
    /// Approximate number of requests that a restart runs on.
    pub(crate) const REQUESTS: usize = 800;
    /// Number of EM iterations.
    pub(crate) const RESTART_ITERATIONS: usize = 4;
    /// Number of further EM iterations, in which background calls are only as frequent as they are
    /// while no request is open.
    pub(crate) const LAST_ITERATIONS: usize = 2;
    /// Minimum number of requests for learning from solo requests only: those that shared the
    /// service with the fewest others.
    pub(crate) const MIN_SOLO: usize = 30;
    /// Nats per call by which the log-likelihood of a restart by threads must be better, since it
    /// explains threads by construction.
    pub(crate) const THREAD_HANDICAP: f64 = 0.1;
    /// Cost of a restart, in nats per call, if its requests only ever wait after their last call
    /// and never before their first. The log-likelihood of one that is about as likely reversed in
    /// time is up to 0.4 nats better or worse, by chance. Measured in docs/decisions/0411: with 0.5
    /// half of the synthetic cases stay wrong, with 2 five of five are right.
    pub(crate) const WAITING_COST: f64 = 2.0;
    /// Nats per call by which learning must lower the log-likelihood of a restart to be undone: as
    /// many as reduce the weight of a restart by a factor of e. docs/decisions/0438 has the cost of
    /// a lower value.
    pub(crate) const WORSE_NATS: f64 = 0.3;
    /// Log-likelihood of a call without a request, in nats, as if the model stated it.
    pub(crate) const BACKGROUND_LOG_LIKELIHOOD: f64 = -30.0;
}

/// Learning of a service, over batches and in EM iterations.
pub(crate) mod rounds {
    /// Number of hypotheses that are kept in the last search.
    pub(crate) const LAST_WIDTH: usize = 64;
    /// Approximate number of requests that a model is learned from.
    pub(crate) const REQUESTS: usize = 4000;
    /// Number of concurrently open requests beyond which a model is learned from fewer requests, in
    /// proportion: at each call all open requests are examined.
    pub(crate) const MANY_OPEN: f64 = 64.0;
    /// Minimum number of requests for learning a model.
    pub(crate) const MIN_REQUESTS: usize = 1000;
    /// Factor in the number of requests from which a batch is worth learning from again.
    pub(crate) const RELEARN_FACTOR: usize = 2;
    /// Share of requests or calls of new kinds from which a batch is worth learning from again.
    pub(crate) const RELEARN_NEW_SHARE: f64 = 0.1;
    /// Maximum number of shapes of requests; each search adds some, and with more the model is
    /// learned again.
    pub(crate) const MAX_SHAPES: usize = 1 << 16;
    /// Share of background calls from which the learned model is considered wrong.
    pub(crate) const LOST_SHARE: f64 = 0.3;
    /// Number of hypotheses that are kept while a model is learned.
    pub(crate) const WIDTH: usize = 24;
    /// Maximum number of EM iterations.
    pub(crate) const MAX_ITERATIONS: usize = 16;
    /// Number of calls among which one may still change when learning stops.
    pub(crate) const CALLS_PER_CHANGE: usize = 500;
    /// Number of EM iterations without fewer changes after which learning stops.
    pub(crate) const MAX_FRUITLESS: usize = 2;
    /// Number of consecutive iterations, and share of the calls: learning stops if more than that
    /// share became background calls in each of them. Background calls are not learned from, so
    /// every iteration would leave fewer.
    pub(crate) const LOSING: (usize, f64) = (2, 0.02);
}

/// Initial model from correlation.
pub(crate) mod correlate {
    /// Number of bins per factor of two of the lag.
    pub(crate) const BINS: f64 = 6.0;
    /// Maximum number of events of a kind that are examined on either side of a call.
    pub(crate) const MAX_EVENTS: usize = 256;
    /// Smallest number of pairs beyond chance for which a distribution of lags is used, as a share
    /// of the calls.
    pub(crate) const MIN_EXCESS: f64 = 0.3;
}

/// The queue discipline (docs/decisions/0411).
pub(crate) mod discipline {
    /// Prior cases: the number of times that two requests waited which were equally likely to be
    /// next, and how often the later one was.
    pub(crate) const PRIOR: (usize, usize) = (6, 2);
    /// Prior cases of an event loop: order was kept in 58 of 60.
    pub(crate) const LOOP_PRIOR: (usize, usize) = (60, 2);
    /// Time between two waiting requests below which one system call woke both, in nanoseconds:
    /// messages that it received are a nanosecond apart. Nothing else has a resolution below a
    /// microsecond.
    pub(crate) const TOGETHER_NS: i64 = 1_000;
    /// Lower bound of the learned value, in nats.
    pub(crate) const MIN_NATS: f64 = -1.0;
    /// Upper bound of the learned value, in nats.
    pub(crate) const MAX_NATS: f64 = 4.0;
    /// Smallest learned value that counts, in nats. The single best assignment, from which it is
    /// learned, has fewer overtakings than occurred, since it assigns calls that could be of either
    /// request to the one that has waited longer.
    pub(crate) const SURE_NATS: f64 = 1.5;
    /// Value assumed for an event loop before it is learned, in nats. Measured in
    /// docs/decisions/0423, with 5 nats: 70 and 75% of the calls of asyncio's two recordings.
    pub(crate) const LOOP_NATS: f64 = 3.0;
}

/// Exchanges of calls after the search (docs/decisions/0415).
pub(crate) mod exchanges {
    /// Number of sweeps over all calls. Measured: more than two changed nothing on the sets of
    /// docs/accuracy.md.
    pub(crate) const SWEEPS: usize = 2;
    /// Maximum number of requests that a call's request is compared with, those received nearest to
    /// it. Measured: with 12 the sets have the same links within 0.2 points, and a service with
    /// many open requests takes three times as long.
    pub(crate) const MAX_OTHERS: usize = 4;
    /// Maximum number of calls of another request that one call is compared with, those made
    /// nearest to it.
    pub(crate) const MAX_ALIKE: usize = 2;
    /// Maximum number of calls of two requests together; those with more are not changed. The work
    /// grows with the square of their calls, and some of many calls distinguish the requests
    /// anyway.
    pub(crate) const MAX_CALLS: usize = 16;
    /// Smallest gain of an exchange, in nats.
    pub(crate) const MIN_GAIN: f64 = 0.01;
}

/// Learning a model from an assignment.
pub(crate) mod learn {
    /// Smallest share of the calls for which a trigger must have happened.
    pub(crate) const ALWAYS_SHARE: f64 = 0.97;
    /// Minimum number of samples for learning how a delay depends on another one.
    pub(crate) const MIN_SAMPLES: usize = 50;
    /// Maximum number of shapes stored for a kind of request, the most frequent ones.
    pub(crate) const MAX_SHAPES_OF_KIND: usize = 256;
    /// Number of nats by which another trigger must be better than the last event to be preferred.
    pub(crate) const LAST_EVENT_PREFERENCE: f64 = 0.02;
    /// Prior number of background calls of a kind that never occurred.
    pub(crate) const UNSEEN_CALLS: f64 = 0.5;
}
