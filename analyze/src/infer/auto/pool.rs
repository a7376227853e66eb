//! Workers that delegate jobs: a worker receives jobs and hands them to its own processes or
//! threads, which is not visible. Each of these does one job after the other. So its calls form
//! runs, one for each job, and jobs are begun in the order in which they were received. A run
//! begins with one kind of call: there are as many calls of that kind as jobs, and most of the idle
//! time is before them, when a thread waits for the next job.

use rustc_hash::{FxHashMap, FxHashSet};

use super::in_turn::match_in_fifo;
use super::service::{MadeCallId, OPEN, RequestId, Service, UNKNOWN_THREAD};
use crate::tuning::auto::queues::pool::{
    FIFO_JOB_SHARE, JOBS_PER_EXCEPTION, MIN_JOBS, MIN_OF_LENGTH, NEAR_FACTOR, NEARLY_ALL,
    ROOM_FACTOR,
};

/// Runs of processes and threads that receive no jobs themselves.
#[derive(Debug, Default)]
pub(super) struct WorkerPool {
    /// The job of each call; `None` if the receiver of the jobs makes it, or if it is for no job.
    pub(super) bound_to: Vec<Option<RequestId>>,
    /// The alternative job of each call; `None` if no other job was waiting.
    pub(super) alternative_job: Vec<Option<RequestId>>,
    /// The end of each job; requests that are not jobs are missing.
    pub(super) ends: FxHashMap<RequestId, i64>,
}

/// The time at which a run of calls began, and the calls.
type TimedRun = (i64, Vec<MadeCallId>);

/// Finds the worker pool that does the jobs of `service`; `None` if no pool does.
pub(super) fn find_worker_pool(service: &Service) -> Option<WorkerPool> {
    let jobs = RequestId::ids().zip(&service.request_calls).filter(|(_, item)| item.is_delivery());
    let jobs: Vec<RequestId> = jobs.map(|(job, _)| job).collect();
    if jobs.len() < MIN_JOBS || service.call_threads.is_empty() {
        return None;
    }
    let getters: FxHashSet<u32> =
        jobs.iter().map(|job| service.request_threads[job.index()][0]).collect();
    let is_of_pool = |call: &MadeCallId| {
        let thread = service.calling_thread(*call);
        thread != UNKNOWN_THREAD && !getters.contains(&thread)
    };
    let mut by_thread: FxHashMap<u32, Vec<MadeCallId>> = FxHashMap::default();
    for call in service.call_ids().filter(is_of_pool) {
        by_thread.entry(service.calling_thread(call)).or_default().push(call);
    }
    let mut runs = runs(service, &by_thread, jobs.len())?;
    runs.sort_unstable();
    let given: Vec<i64> = jobs.iter().map(|job| service.requests[job.index()].begin).collect();
    let begun: Vec<i64> = runs.iter().map(|(begin, _)| *begin).collect();
    let taken = match_in_fifo(&given, &begun, |_, _| true);
    let all = service.calls.len();
    let mut pool = WorkerPool {
        bound_to: vec![None; all],
        alternative_job: vec![None; all],
        ends: FxHashMap::default(),
    };
    let mut took: Vec<i64> = Vec::new();
    for ((begin, calls), place) in runs.iter().zip(&taken) {
        let Some(place) = *place else { continue };
        let (job, next) = (jobs[place], given.get(place + 1).filter(|next| *next < begin));
        // Another job that had been received, too, may have been begun by this run instead.
        let before = place
            .checked_sub(1)
            .filter(|before| begin - given[*before] < NEAR_FACTOR * (begin - given[place]));
        let alternative = next.map(|_| place + 1).or(before).map(|place| jobs[place]);
        let ends = calls.iter().map(|call| service.calls[call.index()]);
        let last = ends.map(|call| if call.end == OPEN { call.begin } else { call.end }).max();
        let last = last.unwrap_or(*begin);
        took.push(last.saturating_sub(given[place]));
        pool.ends.insert(job, last);
        for call in calls {
            (pool.bound_to[call.index()], pool.alternative_job[call.index()]) =
                (Some(job), alternative);
        }
    }
    if JOBS_PER_EXCEPTION * jobs.len().abs_diff(took.len()) > jobs.len() {
        return None;
    }
    let own: Vec<MadeCallId> = service.call_ids().filter(|call| !is_of_pool(call)).collect();
    for (call, job) in at_receipt(service, &own, &jobs) {
        pool.bound_to[call.index()] = Some(job);
    }
    let place = ((took.len() - 1) as f64 * NEARLY_ALL) as usize;
    let (_, nearly_all, _) = took.select_nth_unstable(place);
    let lasts = (*nearly_all as f64 * ROOM_FACTOR) as i64;
    for (job, given) in jobs.iter().zip(&given) {
        let end = pool.ends.entry(*job).or_insert(i64::MIN);
        *end = given.saturating_add(lasts).max(*end);
    }
    Some(pool)
}

