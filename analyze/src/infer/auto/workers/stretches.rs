//! Worker windows: the calls of a worker from one of its responses to the next.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::infer::auto::service::{MadeCallId, OPEN, RequestId, Service, UNKNOWN_THREAD};

/// An action of a thread; at equal times calls come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ThreadStep {
    Call(MadeCallId),
    Answer(RequestId),
}

/// The calls of a worker from one of its responses to its next one.
pub(super) struct WorkerWindow {
    pub(super) thread: u32,
    /// The calls, in the order of time.
    pub(super) calls: Vec<MadeCallId>,
    /// The request that the worker answers at the end of the window. `None` after its last
    /// response.
    pub(super) answer: Option<RequestId>,
    /// Whether the window is the worker's first.
    pub(super) is_first: bool,
}

/// The windows of the threads that receive no requests, and make calls.
pub(super) fn worker_windows(service: &Service) -> Vec<WorkerWindow> {
    let mut steps: FxHashMap<u32, Vec<(i64, ThreadStep)>> = FxHashMap::default();
    let mut receivers: FxHashSet<u32> = FxHashSet::default();
    for (request, [receiver, answerer]) in RequestId::ids().zip(&service.request_threads) {
        receivers.insert(*receiver);
        let end = service.requests[request.index()].end;
        if end != OPEN && *answerer != UNKNOWN_THREAD {
            steps.entry(*answerer).or_default().push((end, ThreadStep::Answer(request)));
        }
    }
    for call in service.call_ids() {
        let begin = service.calls[call.index()].begin;
        steps
            .entry(service.calling_thread(call))
            .or_default()
            .push((begin, ThreadStep::Call(call)));
    }
    let mut windows = Vec::new();
    for (thread, mut steps) in steps {
        // A thread without calls only answers for others.
        let makes_calls = steps.iter().any(|(_, step)| matches!(step, ThreadStep::Call(_)));
        if thread == UNKNOWN_THREAD || receivers.contains(&thread) || !makes_calls {
            continue;
        }
        steps.sort_unstable();
        let mut window = WorkerWindow { thread, calls: Vec::new(), answer: None, is_first: true };
        for (_, step) in steps {
            match step {
                ThreadStep::Call(call) => window.calls.push(call),
                ThreadStep::Answer(request) => {
                    let next =
                        WorkerWindow { thread, calls: Vec::new(), answer: None, is_first: false };
                    window.answer = Some(request);
                    windows.push(std::mem::replace(&mut window, next));
                }
            }
        }
        windows.push(window);
    }
    windows
}
