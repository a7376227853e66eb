//! Plan: the activations of a request, and what must precede each (Magpie, 3.5).

use out_of_core::NameId;

use crate::demands::Demands;

/// The activations of a request, in any order.
#[derive(Debug, Default)]
pub(super) struct ActivationPlan {
    pub(super) activations: Vec<ThreadActivation>,
    /// The activation that contains the seed event: the tree begins with what led to it.
    pub(super) seed: usize,
}

/// The actions of a thread from the moment at which something wakes it, until it cannot continue by
/// itself.
#[derive(Debug, Default)]
pub(super) struct ThreadActivation {
    pub(super) role: NameId,
    /// Demands up to each synchronisation point of the activation, and after the last one.
    pub(super) works: Vec<Demands>,
    /// Points that precede the activation: the points at which other threads woke it.
    pub(super) sources: Vec<SyncPoint>,
    /// The activation of the same thread that must have ended before.
    pub(super) previous: Option<usize>,
}

/// A synchronisation point: the end of one of an activation's works, which are counted from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SyncPoint {
    pub(super) activation: usize,
    pub(super) work: usize,
}

impl ThreadActivation {
    /// An activation without work yet.
    pub(super) fn new(role: NameId, sources: Vec<SyncPoint>) -> ThreadActivation {
        ThreadActivation { role, works: vec![Demands::default()], sources, previous: None }
    }

    /// Charges the current work of the activation.
    pub(super) fn charge(&mut self, demands: Demands) {
        if let Some(work) = self.works.last_mut() {
            *work += demands;
        }
    }

    /// Ends the current work of the activation. Returns the number of the ended work.
    pub(super) fn end_work(&mut self) -> usize {
        self.works.push(Demands::default());
        self.works.len() - 2
    }

    /// Total demands of the activation.
    pub(super) fn total_demands(&self) -> Demands {
        let mut all = Demands::default();
        self.works.iter().for_each(|work| all += *work);
        all
    }
}

impl ActivationPlan {
    /// Topological order of activations, each after those that must precede it. If contradictory
    /// clocks make a cycle, its first activation comes first.
    pub(super) fn topological_order(&self) -> Vec<usize> {
        let count = self.activations.len();
        let mut after: Vec<Vec<usize>> = vec![Vec::new(); count];
        let mut missing = vec![0_usize; count];
        for (place, activation) in self.activations.iter().enumerate() {
            for before in activation.required_activations() {
                if let Some(after) = after.get_mut(before) {
                    after.push(place);
                    missing[place] += 1;
                }
            }
        }
        let mut order = Vec::with_capacity(count);
        let mut is_done = vec![false; count];
        let mut ready: Vec<usize> = (0..count).rev().filter(|at| missing[*at] == 0).collect();
        let mut first_left = 0;
        while order.len() < count {
            let Some(place) = ready.pop() else {
                while is_done[first_left] {
                    first_left += 1;
                }
                ready.push(first_left);
                continue;
            };
            if std::mem::replace(&mut is_done[place], true) {
                continue;
            }
            order.push(place);
            for next in std::mem::take(&mut after[place]) {
                missing[next] = missing[next].saturating_sub(1);
                if missing[next] == 0 && !is_done[next] {
                    ready.push(next);
                }
            }
        }
        order
    }
}

impl ThreadActivation {
    /// Activations that must precede this one, wholly or in part.
    fn required_activations(&self) -> impl Iterator<Item = usize> {
        self.sources.iter().map(|mark| mark.activation).chain(self.previous)
    }
}
