//! Tuned figures of auto: queues, jobs and work that is handed on.

/// Work that is found before its message comes (docs/decisions/0418).
pub(crate) mod early {
    /// Minimum number of messages; fewer tell nothing.
    pub(crate) const MIN_MESSAGES: usize = 20;
    /// Minimum number of messages whose work came before; fewer tell nothing.
    pub(crate) const MIN_EARLY: usize = 4;
    /// Number of messages among which one may be without work, and of pieces of work among which
    /// one may be without a message.
    pub(crate) const MESSAGES_PER_EXCEPTION: usize = 10;
    /// Number of messages whose work came before among which one may bring some all the same.
    pub(crate) const EARLY_PER_EXCEPTION: usize = 4;
    /// Time within which work comes at once, over the usual time.
    pub(crate) const AT_ONCE_FACTOR: i64 = 2;
    /// Time after which work does not come any more, over the usual time.
    pub(crate) const AT_LAST_FACTOR: i64 = 64;
    /// Probability that a piece of work is a message's where that of another one might have been
    /// found as well. Chosen, not measured: nothing in a trace tells it, as a folder is read in any
    /// order. Of Postfix's half were right.
    pub(crate) const SURE: f64 = 0.55;
}

/// Things that are begun in the order in which they are given.
pub(crate) mod in_turn {
    /// Maximum distance by which what is given may be ahead of what is begun, or behind it.
    pub(crate) const MAX_AHEAD: usize = 32;
    /// Time, over the usual one, that leaving one out must save.
    pub(crate) const LEFT_OUT_FACTOR: i64 = 8;
}

/// Jobs out of queues (docs/decisions/0408, 0414).
pub(crate) mod jobs {
    /// Length of a job where others do the work, over the time in which nearly all of it begins
    /// after the last job that was given.
    pub(crate) const LONGER_FACTOR: i64 = 8;
    /// Minimum number of deliveries; fewer tell nothing.
    pub(crate) const MIN_DELIVERIES: usize = 20;
    /// Number of deliveries for each one by which the number of acknowledgements may differ.
    pub(crate) const DELIVERIES_PER_EXCEPTION: usize = 10;
    /// Number of acknowledgements among which one may come without a delivery to acknowledge.
    pub(crate) const DELIVERIES_PER_EARLY: usize = 50;
}

/// Jobs that a pool of processes runs (docs/decisions/0414).
pub(crate) mod pool {
    /// Minimum number of jobs; fewer tell nothing.
    pub(crate) const MIN_JOBS: usize = 20;
    /// Number of jobs among which one may be without a run.
    pub(crate) const JOBS_PER_EXCEPTION: usize = 20;
    /// Minimum number of calls of one length for it to be a kind of its own; others are told apart
    /// by their magnitude.
    pub(crate) const MIN_OF_LENGTH: u32 = 20;
    /// Age of a job that was given up, over that of the job in its turn, up to which it may be
    /// begun by a run instead.
    pub(crate) const NEAR_FACTOR: i64 = 2;
    /// Probability that a run is for the job in its turn where another one was waiting, too.
    /// Chosen, not measured: nothing in a trace tells it. It is below 0.9, as workers of Celery
    /// began 92 to 97% of their jobs in turn, and others may begin fewer.
    pub(crate) const SURE: f64 = 0.88;
    /// Share of the jobs that is nearly all.
    pub(crate) const NEARLY_ALL: f64 = 0.99;
    /// Longest job, over the length of nearly all.
    pub(crate) const ROOM_FACTOR: f64 = 1.5;
}

/// What lies in a queue (docs/decisions/0422).
pub(crate) mod backlog {
    /// Minimum number of deliveries.
    pub(crate) const MIN_DELIVERIES: usize = 20;
    /// Time of a reply that was waited for, over that of nearly all.
    pub(crate) const LONGER_FACTOR: i64 = 20;
    /// Shortest time of a reply that was waited for, in nanoseconds.
    pub(crate) const MIN_WAIT: i64 = 20_000_000;
    /// Share of the replies that is nearly all.
    pub(crate) const NEARLY_ALL: f64 = 0.9;
    /// Number of parts of a wait. A push ends the wait only if it came in the last of them: in the
    /// last twentieth.
    pub(crate) const WAIT_DIVISOR: i64 = 20;
    /// Smallest share of the times that the queue was found empty, or was waited for, that must
    /// agree.
    pub(crate) const AGREED_SHARE: f64 = 0.9;
    /// Probability that a delivery is that of the push in its turn. Chosen, not measured: a broker
    /// may hand out a few in another order, as where a delivery is taken back. The account of what
    /// lies in the queue must agree all the time.
    pub(crate) const SURE: f64 = 0.93;
    /// Probability that a delivery is that of a push beside the one in its turn. Chosen, not
    /// measured.
    pub(crate) const NEIGHBOUR: f64 = 0.03;
}

