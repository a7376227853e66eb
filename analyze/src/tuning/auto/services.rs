//! Tuned figures of auto: what a service is, and what its requests and calls are.

/// Calls that fit no request.
pub(crate) mod fits {
    /// Maximum number of calls of a thread before its first request that prepare it for requests. A
    /// login process of Dovecot makes 7. Of a thread with more, requests are missing.
    pub(crate) const MAX_PREPARING_CALLS: usize = 16;
}

/// What threads heard last before they answered.
pub(crate) mod heard_last {
    /// Minimum number of answers; fewer tell nothing.
    pub(crate) const MIN_ANSWERS: u64 = 20;
    /// Number of calls among which the answer of one may be heard by another thread than the one
    /// that made it.
    pub(crate) const CALLS_PER_EXCEPTION: usize = 20;
    /// Smallest share of these before which a call was heard that is given to another request for
    /// which no link of the service is sure. Chosen, not measured: where pools were not known as
    /// such, 0.2 to 20% of all their calls were right.
    pub(crate) const CONTRADICTED_SHARE: f64 = 0.5;
}

/// Threads that hold one request at a time.
pub(crate) mod holders {
    /// Minimum number of requests that overlap others; with fewer, too little is seen to trust the
    /// rule.
    pub(crate) const MIN_OVERLAPS: usize = 20;
    /// Largest share of the cases in which the rule may be broken: a worker that dies, or a clock
    /// that was set.
    pub(crate) const MAX_EXCEPTIONS: f64 = 0.002;
    /// Largest share of the calls that may be made by threads that hold nothing: a pool that works
    /// beside them.
    pub(crate) const MAX_OUTSIDE: f64 = 0.1;
}

/// Calls of programs that were not traced (docs/decisions/0407).
pub(crate) mod middle {
    /// Minimum number of calls of a kind.
    pub(crate) const MIN_CALLS: usize = 20;
    /// Smallest share of these calls that must lie within requests.
    pub(crate) const WITHIN_SHARE: f64 = 0.98;
    /// Largest share of as many calls at other times that may lie within requests.
    pub(crate) const CHANCE_SHARE: f64 = 0.95;
    /// Distances of the other times, in long requests.
    pub(crate) const AWAY: [i64; 4] = [-7, -3, 3, 7];
}

/// What a service sees.
pub(crate) mod observe {
    /// Largest doubt about a call's answer; with more it may have ended at any time.
    pub(crate) const MAX_MISPAIRING: f64 = 0.1;
}

/// Clocks that differ.
pub(crate) mod offsets {
    /// Minimum number of calls of a kind, and of requests; fewer tell nothing.
    pub(crate) const MIN_CALLS: usize = 20;
    /// Smallest share of the calls within requests for which the clocks agree.
    pub(crate) const AGREED_SHARE: f64 = 0.98;
    /// Smallest share of the calls within requests by which a difference of clocks is believed.
    pub(crate) const BELIEVED_SHARE: f64 = 0.95;
    /// Smallest gain in that share by which a difference of clocks is believed.
    pub(crate) const MIN_MORE: f64 = 0.03;
    /// Difference in that share within which the smaller difference of clocks is taken.
    pub(crate) const THE_SAME: f64 = 0.005;
    /// Maximum number of calls that are looked at.
    pub(crate) const MAX_SAMPLE: usize = 1000;
    /// Number of requests before and after each call that are looked at.
    pub(crate) const AROUND: usize = 32;
}

/// Services of one-way messages (docs/decisions/0409).
pub(crate) mod one_way {
    /// Time after which a message is over, over that of nearly all that is linked to one.
    pub(crate) const LONGER_FACTOR: i64 = 4;
    /// Percentage that is nearly all.
    pub(crate) const NEARLY_PERCENT: usize = 95;
    /// Smallest share of delays that are alike for which message linking is right.
    pub(crate) const ALIKE_SHARE: f64 = 0.97;
    /// Minimum number of linked messages; fewer are not learned from.
    pub(crate) const MIN_LINKED: usize = 20;
    /// Maximum number of calls in a row that are looked back at.
    pub(crate) const MAX_CALLS_BACK: usize = 64;
}

