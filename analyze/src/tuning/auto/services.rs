//! Tuned figures of `auto`: services, their requests and their calls.

/// Calls that fit no request.
pub(crate) mod fits {
    /// Maximum number of calls of a thread before its first request that count as preparation. A
    /// login process of Dovecot makes 7. For a thread with more, requests are missing.
    pub(crate) const MAX_PREPARING_CALLS: usize = 16;
}

/// The last responses that threads received before they answered.
pub(crate) mod heard_last {
    /// Minimum number of responses; fewer are no evidence.
    pub(crate) const MIN_ANSWERS: u64 = 20;
    /// Number of calls among which the response of one may be received by another thread than the
    /// one that made it.
    pub(crate) const CALLS_PER_EXCEPTION: usize = 20;
    /// Smallest share of contradicted calls from which no link of the service is certain: the call
    /// whose response came last before an answer is assigned to another request than the answered
    /// one. Chosen, not measured: for pools that were not recognised as such, 0.2 to 20% of all
    /// their calls were right.
    pub(crate) const CONTRADICTED_SHARE: f64 = 0.5;
}

/// Threads that are bound to one request at a time.
pub(crate) mod holders {
    /// Minimum number of requests that overlap others; fewer are too little evidence for the rule.
    pub(crate) const MIN_OVERLAPS: usize = 20;
    /// Largest share of the cases in which the rule may be broken: a worker that dies, or a clock
    /// that was set.
    pub(crate) const MAX_EXCEPTIONS: f64 = 0.002;
    /// Largest share of the calls that may be made by threads that are bound to no request: an
    /// additional pool.
    pub(crate) const MAX_OUTSIDE: f64 = 0.1;
}

/// Calls of untraced intermediaries (docs/decisions/0407).
pub(crate) mod middle {
    /// Minimum number of calls of a kind.
    pub(crate) const MIN_CALLS: usize = 20;
    /// Smallest share of these calls that must lie within requests.
    pub(crate) const WITHIN_SHARE: f64 = 0.98;
    /// Largest share of the calls, shifted to other times, that may lie within requests.
    pub(crate) const CHANCE_SHARE: f64 = 0.95;
    /// Other times to which calls are shifted, as multiples of the duration of a long request.
    pub(crate) const OTHER_TIMES: [i64; 4] = [-7, -3, 3, 7];
}

/// Observation of a service.
pub(crate) mod observe {
    /// Largest ambiguity of a call's response; beyond it the call may have ended at any time.
    pub(crate) const MAX_MISPAIRING: f64 = 0.1;
}

/// Clocks that differ.
pub(crate) mod offsets {
    /// Minimum number of calls of a kind, and of requests; fewer are no evidence.
    pub(crate) const MIN_CALLS: usize = 20;
    /// Smallest share of the calls within requests for which the clocks agree.
    pub(crate) const AGREED_SHARE: f64 = 0.98;
    /// Smallest share of the calls within requests for which a difference of clocks is accepted.
    pub(crate) const BELIEVED_SHARE: f64 = 0.95;
    /// Smallest gain in that share for which a difference of clocks is accepted.
    pub(crate) const MIN_GAIN: f64 = 0.03;
    /// Difference in that share within which the smaller difference of clocks is chosen.
    pub(crate) const EQUAL_WITHIN: f64 = 0.005;
    /// Maximum number of calls that are examined.
    pub(crate) const MAX_SAMPLE: usize = 1000;
    /// Number of requests before and after each call that are examined.
    pub(crate) const REQUESTS_AROUND: usize = 32;
}

/// Services of one-way messages (docs/decisions/0409).
pub(crate) mod one_way {
    /// Time after which a message ends, relative to the delays of nearly all linked messages.
    pub(crate) const LONGER_FACTOR: i64 = 4;
    /// Percentage that counts as nearly all.
    pub(crate) const NEARLY_PERCENT: usize = 95;
    /// Smallest share of similar delays for which message linking is right.
    pub(crate) const ALIKE_SHARE: f64 = 0.97;
    /// Minimum number of linked messages; fewer are not learned from.
    pub(crate) const MIN_LINKED: usize = 20;
    /// Maximum number of consecutive calls that are traced back.
    pub(crate) const MAX_CALLS_BACK: usize = 64;
}