/// Lowers the share of the job of each call of the pool by the part for which the job is ambiguous.
pub(super) fn calibrate_shares(service: &Service, shares: &mut [Vec<(Option<RequestId>, f64)>]) {
    for (call, alternative) in MadeCallId::ids()
        .zip(&service.alternative_job)
        .filter(|(_, alternative)| alternative.is_some())
    {
        let (bound, Some(shares)) = (service.bound_request(call), shares.get_mut(call.index()))
        else {
            continue;
        };
        let is_bound = shares.iter().all(|(request, _)| *request == bound) && !shares.is_empty();
        if is_bound {
            *shares = vec![(bound, FIFO_JOB_SHARE), (*alternative, 1.0 - FIFO_JOB_SHARE)];
        }
    }
}

/// The `own` calls of the receiver of jobs that always come first after a job, since they record
/// its receipt: each with that job.
fn at_receipt(
    service: &Service,
    own: &[MadeCallId],
    jobs: &[RequestId],
) -> Vec<(MadeCallId, RequestId)> {
    let kind = kinds(service, own.iter().copied());
    let mut seen: FxHashMap<CallKind, [usize; 2]> = FxHashMap::default();
    let mut first: Vec<(MadeCallId, RequestId)> = Vec::new();
    let (mut next, mut given) = (0, None);
    for call in own {
        while jobs.get(next).is_some_and(|job| {
            service.requests[job.index()].begin <= service.calls[call.index()].begin
        }) {
            given = jobs.get(next).copied();
            next += 1;
        }
        let [all, at_once] = seen.entry(kind(*call)).or_default();
        *all += 1;
        if let Some(job) = given.take() {
            *at_once += 1;
            first.push((*call, job));
        }
    }
    let always = |call: MadeCallId| {
        seen.get(&kind(call)).is_some_and(|[all, at_once]| {
            2 * all >= jobs.len() && JOBS_PER_EXCEPTION * (all - at_once) <= *all
        })
    };
    first.retain(|(call, _)| always(*call));
    first
}

/// Runs of all threads, for this number of `jobs`, if they begin with calls of one kind.
fn runs(
    service: &Service,
    by_thread: &FxHashMap<u32, Vec<MadeCallId>>,
    jobs: usize,
) -> Option<Vec<TimedRun>> {
    let kind = kinds(service, by_thread.values().flatten().copied());
    // Number of calls of each kind, and total idle time of their threads before them.
    let mut seen: FxHashMap<CallKind, (usize, f64)> = FxHashMap::default();
    for calls in by_thread.values() {
        let mut idle_since = i64::MAX;
        for call in calls {
            let span = service.calls[call.index()];
            let (count, idle) = seen.entry(kind(*call)).or_default();
            *count += 1;
            *idle += span.begin.saturating_sub(idle_since).max(0) as f64;
            idle_since = if span.end == OPEN { span.begin } else { span.end };
        }
    }
    // The total idle time counts, since a thread waits once for a few calls at its own start.
    let (first, (count, _)) =
        seen.into_iter().max_by(|(_, one), (_, other)| one.1.total_cmp(&other.1))?;
    if JOBS_PER_EXCEPTION * count.abs_diff(jobs) > jobs {
        return None;
    }
    let mut runs: Vec<TimedRun> = Vec::new();
    for calls in by_thread.values() {
        let begun = calls.iter().position(|call| kind(*call) == first).unwrap_or(calls.len());
        for call in &calls[begun..] {
            match runs.last_mut().filter(|_| kind(*call) != first) {
                Some((_, of_run)) => of_run.push(*call),
                None => runs.push((service.calls[call.index()].begin, vec![*call])),
            }
        }
    }
    Some(runs)
}

/// The kind of a call: its hop, its length or, negative, the magnitude of its length, and the
/// magnitude of the response's length.
pub(super) type CallKind = (u32, i64, i64);

/// Returns a function that gives the kind of any of these `calls`.
pub(super) fn kinds(
    service: &Service,
    calls: impl Iterator<Item = MadeCallId>,
) -> impl Fn(MadeCallId) -> CallKind {
    let sizes = |call: MadeCallId| service.call_sizes.get(call.index()).copied().unwrap_or([0; 2]);
    let mut lengths: FxHashMap<(u32, i64), u32> = FxHashMap::default();
    for call in calls {
        *lengths.entry((service.calls[call.index()].kind, sizes(call)[0])).or_default() += 1;
    }
    let magnitude = |bytes: i64| -1 - i64::from(bytes.max(1).ilog2());
    move |call: MadeCallId| {
        let (kind, [asked, answered]) = (service.calls[call.index()].kind, sizes(call));
        let often = lengths.get(&(kind, asked)).is_some_and(|count| *count >= MIN_OF_LENGTH);
        (kind, if often { asked } else { magnitude(asked) }, magnitude(answered))
    }
}