/// What is told of a service beforehand.
pub(crate) mod prepare {
    /// Longest wait for an answer to a request, over the time that nearly all of its kind took.
    pub(crate) const PATIENCE_FACTOR: f64 = 1.5;
    /// Share of the requests that is nearly all.
    pub(crate) const NEARLY_ALL: f64 = 0.99;
    /// Minimum number of answered requests of a kind; fewer tell nothing of how long one may take.
    pub(crate) const MIN_ANSWERED: usize = 20;
    /// Minimum number of calls of a kind, made while requests were open, that are not waited for.
    pub(crate) const MIN_CALLS: usize = 5;
    /// Smallest share of these calls that must have ended after all of those requests.
    pub(crate) const OUTLAST_SHARE: f64 = 0.8;
}

/// Processes that others started.
pub(crate) mod process_tree {
    /// Longest time in which a process becomes another program, in nanoseconds; later its number is
    /// another's.
    pub(crate) const MAX_BECOMING: i64 = 10_000_000_000;
    /// Maximum number of processes between the one that sends and the one that serves.
    pub(crate) const MAX_BETWEEN: usize = 32;
}

/// What is known of a service.
pub(crate) mod service {
    /// Number of events of an event loop among which one may be another thread's.
    pub(crate) const EVENTS_PER_OTHER_THREAD: usize = 100;
    /// Share of the calls that were sent together with others from which calls are taken to be
    /// written in turn.
    pub(crate) const TOGETHER_SHARE: f64 = 0.5;
    /// Maximum number of calls to a request in the beginning of a service, on average.
    pub(crate) const MAX_CALLS_PER_REQUEST: usize = 10;
}

/// Processes that were started for a request (docs/decisions/0424).
pub(crate) mod spawned {
    /// Number of calls that are looked back at to find the request that a call was made for.
    pub(crate) const CALLS_BACK: usize = 64;
}

/// Delays in the time of a thread (docs/decisions/0423).
pub(crate) mod thread_time {
    /// Largest difference between the calls of a kind and the requests, or a multiple, as a share
    /// of them.
    pub(crate) const UNEVEN_SHARE: f64 = 0.03;
    /// Largest difference, as a number of calls of one request on average.
    pub(crate) const MAX_UNEVEN: f64 = 0.1;
    /// Minimum number of requests; with fewer, evenness is chance.
    pub(crate) const MIN_REQUESTS: usize = 30;
    /// Share of such calls that requests have too many from which one has the calls of others.
    pub(crate) const RUNS_SHARE: f64 = 0.25;
}

/// Calls of timers.
pub(crate) mod timers {
    /// Minimum number of calls of a kind; fewer are not judged.
    pub(crate) const MIN_CALLS: usize = 20;
    /// Smallest share of the gaps that must be of one length.
    pub(crate) const EVEN_SHARE: f64 = 0.9;
    /// Largest difference of such a gap from that length, as a share of it.
    pub(crate) const EVEN_WITHIN: f64 = 0.1;
    /// Maximum of both numbers in a ratio of calls to requests (2 calls for 3 requests). Calls at
    /// such a ratio are made for requests, not by a timer.
    pub(crate) const MAX_RATIO: i64 = 5;
    /// Smallest share of the expected calls that must be there while nothing is asked of the node.
    pub(crate) const IDLE_SHARE: f64 = 0.7;
}

/// Processes of one program, put together.
pub(crate) mod together {
    /// Number of requests that are enough to learn from. Processes that have as many each are not
    /// put together, as they can be looked at in parallel.
    pub(crate) const ENOUGH_REQUESTS: usize = 800;
    /// Time between one process and the next, in nanoseconds: a multiple of all units in which a
    /// trace's times may be.
    pub(crate) const BETWEEN: i64 = 1_000_000_000;
}

/// Work after the answer.
pub(crate) mod afterwards {
    /// Minimum number of calls outside any request to learn from.
    pub(crate) const MIN_CALLS: usize = 5;
    /// Minimum number of such calls of a thread that serves one request after the other.
    pub(crate) const MIN_CALLS_BY_THREAD: usize = 2;
    /// Largest probability that as many of a thread's calls come so soon by chance.
    pub(crate) const MAX_CHANCE: f64 = 0.002;
    /// Smallest share of these calls that must be within the time that is learned.
    pub(crate) const WITHIN_SHARE: f64 = 0.5;
    /// Factor by which these calls must be denser there than over the idle time.
    pub(crate) const MIN_DENSITY: f64 = 3.0;
    /// Smallest share of the answers that such calls must follow where the idle time tells nothing.
    pub(crate) const FOLLOWED_SHARE: f64 = 0.5;
    /// Maximum factor by which there may be more of them in longer idle times.
    pub(crate) const MAX_GROWTH: f64 = 1.5;
    /// Time that requests stay open, over what was seen.
    pub(crate) const ROOM_FACTOR: f64 = 1.5;
}
