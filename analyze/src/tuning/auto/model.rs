//! Tuned figures of `auto`: the model of a service.

/// Evidence from connections.
pub(crate) mod connections {
    /// Prior number of calls for any of the open requests.
    pub(crate) const PRIOR_CALLS: f64 = 2.0;
}

/// Densities of delays.
pub(crate) mod density {
    /// Number of bins per factor of two.
    pub(crate) const BINS: f64 = 32.0;
    /// Number of bins per factor of two, along the two axes of a plane.
    pub(crate) const PLANE_BINS: [f64; 2] = [8.0, 3.0];
    /// Standard deviations of the kernel along the two axes of a plane, in bins.
    pub(crate) const PLANE_KERNEL: [f64; 2] = [1.5, 1.0];
    /// Maximum extent of a kernel to either side, in bins.
    pub(crate) const MAX_REACH: usize = 48;
    /// Distances by which a density, and a plane (the density of a delay given another delay),
    /// extend beyond the samples, in factors of two.
    pub(crate) const MARGINS: [f64; 2] = [2.0, 1.0];
    /// Weight of a delay that was never seen, as a share of a sample.
    pub(crate) const UNSEEN_WEIGHT: f64 = 0.05;
    /// Weight of the density without the other delay relative to a plane, as a number of samples.
    pub(crate) const PLAIN_SAMPLES: f64 = 20.0;
    /// Number of bins per factor of two for the entropy of delays.
    pub(crate) const ENTROPY_BINS: f64 = 6.0;
}

/// The model of a service, in nats.
pub(crate) mod fit {
    /// Nats by which the log-likelihood of a further call of a kind is lower for a request that has
    /// the usual number of such calls already, if there are coalesced writes. The calls of one
    /// write have one time, so delays do not distinguish them.
    pub(crate) const SURPLUS_CALL_NATS: f64 = 6.0;
    /// Nats added to the log-likelihood of a call that was not answered before its request was.
    pub(crate) const NOT_COVERED: f64 = -6.0;
    /// Nats added to the log-likelihood of a call whose trigger did not happen.
    pub(crate) const NO_TRIGGER: f64 = -4.0;
    /// Log-density of any delay if delays do not count, in nats per nanosecond: as if all were a
    /// tenth of a second.
    pub(crate) const ANY_DELAY: f64 = -18.0;
    /// Log-likelihood of a call of a kind that was never made for a request of the kind, in nats
    /// per nanosecond: higher than that of no request.
    pub(crate) const UNKNOWN_CALL: f64 = -22.0;
    /// Share of requests that may have any calls, each kind with its own frequency.
    pub(crate) const ANY_SHAPE: f64 = 0.05;
    /// Least probability of a shape: so small that it never limits the cost of a further call, and
    /// large enough to have a logarithm.
    pub(crate) const MIN_PROBABILITY: f64 = 1e-280;
    /// Weight of the order of calls relative to the set of calls. docs/decisions/0401 has the worth
    /// of the order.
    pub(crate) const ORDER_WEIGHT: f64 = 0.75;
    /// Number of calls of one kind for one request that are distinguished.
    pub(crate) const SLOTS: u32 = 3;
    /// Smallest log-likelihood of the shape for which a request waits for a call.
    pub(crate) const MIN_SHAPED: f64 = -2.0;
    /// Smallest log-likelihood of the number of open calls for which a request waits for a call.
    pub(crate) const MIN_OPEN: f64 = -3.0;
    /// Smallest log-likelihood of the order for which a request waits for a call in thread time.
    /// There only the order shows the request of a call, so the waiting requests must be known
    /// well. Measured in docs/decisions/0423, with a narrower bound: 72 and 50% of the calls of
    /// asyncio's two recordings.
    pub(crate) const MIN_NEXT: f64 = -2.0;
    /// Prior number of calls of a kind that never occurred while the node was idle.
    pub(crate) const IDLE_NEVER: f64 = 0.5;
    /// Smallest share of the time that the node is assumed to be idle.
    pub(crate) const MIN_IDLE: f64 = 0.05;
}