/// What a broker receives and sends.
pub(crate) mod broker {
    /// Minimum number of replies of a kind; from fewer nothing is learned.
    pub(crate) const MIN_REPLIES: usize = 10;
    /// Minimum number of requests of one length between two ends for it to be a kind of its own;
    /// others are told apart by their magnitude.
    pub(crate) const MIN_OF_LENGTH: u32 = 20;
    /// Maximum number of kinds of messages to a broker that are looked at, those sent most often.
    pub(crate) const MAX_KINDS: usize = 64;
    /// Maximum number of messages in a row from one sender that are passed over.
    pub(crate) const MAX_PASSED: usize = 16;
    /// Number of messages among which at least one makes many.
    pub(crate) const MANY_DIVISOR: u32 = 5;
}

/// Deliveries in the order of pushes (docs/decisions/0408).
pub(crate) mod in_order {
    /// Maximum number of possible causes of a delivery.
    pub(crate) const MAX_CAUSES: usize = 4;
    /// Maximum number of pushes without a delivery that are looked through, from the oldest.
    pub(crate) const MAX_LOOKED_THROUGH: usize = 1024;
    /// Likelihood of the next push over that of the oldest one.
    pub(crate) const LATER_FACTOR: f64 = 0.2;
    /// Likelihood of a push of another length over that of others.
    pub(crate) const OTHER_LENGTH_FACTOR: f64 = 0.02;
    /// Number of either among which one may be without the other.
    pub(crate) const PER_EXCEPTION: usize = 10;
    /// Maximum number that are sent together; what is longer is one.
    pub(crate) const MAX_TOGETHER: f64 = 8.0;
}

/// Which messages wake which replies (docs/decisions/0408).
pub(crate) mod wakes {
    /// Maximum number of replies of a kind that are looked at.
    pub(crate) const MAX_SAMPLE: usize = 2000;
    /// Minimum number of replies that were woken.
    pub(crate) const MIN_WOKEN: usize = 5;
    /// Factor by which they must be woken more often than by chance.
    pub(crate) const MIN_LIFT: f64 = 4.0;
    /// Odds by which that must be likelier, as a logarithm.
    pub(crate) const MIN_ODDS: f64 = 10.0;
    /// Smallest share of the replies that were waited for and bring something that must have been
    /// woken.
    pub(crate) const WOKEN_SHARE: f64 = 0.6;
    /// Longest time of another kind that wakes the same replies, over that of the quickest.
    pub(crate) const SLOWER_FACTOR: i64 = 3;
    /// Time of a reply that was waited for, over that since what it is woken by.
    pub(crate) const LONG_FACTOR: i64 = 4;
    /// Shortest time that is tried, in nanoseconds.
    pub(crate) const FIRST_TIME: f64 = 2000.0;
    /// Factor from one time that is tried to the next.
    pub(crate) const TIME_STEP: f64 = 1.5;
    /// Number of times that are tried.
    pub(crate) const TIMES_TRIED: i32 = 29;
    /// Smallest share of the deliveries that have a difference in length for it to be a constant
    /// one.
    pub(crate) const CONSTANT_SHARE: f64 = 0.7;
    /// Largest deviation from a constant difference in length, in bytes.
    pub(crate) const ABOUT_BYTES: i64 = 2;
    /// Maximum number of replies after a message that are looked at for one that was waited for.
    pub(crate) const MAX_LOOKED_AT: usize = 64;
    /// Minimum number of replies of a length for it to be judged.
    pub(crate) const MIN_OF_LENGTH: u32 = 3;
    /// Share of the replies of a length that were woken, below which they are hardly ever woken.
    pub(crate) const HARDLY_SHARE: f64 = 0.3;
}
