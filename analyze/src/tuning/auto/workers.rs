//! Tuned figures of `auto`: worker pools within a process.

/// Minimum number of requests of workers; fewer are no evidence.
pub(crate) const MIN_REQUESTS: usize = 20;
/// Largest share of the calls of workers that may be open when a run ends, or begin before its
/// request: a worker that dies, or a clock that was set. As for threads that are bound to requests.
pub(crate) const MAX_EXCEPTIONS: f64 = 0.002;
/// Largest share of the calls that may be made by threads other than workers.
pub(crate) const MAX_OUTSIDE: f64 = 0.1;
/// Minimum number of workers for which first runs are compared with later ones. Chosen, not
/// measured: with fewer, a kind may be missing from all first runs by chance.
pub(crate) const MIN_FIRST_RUNS: usize = 4;
/// Smallest share of the later runs that begin with a kind of call before its absence from first
/// runs counts. Chosen, not measured.
pub(crate) const MIN_BEGUN: f64 = 0.5;
/// Largest share of the first runs that may have a kind of call that is assumed to be made after
/// responses. Chosen, not measured.
pub(crate) const MAX_FIRST: f64 = 0.1;
/// Number of requests among which one may be without a run, or one run without a request.
pub(crate) const REQUESTS_PER_EXCEPTION: usize = 20;
/// Maximum number of signalled objects that are tried, one after the other, as the one by which
/// runs are separated. Chosen, not measured: a queue has two.
pub(crate) const MAX_OBJECTS: usize = 4;
/// Largest share of the runs with a request that was received before the request of the previous
/// run, according to the order of responses. For pools with FIFO queues it is 0 to 7%; for runs
/// that are aligned with random requests a half.
pub(crate) const MAX_OVERTAKING: f64 = 0.2;
/// Largest share of the runs that may begin before their request.
pub(crate) const MAX_EARLY: f64 = 0.01;
/// Number of runs that end before and after each one with which its request may be exchanged. A
/// worker of a Java pool was overtaken by five at the queue of the writer.
pub(crate) const NEARBY_RUNS: usize = 8;
/// Number of runs before and after each run, in the order of their beginnings and in the order of
/// their ends, with which its order is compared.
pub(crate) const COMPARED_RUNS: usize = 24;
/// Maximum number of passes in which requests are exchanged; three were enough.
pub(crate) const MAX_PASSES: usize = 8;
/// Time between two runs at a queue, in nanoseconds, for which both orders at the queue are equally
/// likely. Chosen, not measured: a thread takes 10 to 100 us from the queue to its call.
pub(crate) const JITTER: i64 = 20_000;
/// Cost, in nanoseconds, of a request other than the one that a hand-off shows. Chosen, not
/// measured: more than the cost of a violated order of queues if a thread is delayed.
pub(crate) const CONTRADICTION_COST: i64 = 1_000_000_000;
/// Minimum number of hand-offs at an object, from workers to answering threads, for these hand-offs
/// to be evaluated.
pub(crate) const MIN_SHOWN: usize = 20;
/// Smallest share of these hand-offs that must show the request that also follows from the order of
/// the queues. Of the wake-ups of a writer in C++ and Java, 2348 of 2348 were right; of the
/// wake-ups by which Python passes its interpreter lock, 87%.
pub(crate) const SHOWN_SHARE: f64 = 0.95;
/// Smallest probability of an alternative request for a run that is recorded.
pub(crate) const MIN_RIVAL_SHARE: f64 = 0.05;
/// Maximum number of goroutines from the one that makes a call to the one that is bound to its
/// request. A worker that calls by HTTP is two away for each of its calls. Chosen, not measured.
pub(crate) const MAX_STEPS: usize = 16;
/// Smallest share of the calls of goroutines from which wake-up edges must lead to a request.
/// Chosen, not measured.
pub(crate) const MIN_FOLLOWED: f64 = 0.5;
/// Probability of the alternative request of a goroutine's call, if one hand-off leads to one
/// request and one to the other. Chosen, not measured.
pub(crate) const CONTRADICTED_SHARE: f64 = 0.3;
/// Maximum number of consecutive reads of a connection that are examined together because the
/// number of acts after them differs from the number of messages. Chosen, not measured: five were
/// seen.
pub(crate) const MAX_READS: usize = 8;
/// Smallest share of the goroutines that seem to be started for requests, that must write the
/// response or wake its writer: a writer need be woken only if it waits. Chosen, not measured.
pub(crate) const MIN_ANSWERING: f64 = 0.05;
/// Maximum number of requests that are examined for a call of a worker. Chosen, not measured: one
/// or two are woken between two calls.
pub(crate) const MAX_CANDIDATES: usize = 8;
/// Maximum product of the number of messages of a read and the number of acts after it for which
/// the order is examined. Chosen, not measured: 50 and 60 were seen.
pub(crate) const MAX_ALIGNED: usize = 1 << 16;