/// Lookahead from the ends of calls (docs/decisions/0410).
pub(crate) mod promises {
    /// Number of bins per factor of two of the time from the end of the call to the end of the
    /// request.
    pub(crate) const BINS: f64 = 4.0;
    /// Prior number of pairs with times by chance.
    pub(crate) const PRIOR_PAIRS: f64 = 10.0;
    /// Minimum number of pairs to learn from.
    pub(crate) const MIN_PAIRS: f64 = 30.0;
    /// Smallest average information of the times, in nats, with each pair left out of its own
    /// score.
    pub(crate) const MIN_NATS: f64 = 0.5;
    /// Bounds of a lookahead, in nats.
    pub(crate) const BOUNDS: [f64; 2] = [-3.0, 6.0];
    /// Number of other requests that are examined for one call, to measure times by chance.
    pub(crate) const OTHERS: usize = 6;
}

/// Requests and calls distinguished by operation (docs/decisions/0434).
pub(crate) mod operation_kinds {
    /// Minimum number of calls of an operation between two nodes in a batch. Delays and shapes are
    /// learned from no fewer.
    pub(crate) const MIN_CALLS: usize = 20;
}

/// Calls distinguished by size (docs/decisions/0419).
pub(crate) mod size_kinds {
    /// Maximum number of sizes of one kind that are distinguished.
    pub(crate) const MAX_SIZES: usize = 6;
    /// Minimum number of calls of a size.
    pub(crate) const MIN_CALLS: usize = 30;
    /// Number of calls among which one may have none of these sizes; calls at the beginning of a
    /// connection have others.
    pub(crate) const CALLS_PER_OTHER: usize = 15;
    /// Number of requests among which one may be unanswered.
    pub(crate) const REQUESTS_PER_UNANSWERED: usize = 50;
    /// Number of calls among which one may have an ambiguous response.
    pub(crate) const CALLS_PER_UNSURE: usize = 10;
    /// Largest difference between the calls of a size and the requests, or a multiple, as a share
    /// of the requests.
    pub(crate) const UNEVEN_SHARE: f64 = 0.03;
    /// Number of calls among which at least one has several candidate requests.
    pub(crate) const CALLS_PER_SHARED: usize = 10;
}

/// Evidence from sizes.
pub(crate) mod sizes {
    /// Prior number of pairs with differences by chance.
    pub(crate) const PRIOR_PAIRS: f64 = 10.0;
    /// Smallest average information of the differences, in nats, with each sample left out of its
    /// own score.
    pub(crate) const MIN_NATS: f64 = 0.5;
    /// Minimum number of pairs to learn from.
    pub(crate) const MIN_PAIRS: usize = 30;
    /// Distance up to which differences of nearly the same size partly count, in bytes.
    pub(crate) const NEAR_BYTES: i64 = 3;
    /// Bounds of the log-odds of a difference, in nats.
    pub(crate) const BOUNDS: [f64; 2] = [-4.0, 8.0];
    /// Number of other requests that are examined for one call, to measure differences by chance.
    pub(crate) const OTHERS: usize = 4;
    /// Distance between the other requests that are examined, as a number of requests.
    pub(crate) const OTHERS_APART: usize = 101;
}

/// Shapes of requests.
pub(crate) mod shapes {
    /// Maximum number of calls of a kind that is counted.
    pub(crate) const MAX_COUNT: u32 = 255;
}

/// Evidence from threads.
pub(crate) mod threads {
    /// Number of EM iterations for the weights of the relations.
    pub(crate) const EM_ITERATIONS: usize = 30;
    /// Prior weight of each relation.
    pub(crate) const PRIOR: f64 = 0.05;
    /// Prior weight of no relation.
    pub(crate) const PRIOR_NONE: f64 = 0.5;
}
