//! Tuned figures of `auto`: queues, jobs and delegated work.

/// Work that starts before its announcement (docs/decisions/0418).
pub(crate) mod early {
    /// Minimum number of messages; fewer are no evidence.
    pub(crate) const MIN_MESSAGES: usize = 20;
    /// Minimum number of messages with earlier work; fewer are no evidence.
    pub(crate) const MIN_EARLY: usize = 4;
    /// Number of messages among which one may be without work, and of pieces of work among which
    /// one may be without a message.
    pub(crate) const MESSAGES_PER_EXCEPTION: usize = 10;
    /// Number of messages with earlier work among which one may cause some nevertheless.
    pub(crate) const EARLY_PER_EXCEPTION: usize = 4;
    /// Time after a message within which work is immediate, relative to the usual time.
    pub(crate) const AT_ONCE_FACTOR: i64 = 2;
    /// Time after a message after which work is no longer expected, relative to the usual time.
    pub(crate) const AT_LAST_FACTOR: i64 = 64;
    /// Probability that a piece of work belongs to a message if work of another one might have been
    /// found as well. Chosen, not measured: nothing in a trace shows it, since a folder is read in
    /// any order. Of Postfix's half were right.
    pub(crate) const OWN_WORK_SHARE: f64 = 0.55;
}

/// FIFO alignment of items given and items begun.
pub(crate) mod in_turn {
    /// Maximum number of items by which one of the two sequences is ahead of the other one.
    pub(crate) const MAX_AHEAD: usize = 32;
    /// Waiting time that must be saved by leaving an item out, relative to the usual wait.
    pub(crate) const LEFT_OUT_FACTOR: i64 = 8;
}

/// Jobs out of queues (docs/decisions/0408, 0414).
pub(crate) mod jobs {
    /// Length of a job if others do the work, relative to the time within which nearly all of it
    /// begins after the last received job.
    pub(crate) const LONGER_FACTOR: i64 = 8;
    /// Minimum number of deliveries; fewer are no evidence.
    pub(crate) const MIN_DELIVERIES: usize = 20;
    /// Number of deliveries per one by which the number of acknowledgements may differ.
    pub(crate) const DELIVERIES_PER_EXCEPTION: usize = 10;
    /// Number of acknowledgements among which one may come without a delivery.
    pub(crate) const DELIVERIES_PER_EARLY: usize = 50;
}

/// Jobs that a pool of processes runs (docs/decisions/0414).
pub(crate) mod pool {
    /// Minimum number of jobs; fewer are no evidence.
    pub(crate) const MIN_JOBS: usize = 20;
    /// Number of jobs among which one may be without a run.
    pub(crate) const JOBS_PER_EXCEPTION: usize = 20;
    /// Minimum number of calls of one length for a separate kind; others are distinguished by
    /// magnitude.
    pub(crate) const MIN_OF_LENGTH: u32 = 20;
    /// Age of a job that was given up, relative to the job in FIFO order, up to which a run may
    /// begin it instead.
    pub(crate) const NEAR_FACTOR: i64 = 2;
    /// Probability that a run is for the job in FIFO order if another one was waiting, too. Chosen,
    /// not measured: nothing in a trace shows it. It is below 0.9, since workers of Celery began 92
    /// to 97% of their jobs in FIFO order, and others may begin fewer.
    pub(crate) const FIFO_JOB_SHARE: f64 = 0.88;
    /// Share of the jobs that counts as nearly all.
    pub(crate) const NEARLY_ALL: f64 = 0.99;
    /// Longest job, relative to the length of nearly all.
    pub(crate) const ROOM_FACTOR: f64 = 1.5;
}

/// Backlog of a queue (docs/decisions/0422).
pub(crate) mod backlog {
    /// Minimum number of deliveries.
    pub(crate) const MIN_DELIVERIES: usize = 20;
    /// Time of an awaited reply, relative to nearly all replies.
    pub(crate) const LONGER_FACTOR: i64 = 20;
    /// Shortest time of an awaited reply, in nanoseconds.
    pub(crate) const MIN_WAIT: i64 = 20_000_000;
    /// Share of the replies that counts as nearly all.
    pub(crate) const NEARLY_ALL: f64 = 0.9;
    /// Number of parts of a wait. A push ends the wait only if it came in the last part: in the
    /// last twentieth.
    pub(crate) const WAIT_DIVISOR: i64 = 20;
    /// Smallest share of the cases in which the account of the queue must agree: those in which a
    /// reply delivered nothing or a worker waited long.
    pub(crate) const AGREED_SHARE: f64 = 0.9;
    /// Probability that a delivery is caused by the push in FIFO order. Chosen, not measured: a
    /// broker may hand out a few in another order, as after a delivery is returned. The account of
    /// the queue must agree all the time.
    pub(crate) const FIFO_SHARE: f64 = 0.93;
    /// Probability that a delivery is caused by a push adjacent to the one in FIFO order. Chosen,
    /// not measured.
    pub(crate) const NEIGHBOUR_SHARE: f64 = 0.03;
}

