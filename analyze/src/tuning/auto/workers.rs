//! Tuned figures of auto: pools of workers within a process.

/// Minimum number of requests that workers do; fewer tell nothing.
pub(crate) const MIN_REQUESTS: usize = 20;
/// Largest share of the calls of workers that may be open when a run ends, or begin before its
/// request: a worker that dies, or a clock that was set. As of threads that hold requests.
pub(crate) const MAX_EXCEPTIONS: f64 = 0.002;
/// Largest share of the calls that may be made by others than workers.
pub(crate) const MAX_OUTSIDE: f64 = 0.1;
/// Minimum number of workers whose first runs are looked at for what later ones begin with. Chosen,
/// not measured: of fewer, chance leaves it out of all.
pub(crate) const MIN_FIRST_RUNS: usize = 4;
/// Smallest share of the later runs that begin with a kind of call before its absence from first
/// runs counts. Chosen, not measured.
pub(crate) const MIN_BEGUN: f64 = 0.5;
/// Largest share of the first runs that may have that kind where it is made after answers. Chosen,
/// not measured.
pub(crate) const MAX_FIRST: f64 = 0.1;
/// Number of requests among which one may be without a run, or one run without a request.
pub(crate) const REQUESTS_PER_EXCEPTION: usize = 20;
/// Maximum number of objects by whose signals runs are told apart, tried one after the other.
/// Chosen, not measured: a queue has two.
pub(crate) const MAX_OBJECTS: usize = 4;
/// Largest share of the runs whose request may be received before that of the run before, as the
/// order of answers tells it. Of pools whose queues are in order 0 to 7% are; of runs that are put
/// beside any request half.
pub(crate) const MAX_OVERTAKING: f64 = 0.2;
/// Largest share of the runs that may begin before their request.
pub(crate) const MAX_EARLY: f64 = 0.01;
/// Number of runs that end before and after each one with which its request may be exchanged. A
/// worker of a Java pool was overtaken by five at the queue of the writer.
pub(crate) const NEAR: usize = 8;
/// Number of runs before and after each one, by their beginnings and by their ends, whose order
/// with it counts.
pub(crate) const AROUND: usize = 24;
/// Maximum number of passes in which requests are exchanged; three were enough.
pub(crate) const MAX_PASSES: usize = 8;
/// Time between two runs at a queue, in nanoseconds, at which it is as likely as not that the queue
/// saw them in the other order. Chosen, not measured: a thread takes 10 to 100 us from the queue to
/// its call.
pub(crate) const JITTER: i64 = 20_000;
/// Cost, in nanoseconds, of a request that is not the one that a hand-off shows. Chosen, not
/// measured: more than what the order of queues costs where a thread is held up.
pub(crate) const SHOWN: i64 = 1_000_000_000;
/// Minimum number of hand-offs by an object, from workers to who answers, that are judged.
pub(crate) const MIN_SHOWN: usize = 20;
/// Smallest share of them that must show the request that the order of the queues tells as well. Of
/// the wakes of a writer in C++ and Java, 2348 of 2348 were right; of those by which Python passes
/// its interpreter's lock on, 87%.
pub(crate) const SHOWN_SHARE: f64 = 0.95;
/// Smallest probability of another request for a run that is told.
pub(crate) const MIN_RIVAL_SHARE: f64 = 0.05;
/// Maximum number of goroutines from the one that makes a call to the one that holds its request. A
/// worker that calls by HTTP is two away for each of its calls. Chosen, not measured.
pub(crate) const MAX_STEPS: usize = 16;
/// Smallest share of the calls of goroutines that must lead to a request. Chosen, not measured.
pub(crate) const MIN_FOLLOWED: f64 = 0.5;
/// Probability of another request of a goroutine's call, where one hand-off names the one and one
/// the other. Chosen, not measured.
pub(crate) const CONTRADICTED_SHARE: f64 = 0.3;
/// Maximum number of reads of a connection one after the other that end within a message before
/// nothing is said of them. Chosen, not measured: five were seen.
pub(crate) const MAX_READS: usize = 8;
/// Smallest share of the goroutines that seem to be started for requests that must be seen to have
/// a part in the answers: who writes these need be let go on only where it waits. Chosen, not
/// measured.
pub(crate) const MIN_ANSWERING: f64 = 0.05;
/// Maximum number of requests that are looked at for a call of a worker. Chosen, not measured: one
/// or two are let go on between two calls.
pub(crate) const MAX_CANDIDATES: usize = 8;
/// Maximum product of the number of messages of a read and the number of acts behind it whose order
/// is looked at. Chosen, not measured: 50 and 60 were seen.
pub(crate) const MAX_ALIGNED: usize = 1 << 16;

/// Calls that others write for threads that wait (docs/decisions/0439).
pub(crate) mod waiting {
    /// Nanoseconds after a call for which its thread may still be on its way to where it waits.
    /// Threads in Python have to get the lock of their interpreter once more. In three recordings
    /// of gRPC 2,389 of 2,400 calls were right with 1 ms, 2,383 with 0.3, 2,384 with 3.
    pub(crate) const LAG: i64 = 1_000_000;
    /// Largest share of the signals at an object that threads may give in the second half of a call
    /// of their own, if these are to show that a thread does not wait. Of the lock of Python's
    /// interpreter 1% are, of the wakes among who polls for gRPC 10 to 18%.
    pub(crate) const MAX_WAITING: f64 = 0.05;
    /// Smallest share of the requests whose known calls are among those that requests of their kind
    /// have, and in their order. Chosen, not measured: of gRPC in Python all are.
    pub(crate) const MIN_PLANNED: f64 = 0.95;
    /// Number of calls that requests miss, over those that are written by others, beyond which the
    /// requests are thought to have fewer calls. Chosen, not measured.
    pub(crate) const MAX_MISSING: f64 = 1.25;
    /// Largest share of the calls of threads that hold requests which may be told, by whom their
    /// answers let go on, to be for others. In three recordings of gRPC in Python 1 to 2.4% are.
    /// Chosen, not measured.
    pub(crate) const MAX_WRONG: f64 = 0.1;
    /// Probability that the request which waits second longest is the one, where several wait.
    pub(crate) const RIVALS_SHARE: f64 = 0.15;
    /// The same of calls that were sent before the first answer on their connection.
    pub(crate) const FIRST_RIVALS_SHARE: f64 = 0.45;
}

/// Answers that others write for workers (docs/decisions/0442).
pub(crate) mod passed_on {
    /// Smallest share of the own answers of a kind of request that must have the same calls before
    /// them, if these are to be what such a request has. Chosen, not measured: of a server of gRPC
    /// in Python with 50 requests at once it is 0.8.
    pub(crate) const MIN_USUAL: f64 = 0.5;
    /// Largest difference between the numbers of runs and of answers by others, over the latter.
    /// Chosen, not measured: of the same server they are equal.
    pub(crate) const MAX_ODD: f64 = 0.05;
    /// Smallest share of the own answers that must have the same number of signals before them, if
    /// that number is to tell when an answer was handed on. Of the same server 98% have.
    pub(crate) const MIN_ALIKE: f64 = 0.9;
    /// Probability of another request for a run, where several can be the one. In five recordings
    /// of the same server 16 of 745 runs were for another one than the one whose turn it was by the
    /// ends of their calls, and 6 by their signals.
    pub(crate) const RIVALS_SHARE: f64 = 0.05;
}
