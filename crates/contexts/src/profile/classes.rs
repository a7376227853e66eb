//! Numbers of classes: the most frequent class is number 0.

use std::cmp::Reverse;

use rustc_hash::FxHashMap;

use crate::collect::CollectedContexts;
use crate::identity::{OperationId, OperationLabel};
use crate::result::{ClassProfile, ClassStep};
use crate::traces::{CallNode, PositionId};
use crate::tuning::MAX_LISTED;

/// The order of classes.
pub(super) struct ClassNumbers {
    /// Number of each class, by its index in the collected data.
    numbers: Vec<u32>,
    /// The inverse of `numbers`.
    order: Vec<u32>,
}

impl ClassNumbers {
    pub(super) fn from_collected(collected: &CollectedContexts<'_>) -> ClassNumbers {
        let mut order: Vec<u32> = (0..collected.classes.len() as u32).collect();
        order.sort_by_key(|class| {
            let counts = collected.classes.get(*class as usize).copied().unwrap_or_default();
            (Reverse(counts.requests), counts.example)
        });
        let mut numbers = vec![0; order.len()];
        for (number, class) in (0..).zip(&order) {
            if let Some(place) = numbers.get_mut(*class as usize) {
                *place = number;
            }
        }
        ClassNumbers { numbers, order }
    }

    /// The number of a position's class, and the number of the step in the class.
    pub(super) fn class_and_step(
        &self,
        collected: &CollectedContexts<'_>,
        position: PositionId,
    ) -> (u32, u32) {
        let classes = &collected.contexts.classes;
        let class = classes.class_of(position) as usize;
        let first = classes.classes().get(class).map(|class| class.first).unwrap_or_default();
        (self.numbers.get(class).copied().unwrap_or(0), position.place_after(first))
    }

    /// The classes in order, up to a maximum number of steps; `places` maps each operation to its
    /// index in the result.
    pub(super) fn class_profiles(
        &self,
        collected: &CollectedContexts<'_>,
        places: &FxHashMap<OperationId, u32>,
    ) -> Vec<ClassProfile> {
        let classes = &collected.contexts.classes;
        let mut left = MAX_LISTED;
        let profile = |class: &u32| {
            let counts = collected.classes.get(*class as usize)?;
            let class = classes.classes().get(*class as usize)?;
            left = left.checked_sub(class.size as usize)?;
            Some(ClassProfile {
                requests: counts.requests,
                expected: counts.expected,
                example: counts.example,
                caller: collected
                    .operations
                    .get(class.caller.index())
                    .map_or(String::new(), OperationLabel::to_string),
                steps: class_steps(classes.tree_of_class(class), places),
            })
        };
        self.order.iter().map_while(profile).collect()
    }
}

fn class_steps(tree: &[CallNode], places: &FxHashMap<OperationId, u32>) -> Vec<ClassStep> {
    let mut steps: Vec<ClassStep> = Vec::with_capacity(tree.len());
    for node in tree {
        let above = node.parent.and_then(|parent| steps.get(parent.index()));
        steps.push(ClassStep {
            depth: above.map_or(0, |above| above.depth + 1),
            operation: places.get(&node.operation).copied().unwrap_or(0),
            times: node.times,
            group: node.group,
        });
    }
    steps
}
