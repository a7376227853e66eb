//! The services of a batch, prepared for learning.

use message_trace::MessageId;
use rustc_hash::FxHashSet;

use super::groundwork::Groundwork;
use super::jobs::Jobs;
use super::operation_kinds::OperationKinds;
use super::service::Service;
use super::size_kinds::SizeKinds;
use super::spawned::SpawnedProcesses;
use super::{early, observe, one_way, together};
use crate::calls::{CallId, Calls};
use crate::evidence::{EnabledEvidence, Evidence};
use crate::infer::input::InferenceInput;

/// The services of a batch, one for each node.
pub(super) struct Services {
    pub(super) all: Vec<Service>,
    /// The processes that were started for a request.
    pub(super) spawned: SpawnedProcesses,
    /// The messages of the requests with work that started before they arrived.
    pub(super) early: FxHashSet<MessageId>,
    /// The calls of the trace for which recorded hand-offs show the request.
    by_handoff: FxHashSet<CallId>,
}

impl Services {
    /// Observes the services and determines the requests and calls of each. `operation_kinds` and
    /// `size_kinds` have the kinds of earlier batches, and receive the kinds of this one.
    pub(super) fn from_input(
        input: &InferenceInput<'_>,
        groundwork: &Groundwork,
        operation_kinds: &mut OperationKinds,
        size_kinds: &mut Vec<Option<SizeKinds>>,
    ) -> Services {
        let InferenceInput { trace, naming, options, .. } = *input;
        let Groundwork { linked, calls, queues, .. } = groundwork;
        let jobs = Jobs::from_queues(trace, naming, calls, queues, options.window);
        let spawned = SpawnedProcesses::from_trace(trace, naming, calls, &jobs);
        if EnabledEvidence::all_except(&options.without).contains(Evidence::Operations) {
            operation_kinds.add(trace, naming, calls);
        }
        let (mut all, hand_offs) =
            observe::services(input, calls, &jobs, &spawned, operation_kinds);
        let (mut early, mut asked) = (FxHashSet::default(), None);
        let mut by_handoff = FxHashSet::default();
        for (node, service) in (0..).zip(&mut all) {
            one_way::end_requests(service, trace, calls, linked);
            early.extend(early::begin_with_work(service, trace, calls, &mut asked));
            service.put_timers_aside();
            let hand_offs = hand_offs.get(&node).map_or(&[][..], Vec::as_slice);
            let recorded = service.find_workers(hand_offs);
            service.find_traced(trace, calls);
            service.find_by_words(trace, naming, calls, &recorded);
            by_handoff.extend(recorded);
        }
        drop(asked);
        together::pool_processes(&mut all, naming);
        size_kinds.resize_with(all.len().max(size_kinds.len()), || None);
        for (service, kinds) in all.iter_mut().zip(size_kinds) {
            if !service.calls.is_empty() && service.evidence.contains(Evidence::Sizes) {
                kinds.get_or_insert_with(|| SizeKinds::from_service(service)).split_kinds(service);
            }
            if service.is_loop.is_some() {
                // The pooled service may have enough of these requests, even if no single one has.
                one_way::end_requests(service, trace, calls, linked);
            }
            service.record_traces(trace, calls);
            service.prepare();
        }
        Services { all, spawned, early, by_handoff }
    }

    /// The messages of the calls for which recorded hand-offs show the request, in order.
    pub(super) fn linked_by_handoff(&self, calls: &Calls) -> Vec<MessageId> {
        let rows = self.by_handoff.iter().filter_map(|call| calls.request(*call));
        let mut rows: Vec<MessageId> = rows.collect();
        rows.sort_unstable();
        rows
    }

    /// The messages of the calls that rare words decide.
    pub(super) fn linked_by_words(&self, calls: &Calls) -> impl Iterator<Item = MessageId> {
        let decided = self.all.iter().flat_map(Service::decided_by_words);
        decided.filter_map(|call| calls.request(call))
    }

    /// Number of calls of all services.
    pub(super) fn calls(&self) -> u64 {
        self.all.iter().map(|service| service.calls.len() as u64).sum()
    }
}