/// The messages of a broker.
pub(crate) mod broker {
    /// Minimum number of replies of a kind; fewer are not learned from.
    pub(crate) const MIN_REPLIES: usize = 10;
    /// Minimum number of requests of one length between two ends for a separate kind; others are
    /// distinguished by magnitude.
    pub(crate) const MIN_OF_LENGTH: u32 = 20;
    /// Maximum number of kinds of messages to a broker that are examined, the most frequent ones.
    pub(crate) const MAX_KINDS: usize = 64;
    /// Maximum number of consecutive messages from the receiver of a reply itself that are skipped
    /// in the search for the cause of the reply.
    pub(crate) const MAX_SKIPPED: usize = 16;
    /// If one of this number of messages of a flow is ambiguous, the responses on the flow are not
    /// paired with requests.
    pub(crate) const MANY_DIVISOR: u32 = 5;
}

/// Deliveries in the order of pushes (docs/decisions/0408).
pub(crate) mod in_order {
    /// Maximum number of possible causes of a delivery.
    pub(crate) const MAX_CAUSES: usize = 4;
    /// Maximum number of pushes without a delivery that are examined, from the oldest.
    pub(crate) const MAX_LOOKED_THROUGH: usize = 1024;
    /// Likelihood of each later push relative to the one before it.
    pub(crate) const LATER_FACTOR: f64 = 0.2;
    /// Likelihood of a push of another length relative to the others.
    pub(crate) const OTHER_LENGTH_FACTOR: f64 = 0.02;
    /// Number of pushes, or of deliveries, among which one may lack its counterpart.
    pub(crate) const ITEMS_PER_EXCEPTION: usize = 10;
    /// Maximum number of deliveries that are sent together; a longer message is one delivery.
    pub(crate) const MAX_TOGETHER: f64 = 8.0;
}

/// Which messages wake which replies (docs/decisions/0408).
pub(crate) mod wakes {
    /// Maximum number of replies of a kind that are examined.
    pub(crate) const MAX_SAMPLE: usize = 2000;
    /// Minimum number of woken replies.
    pub(crate) const MIN_WOKEN: usize = 5;
    /// Largest ratio of the usual lengths of two kinds of replies that may answer the same
    /// requests. Chosen, not measured.
    pub(crate) const EQUAL_LENGTH_FACTOR: i64 = 2;
    /// Number of deliveries to threads with requests of their own among which one may come without
    /// a push: it was pushed before the recording, or the push was lost. Chosen, not measured.
    pub(crate) const DELIVERIES_PER_EXCEPTION: usize = 10;
    /// Factor by which replies must be woken more often than by chance.
    pub(crate) const MIN_LIFT: f64 = 4.0;
    /// Minimum log-odds of waking against chance.
    pub(crate) const MIN_ODDS: f64 = 10.0;
    /// Smallest share of woken replies among those that were awaited and deliver something.
    pub(crate) const WOKEN_SHARE: f64 = 0.6;
    /// Longest delay of another kind of messages that wakes the same replies, relative to the delay
    /// of the kind with the best score.
    pub(crate) const SLOWER_FACTOR: i64 = 3;
    /// Shortest wait of an awaited reply, relative to the longest time from a wake-up to a reply.
    pub(crate) const LONG_FACTOR: i64 = 4;
    /// Shortest tried time, in nanoseconds.
    pub(crate) const FIRST_TIME: f64 = 2000.0;
    /// Factor from one tried time to the next.
    pub(crate) const TIME_STEP: f64 = 1.5;
    /// Number of tried times.
    pub(crate) const TIMES_TRIED: i32 = 29;
    /// Smallest share of the deliveries with one difference in length for it to be constant.
    pub(crate) const CONSTANT_SHARE: f64 = 0.7;
    /// Largest deviation from a constant difference in length, in bytes.
    pub(crate) const LENGTH_TOLERANCE: i64 = 2;
    /// Maximum number of replies after a message that are examined for an awaited one.
    pub(crate) const MAX_LOOKED_AT: usize = 64;
    /// Minimum number of replies of a length to evaluate it.
    pub(crate) const MIN_OF_LENGTH: u32 = 3;
    /// Share of woken replies of a length below which they are hardly ever woken.
    pub(crate) const HARDLY_SHARE: f64 = 0.3;
}
