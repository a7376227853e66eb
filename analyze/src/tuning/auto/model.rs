//! Tuned figures of auto: what is known of a service.

/// What connections prove.
pub(crate) mod connections {
    /// Number of calls taken as seen beforehand that were for any of the open requests.
    pub(crate) const PRIOR_CALLS: f64 = 2.0;
}

/// Densities of delays.
pub(crate) mod density {
    /// Number of bins to a factor of two.
    pub(crate) const BINS: f64 = 32.0;
    /// Number of bins to a factor of two, along the two axes of a plane.
    pub(crate) const PLANE_BINS: [f64; 2] = [8.0, 3.0];
    /// Standard deviations of the kernel along the two axes of a plane, in bins.
    pub(crate) const PLANE_KERNEL: [f64; 2] = [1.5, 1.0];
    /// Maximum reach of a kernel to either side, in bins.
    pub(crate) const MAX_REACH: usize = 48;
    /// Distance by which a density and a plane go beyond what was seen, in factors of two.
    pub(crate) const AROUND: [f64; 2] = [2.0, 1.0];
    /// Weight of a delay that was never seen, as a share of a sample.
    pub(crate) const UNSEEN: f64 = 0.05;
    /// Number of samples of the plain density that stand beside those of a plane.
    pub(crate) const PLAIN_SAMPLES: f64 = 20.0;
    /// Number of bins to a factor of two by which the entropy of delays is estimated.
    pub(crate) const ENTROPY_BINS: f64 = 6.0;
}

/// The model of a service, in nats.
pub(crate) mod fit {
    /// Nats by which a further call fits a request less that has as many of that kind as requests
    /// usually have, where calls are written together: one time that counts for all of them.
    pub(crate) const CROWDED: f64 = 6.0;
    /// Fit of a call that was not answered before its request was.
    pub(crate) const NOT_COVERED: f64 = -6.0;
    /// Fit of a call whose trigger did not happen.
    pub(crate) const NO_TRIGGER: f64 = -4.0;
    /// Density of any delay where delays do not count, in nats per nanosecond: as if all were a
    /// tenth of a second.
    pub(crate) const ANY_DELAY: f64 = -18.0;
    /// Fit of a call of a kind that was never made for such a request, in nats per nanosecond:
    /// rather that than none.
    pub(crate) const UNKNOWN: f64 = -22.0;
    /// Share of requests that may have any calls whatever, each kind as often as it has them alone.
    pub(crate) const ANY_SHAPE: f64 = 0.05;
    /// Weight of the order of calls beside which calls there are. docs/decisions/0401 has what the
    /// order is worth.
    pub(crate) const ORDER_WEIGHT: f64 = 0.75;
    /// Number of calls of one kind for one request that are told apart.
    pub(crate) const SLOTS: u32 = 3;
    /// Smallest fit of the shape for which a request waits for a call.
    pub(crate) const MIN_SHAPED: f64 = -2.0;
    /// Smallest fit of the number of open calls for which a request waits for a call.
    pub(crate) const MIN_OPEN: f64 = -3.0;
    /// Smallest fit of the order for which a request waits for a call in the time of a thread.
    /// There only the order tells for whom a call is, so who waits must be known well. Measured in
    /// docs/decisions/0423, with a narrower bound: 72 and 50% of the calls of asyncio's two
    /// recordings.
    pub(crate) const MIN_NEXT: f64 = -2.0;
    /// Number of calls taken as made while the node is idle where there was none.
    pub(crate) const IDLE_NEVER: f64 = 0.5;
    /// Smallest share of the time for which the node must be idle, or it is as if it were.
    pub(crate) const MIN_IDLE: f64 = 0.05;
}

/// What the ends of calls promise (docs/decisions/0410).
pub(crate) mod promises {
    /// Number of bins to a factor of two of the time from the end of the call to that of the
    /// request.
    pub(crate) const BINS: f64 = 4.0;
    /// Number of pairs taken as seen beforehand whose times are those of chance.
    pub(crate) const PRIOR_PAIRS: f64 = 10.0;
    /// Minimum number of pairs to learn from.
    pub(crate) const MIN_PAIRS: f64 = 30.0;
    /// Smallest number of nats that the times must tell on average, each pair left out of what it
    /// is judged by.
    pub(crate) const MIN_NATS: f64 = 0.5;
    /// Bounds of a promise, in nats.
    pub(crate) const BOUNDS: [f64; 2] = [-3.0, 6.0];
    /// Number of other requests that are looked at for one call, to see what times are by chance.
    pub(crate) const OTHERS: usize = 6;
}

/// Requests and calls told apart by what they ask for (docs/decisions/0434).
pub(crate) mod operation_kinds {
    /// Minimum number of calls of a stretch that ask for the same between two nodes. Delays and
    /// shapes are learned from no fewer.
    pub(crate) const MIN_CALLS: usize = 20;
}

/// Calls told apart by their sizes (docs/decisions/0419).
pub(crate) mod size_kinds {
    /// Maximum number of sizes of one kind that are told apart.
    pub(crate) const MAX_SIZES: usize = 6;
    /// Minimum number of calls of a size.
    pub(crate) const MIN_CALLS: usize = 30;
    /// Number of calls among which one may have none of these sizes; what begins a connection has
    /// others.
    pub(crate) const CALLS_PER_OTHER: usize = 15;
    /// Number of requests among which one may be unanswered.
    pub(crate) const REQUESTS_PER_UNANSWERED: usize = 50;
    /// Number of calls among which it may be doubtful of one which answer it has.
    pub(crate) const CALLS_PER_UNSURE: usize = 10;
    /// Largest difference between the calls of a size and the requests, or a multiple, as a share
    /// of the requests.
    pub(crate) const UNEVEN_SHARE: f64 = 0.03;
    /// Number of calls among which at least one might be for several requests.
    pub(crate) const CALLS_PER_SHARED: usize = 10;
}

/// What sizes prove.
pub(crate) mod sizes {
    /// Number of pairs taken as seen beforehand whose differences are those of chance.
    pub(crate) const PRIOR_PAIRS: f64 = 10.0;
    /// Smallest number of nats that the differences must tell on average, each sample left out of
    /// what it is judged by.
    pub(crate) const MIN_NATS: f64 = 0.5;
    /// Minimum number of pairs to learn from.
    pub(crate) const MIN_PAIRS: usize = 30;
    /// Distance up to which differences of nearly the same size count in part, in bytes.
    pub(crate) const NEAR_BYTES: i64 = 3;
    /// Bounds of what a difference may tell, in nats.
    pub(crate) const BOUNDS: [f64; 2] = [-4.0, 8.0];
    /// Number of other requests that are looked at for one call, to see what differences are by
    /// chance.
    pub(crate) const OTHERS: usize = 4;
    /// Distance between those requests.
    pub(crate) const OTHERS_APART: usize = 101;
}

/// Shapes of requests.
pub(crate) mod shapes {
    /// Maximum number of calls of a kind that is counted.
    pub(crate) const MAX_COUNT: u32 = 255;
}

/// What threads prove.
pub(crate) mod threads {
    /// Number of rounds in which the weights of the relations are found.
    pub(crate) const EM_ITERATIONS: usize = 30;
    /// Weight of each relation taken as seen beforehand.
    pub(crate) const PRIOR: f64 = 0.05;
    /// Weight of no relation taken as seen beforehand.
    pub(crate) const PRIOR_NONE: f64 = 0.5;
}
