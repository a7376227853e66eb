//! Activations of the steps of a request flow: calls are signals, responses are signals back.

use out_of_core::NameId;
use request_flow::{OverlapTracker, Request, Step};

use super::CanonicalRequest;
use super::plan::{ActivationPlan, SyncPoint, ThreadActivation};
use crate::demands::Demands;

/// The canonical form of a request with known steps. `demands` returns a step's own demands, `role`
/// its role: its node and operation.
///
/// A step works and calls its children. Overlapping children are called at one point and the step
/// continues when all have responded; a child that is called after the others had responded has a
/// point of its own. A step's own demands are placed before its first call, as steps do not record
/// when they occurred between calls.
pub fn canonicalize_steps(
    request: &Request,
    demands: impl Fn(usize) -> Demands,
    mut role: impl FnMut(&Step) -> NameId,
) -> CanonicalRequest {
    let steps = &request.steps;
    let mut plan = ActivationPlan::default();
    for (place, step) in steps.iter().enumerate() {
        let mut activation = ThreadActivation::new(role(step), vec![]);
        activation.charge(demands(place));
        plan.activations.push(activation);
    }
    let children = request.children_of_steps();
    let mut responses: Vec<Option<SyncPoint>> = vec![None; steps.len()];
    // Children follow their parents, so that each is complete before its parent needs it.
    for (place, step) in steps.iter().enumerate().rev() {
        let role = plan.activations[place].role;
        let mut now = place;
        for wave in concurrent_waves(steps, &children[place]) {
            let point = SyncPoint { activation: now, work: plan.activations[now].end_work() };
            let mut answered = Vec::new();
            for child in wave {
                plan.activations[child].sources.push(point);
                answered.extend(responses[child]);
            }
            if !answered.is_empty() {
                now = plan.activations.len();
                plan.activations.push(ThreadActivation::new(role, answered));
            }
        }
        let is_answered = step.parent.is_some() && step.span_at_caller().1.is_some();
        responses[place] = is_answered
            .then(|| SyncPoint { activation: now, work: plan.activations[now].end_work() });
    }
    plan.flatten()
}

/// The known demands of a step: its own usage, the received call and the sent response. Disk bytes
/// count as read, as steps do not distinguish reads from writes.
pub fn demands_of_step(step: &Step) -> Demands {
    Demands {
        processor_ns: step.processor_ns.unwrap_or_default(),
        disk_read_bytes: step.disk_bytes.unwrap_or_default(),
        sent_bytes: step.bytes_out.unwrap_or_default(),
        received_bytes: step.bytes_in.unwrap_or_default(),
        ..Demands::default()
    }
}

/// Groups of overlapping children, in order.
fn concurrent_waves(steps: &[Step], children: &[u32]) -> Vec<Vec<usize>> {
    let mut waves: Vec<Vec<usize>> = Vec::new();
    let mut overlaps = OverlapTracker::default();
    for child in children.iter().map(|child| *child as usize) {
        let overlaps = steps.get(child).is_some_and(|child| overlaps.joins_previous(child));
        match waves.last_mut().filter(|_| overlaps) {
            Some(wave) => wave.push(child),
            None => waves.push(vec![child]),
        }
    }
    waves
}
