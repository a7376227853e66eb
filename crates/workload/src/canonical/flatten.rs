//! Flattening: the binary tree of a request, flattened so that equal requests give equal lists
//! (Magpie, section 4.2).

use std::hash::{Hash, Hasher};

use out_of_core::{NameId, NameInterner};
use rustc_hash::FxHasher;

use super::parents::{find_parents, work_figures};
use super::plan::{ActivationPlan, ThreadActivation};
use super::{CanonicalElement, CanonicalRequest, ElementAct, schedule};
use crate::demands::Demands;
use crate::tuning::{LOOSE_SHARE, MIN_LOOSE_NS};

impl ActivationPlan {
    /// The canonical request: the tree of its activations, depth first. Concurrent activations are
    /// ordered by the points that woke them and, for the same point, by role, structure and
    /// demands: never by the time at which they ran.
    pub(super) fn flatten(self) -> CanonicalRequest {
        if self.activations.is_empty() {
            return CanonicalRequest::default();
        }
        let order = self.topological_order();
        let begins = schedule::schedule_begins(&self, &order);
        let tree = ActivationTree::from_plan(&self, &order, &begins);
        let mut elements = Vec::new();
        let mut loose = Vec::new();
        for root in &tree.roots {
            if tree.children[*root].is_empty() && *root != tree.first {
                loose.push(self.activations[*root].total_demands());
            } else {
                emit_tree(&self, &tree, &begins, *root, &mut elements);
            }
        }
        let request_ns =
            self.activations.iter().map(|of| of.total_demands().processor_ns).sum::<i64>();
        for demands in merge_uncaused_work(loose, request_ns) {
            let end = demands.processor_ns;
            let role = NameInterner::UNKNOWN;
            elements.push(CanonicalElement { act: ElementAct::Work, role, demands, begin: 0, end });
            elements.push(CanonicalElement {
                act: ElementAct::Wait,
                role,
                begin: end,
                end,
                ..CanonicalElement::default()
            });
        }
        CanonicalRequest { elements }
    }
}

/// Merges the demands of activations that nothing woke and that woke nothing: long ones remain
/// separate, the longest first, and the short ones are summed as the last entry. `request_ns` is
/// the processor time of the request in nanoseconds.
fn merge_uncaused_work(mut loose: Vec<Demands>, request_ns: i64) -> Vec<Demands> {
    let limit = MIN_LOOSE_NS.max(request_ns / LOOSE_SHARE);
    loose.sort_by_key(|demands| std::cmp::Reverse(<[i64; 6]>::from(*demands)));
    let long = loose.partition_point(|demands| demands.processor_ns >= limit);
    let rest = loose.split_off(long);
    if !rest.is_empty() {
        let mut sum = Demands::default();
        rest.into_iter().for_each(|demands| sum += demands);
        loose.push(sum);
    }
    loose
}

/// Which activation wakes which, with a single parent for each.
struct ActivationTree {
    /// The activations that each activation wakes, in order: the index of the work that ends with
    /// the wake-up, and the index of the woken activation.
    children: Vec<Vec<(usize, usize)>>,
    /// Activations without a parent: the activation of the seed first.
    roots: Vec<usize>,
    /// The root of the tree that contains the seed.
    first: usize,
}

impl ActivationTree {
    fn from_plan(plan: &ActivationPlan, order: &[usize], begins: &[i64]) -> ActivationTree {
        let parents = find_parents(plan, order, begins);
        let count = plan.activations.len();
        let mut children: Vec<Vec<(usize, usize)>> = vec![Vec::new(); count];
        for (place, parent) in parents.iter().enumerate() {
            if let Some(mark) = parent {
                children[mark.activation].push((mark.work, place));
            }
        }
        let mut subtrees = vec![SubtreeKey::default(); count];
        for place in order.iter().rev() {
            let of = &mut children[*place];
            of.sort_by_key(|(work, child)| (*work, subtrees[*child]));
            let activation = &plan.activations[*place];
            subtrees[*place] =
                SubtreeKey::from_activation(activation, begins[*place], of, &subtrees);
        }
        let mut first = plan.seed.min(count - 1);
        while let Some(mark) = parents[first] {
            first = mark.activation;
        }
        let mut roots: Vec<usize> = (0..count).filter(|at| parents[*at].is_none()).collect();
        roots.sort_by_key(|root| (*root != first, subtrees[*root]));
        ActivationTree { children, roots, first }
    }
}

/// Key that orders subtrees woken by one point: role, structure, demands; and if all of these are
/// equal, the remaining output, so that their original order does not matter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct SubtreeKey {
    role: NameId,
    structure: u64,
    demands: [i64; 6],
    /// The sum of the begins with unlimited processors, in nanoseconds.
    begins: i64,
    /// Hash of the whole output.
    all: u64,
}

impl SubtreeKey {
    fn from_activation(
        activation: &ThreadActivation,
        begin: i64,
        children: &[(usize, usize)],
        subtrees: &[SubtreeKey],
    ) -> SubtreeKey {
        let [mut structure, mut all] = [FxHasher::default(), FxHasher::default()];
        (activation.role, children.len()).hash(&mut structure);
        (activation.role, begin, work_figures(activation)).hash(&mut all);
        let (mut demands, mut begins) = (activation.total_demands(), begin);
        for (work, child) in children {
            let child = &subtrees[*child];
            (work, child.structure).hash(&mut structure);
            (work, child.all).hash(&mut all);
            demands += Demands::from(child.demands);
            begins = begins.saturating_add(child.begins);
        }
        let [structure, all] = [structure, all].map(|hasher| hasher.finish());
        SubtreeKey { role: activation.role, structure, demands: demands.into(), begins, all }
    }
}

/// Writes the activations of a tree, depth first.
fn emit_tree(
    plan: &ActivationPlan,
    tree: &ActivationTree,
    begins: &[i64],
    root: usize,
    elements: &mut Vec<CanonicalElement>,
) {
    let mut open = vec![(root, false)];
    while let Some((place, is_woken)) = open.pop() {
        let ThreadActivation { role, works, .. } = &plan.activations[place];
        let role = *role;
        let mut now = begins[place];
        let instant = |act: ElementAct, role: NameId, now: i64| CanonicalElement {
            act,
            role,
            begin: now,
            end: now,
            ..CanonicalElement::default()
        };
        if is_woken {
            elements.push(instant(ElementAct::Resume, role, now));
        }
        let mut children = tree.children[place].iter().peekable();
        let mut demands = Demands::default();
        let mut begin = now;
        for (number, work) in works.iter().enumerate() {
            demands += *work;
            now = now.saturating_add(work.processor_ns);
            let is_last = number + 1 == works.len();
            let wakes_child = children.peek().is_some_and(|(work, _)| *work == number);
            if is_last || wakes_child {
                elements.push(CanonicalElement {
                    act: ElementAct::Work,
                    role,
                    demands,
                    begin,
                    end: now,
                });
                (demands, begin) = (Demands::default(), now);
            }
            while let Some((_, child)) = children.next_if(|(work, _)| *work == number) {
                elements.push(instant(ElementAct::Signal, plan.activations[*child].role, now));
                open.push((*child, true));
            }
        }
        elements.push(instant(ElementAct::Wait, role, now));
    }
}