/// Preparation of a service before learning.
pub(crate) mod prepare {
    /// Longest wait for a response to a request, relative to the time that nearly all of its kind
    /// took.
    pub(crate) const PATIENCE_FACTOR: f64 = 1.5;
    /// Share of the requests that counts as nearly all.
    pub(crate) const NEARLY_ALL: f64 = 0.99;
    /// Minimum number of answered requests of a kind; fewer are no evidence of how long one may
    /// take.
    pub(crate) const MIN_ANSWERED: usize = 20;
    /// Minimum number of calls of a kind that were made while requests were open and are not
    /// awaited.
    pub(crate) const MIN_CALLS: usize = 5;
    /// Smallest share of these calls that must have ended after all of these requests.
    pub(crate) const OUTLAST_SHARE: f64 = 0.8;
}

/// Processes that others started.
pub(crate) mod process_tree {
    /// Longest time until a process executes another program, in nanoseconds; later its process id
    /// belongs to another process.
    pub(crate) const MAX_BECOMING: i64 = 10_000_000_000;
    /// Maximum number of processes between the sending one and the serving one.
    pub(crate) const MAX_BETWEEN: usize = 32;
}

/// Properties of a service.
pub(crate) mod service {
    /// Number of events of an event loop among which one may belong to another thread.
    pub(crate) const EVENTS_PER_OTHER_THREAD: usize = 100;
    /// Share of the calls that were sent together with others from which calls are considered to be
    /// written FIFO.
    pub(crate) const TOGETHER_SHARE: f64 = 0.5;
    /// Maximum average number of calls per request at the beginning of a service.
    pub(crate) const MAX_CALLS_PER_REQUEST: usize = 10;
}

/// Processes that were started for a request (docs/decisions/0424).
pub(crate) mod spawned {
    /// Number of calls that are traced back to find the request that a call was made for.
    pub(crate) const CALLS_BACK: usize = 64;
}

/// Delays in thread time (docs/decisions/0423).
pub(crate) mod thread_time {
    /// Largest difference between the calls of a kind and the requests, or a multiple, as a share
    /// of the requests.
    pub(crate) const UNEVEN_SHARE: f64 = 0.03;
    /// Largest difference, as an average number of calls of one request.
    pub(crate) const MAX_UNEVEN: f64 = 0.1;
    /// Minimum number of requests; with fewer, evenness is chance.
    pub(crate) const MIN_REQUESTS: usize = 30;
    /// Share of calls beyond the usual number of their request from which requests are considered
    /// to have the calls of others.
    pub(crate) const SURPLUS_SHARE: f64 = 0.25;
}

/// Calls of timers.
pub(crate) mod timers {
    /// Minimum number of calls of a kind; fewer are not evaluated.
    pub(crate) const MIN_CALLS: usize = 20;
    /// Smallest share of the gaps that must be of one length.
    pub(crate) const EVEN_SHARE: f64 = 0.9;
    /// Largest difference of an even gap from the common length, as a share of the length.
    pub(crate) const EVEN_WITHIN: f64 = 0.1;
    /// Maximum of both numbers in a ratio of calls to requests (2 calls for 3 requests). Calls at a
    /// ratio within this maximum are made for requests, not by a timer.
    pub(crate) const MAX_RATIO: i64 = 5;
    /// Smallest share of the expected calls that must occur while no request is open at the node.
    pub(crate) const IDLE_SHARE: f64 = 0.7;
}

/// Pooled processes of one program.
pub(crate) mod together {
    /// Number of requests that are enough to learn from. Processes that have as many each are not
    /// pooled, since they can be processed in parallel.
    pub(crate) const ENOUGH_REQUESTS: usize = 800;
    /// The times of a process are moved by a multiple of this time, in nanoseconds: it is a
    /// multiple of all units that a trace's times may have.
    pub(crate) const SHIFT_UNIT: i64 = 1_000_000_000;
}

/// Post-reply work.
pub(crate) mod afterwards {
    /// Minimum number of calls outside any request for learning.
    pub(crate) const MIN_CALLS: usize = 5;
    /// Minimum number of calls outside any request, of a thread that serves one request after the
    /// other.
    pub(crate) const MIN_CALLS_BY_THREAD: usize = 2;
    /// Largest probability that as many calls of a thread come so soon by chance.
    pub(crate) const MAX_CHANCE: f64 = 0.002;
    /// Smallest share of these calls that must lie within the learned time.
    pub(crate) const WITHIN_SHARE: f64 = 0.5;
    /// Factor by which calls must be denser in the learned time than over the idle time.
    pub(crate) const MIN_DENSITY: f64 = 3.0;
    /// Smallest share of the responses that calls must follow if the idle time is no evidence.
    pub(crate) const FOLLOWED_SHARE: f64 = 0.5;
    /// Maximum factor by which there may be more of these calls in longer idle times.
    pub(crate) const MAX_GROWTH: f64 = 1.5;
    /// Time for which requests stay open after their response, relative to the observed time.
    pub(crate) const ROOM_FACTOR: f64 = 1.5;
}