/// Delegated writes for waiting threads (docs/decisions/0439).
pub(crate) mod waiting {
    /// Nanoseconds after a call during which its thread may not have begun to wait yet. Threads in
    /// Python have to get the lock of their interpreter once more. In three recordings of gRPC
    /// 2,389 of 2,400 calls were right with 1 ms, 2,383 with 0.3, 2,384 with 3.
    pub(crate) const WAIT_LAG: i64 = 1_000_000;
    /// Largest share of the signals at an object that threads may send in the second half of a call
    /// of their own, if signals at the object are to show that a thread does not wait. For the lock
    /// of Python's interpreter it is 1%, for the wake-ups among the threads that poll for gRPC 10
    /// to 18%.
    pub(crate) const MAX_WAITING: f64 = 0.05;
    /// Smallest share of the requests with known calls that match the calls of their kind, in
    /// order. Chosen, not measured: for gRPC in Python all do.
    pub(crate) const MIN_PLANNED: f64 = 0.95;
    /// Number of missing calls of requests, relative to the delegated writes, beyond which the
    /// requests are assumed to have fewer calls. Chosen, not measured.
    pub(crate) const MAX_MISSING: f64 = 1.25;
    /// Largest share of the calls of bound threads for which the wake-ups by their responses may
    /// show another request. In three recordings of gRPC in Python it is 1 to 2.4%. Chosen, not
    /// measured.
    pub(crate) const MAX_WRONG: f64 = 0.1;
    /// Probability of the request that has waited second longest, if several wait.
    pub(crate) const RIVALS_SHARE: f64 = 0.15;
    /// Probability of the request that has waited second longest, for calls that were sent before
    /// the first response on their connection.
    pub(crate) const FIRST_RIVALS_SHARE: f64 = 0.45;
}

/// Delegated replies of workers (docs/decisions/0442).
pub(crate) mod passed_on {
    /// Smallest share of the own responses of a kind of request that must follow the same calls, if
    /// these calls are to be the plan of the kind. Chosen, not measured: for a server of gRPC in
    /// Python with 50 concurrent requests it is 0.8.
    pub(crate) const MIN_USUAL: f64 = 0.5;
    /// Largest difference between the numbers of runs and of responses by other threads, relative
    /// to the latter. Chosen, not measured: for the server of gRPC in Python they are equal.
    pub(crate) const MAX_SURPLUS: f64 = 0.05;
    /// Smallest share of the own responses that must follow the same number of signals, if that
    /// number is to show when a response was delegated. For the server of gRPC in Python it is 98%.
    pub(crate) const MIN_ALIKE: f64 = 0.9;
    /// Probability of the alternative request for a run with several candidates. In five recordings
    /// of the server of gRPC in Python 16 of 745 runs were for another request than the next one by
    /// the ends of their calls, and 6 by their signals.
    pub(crate) const RIVALS_SHARE: f64 = 0.05;
}
