//! Order: the binary tree of a request, flattened so that equal requests give equal lists (4.2).

use std::hash::{Hash, Hasher};

use out_of_core::{NameId, Names};
use rustc_hash::FxHasher;

use super::plan::{Activation, Mark, Plan};
use super::{Act, Canonical, Element, schedule};
use crate::demands::Demands;
use crate::tuning::{COLOUR_STEPS, LOOSE_SHARE, MIN_LOOSE_NS};

impl Plan {
    /// The canonical request: the tree of its activations, depth first. The order of what runs at
    /// the same time is that of the points that let it run and, where one point did, of role and
    /// structure and demands: never of time.
    pub(super) fn flatten(self) -> Canonical {
        if self.activations.is_empty() {
            return Canonical::default();
        }
        let order = self.order();
        let begins = schedule::begins(&self, &order);
        let tree = Tree::of(&self, &order);
        let mut elements = Vec::new();
        let mut loose = Vec::new();
        for root in &tree.roots {
            if tree.children[*root].is_empty() && *root != tree.first {
                loose.push(self.activations[*root].demands());
            } else {
                emit(&self, &tree, &begins, *root, &mut elements);
            }
        }
        let all = self.activations.iter().map(|of| of.demands().processor_ns).sum::<i64>();
        for demands in together(loose, all) {
            let end = demands.processor_ns;
            let role = Names::UNKNOWN;
            elements.push(Element { act: Act::Work, role, demands, begin: 0, end });
            elements.push(Element { act: Act::Wait, role, begin: end, end, ..Element::default() });
        }
        Canonical { elements }
    }
}

/// What threads demand that nothing led to: those that work long each for itself, the longest
/// first, and all others together. `all` is the processor time of the request.
fn together(mut loose: Vec<Demands>, all: i64) -> Vec<Demands> {
    let limit = MIN_LOOSE_NS.max(all / LOOSE_SHARE);
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

/// Which activation lets which go on, where it is one alone.
struct Tree {
    /// The activations that each lets go on, with the work that comes before, in order.
    children: Vec<Vec<(usize, usize)>>,
    /// Activations that nothing lets go on: that of the seed first.
    roots: Vec<usize>,
    /// The root that leads to the seed.
    first: usize,
}

impl Tree {
    fn of(plan: &Plan, order: &[usize]) -> Tree {
        let parents = parents(plan, order);
        let count = plan.activations.len();
        let mut children: Vec<Vec<(usize, usize)>> = vec![Vec::new(); count];
        for (place, parent) in parents.iter().enumerate() {
            if let Some(mark) = parent {
                children[mark.activation].push((mark.work, place));
            }
        }
        let mut subtrees = vec![Subtree::default(); count];
        for place in order.iter().rev() {
            let of = &mut children[*place];
            of.sort_by_key(|(work, child)| (*work, subtrees[*child]));
            subtrees[*place] = Subtree::of(&plan.activations[*place], of, &subtrees);
        }
        let mut first = plan.seed.min(count - 1);
        while let Some(mark) = parents[first] {
            first = mark.activation;
        }
        let mut roots: Vec<usize> = (0..count).filter(|at| parents[*at].is_none()).collect();
        roots.sort_by_key(|root| (*root != first, subtrees[*root]));
        Tree { children, roots, first }
    }
}

/// What tells subtrees apart that one point let go on: role, structure, demands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Subtree {
    role: NameId,
    structure: u64,
    demands: [i64; 6],
}

impl Subtree {
    fn of(activation: &Activation, children: &[(usize, usize)], below: &[Subtree]) -> Subtree {
        let mut hasher = FxHasher::default();
        (activation.role, children.len()).hash(&mut hasher);
        let mut demands = activation.demands();
        for (work, child) in children {
            (work, below[*child].structure).hash(&mut hasher);
            demands += Demands::from(below[*child].demands);
        }
        Subtree { role: activation.role, structure: hasher.finish(), demands: demands.into() }
    }
}

/// The one point that stands as the parent of each activation. Where several had to come first, it
/// is the one behind the longest chain of synchronisations, and of equally long ones that of the
/// activation with the greatest colour: neither depends on time.
fn parents(plan: &Plan, order: &[usize]) -> Vec<Option<Mark>> {
    let count = plan.activations.len();
    let colours = colours(plan);
    let mut parents = vec![None; count];
    // Length of the longest chain to each.
    let mut chains: Vec<Option<u32>> = vec![None; count];
    for place in order {
        let known = plan.activations[*place].sources.iter().filter_map(|mark| {
            let chain = (*chains.get(mark.activation)?)?;
            let demands: [i64; 6] = plan.activations[mark.activation].demands().into();
            Some((chain, colours[mark.activation], mark.work, demands, *mark))
        });
        let found = known.max();
        chains[*place] = Some(found.map_or(0, |(chain, ..)| chain + 1));
        parents[*place] = found.map(|(.., mark)| mark);
    }
    parents
}

/// Numbers that tell activations apart by what leads to them and what they lead to, some steps far
/// (the refinement of Weisfeiler and Leman). Times and demands are not looked at. All are equal
/// where no activation has several sources, as nothing is chosen then.
fn colours(plan: &Plan) -> Vec<u64> {
    let all = &plan.activations;
    if all.iter().all(|activation| activation.sources.len() < 2) {
        return vec![0; all.len()];
    }
    let first =
        |(place, of): (usize, &Activation)| hash_of(&(of.role, of.works.len(), place == plan.seed));
    let mut colours: Vec<u64> = all.iter().enumerate().map(first).collect();
    for _ in 0..COLOUR_STEPS {
        let mut around: Vec<Vec<(bool, usize, u64)>> = vec![Vec::new(); all.len()];
        for (place, activation) in all.iter().enumerate() {
            for mark in &activation.sources {
                around[place].push((false, mark.work, colours[mark.activation]));
                around[mark.activation].push((true, mark.work, colours[place]));
            }
        }
        for (colour, around) in colours.iter_mut().zip(&mut around) {
            around.sort_unstable();
            *colour = hash_of(&(*colour, around));
        }
    }
    colours
}

fn hash_of(value: &impl Hash) -> u64 {
    let mut hasher = FxHasher::default();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Writes the activations of a tree, depth first.
fn emit(plan: &Plan, tree: &Tree, begins: &[i64], root: usize, elements: &mut Vec<Element>) {
    let mut open = vec![(root, false)];
    while let Some((place, is_let)) = open.pop() {
        let Activation { role, works, .. } = &plan.activations[place];
        let role = *role;
        let mut now = begins[place];
        let still = |act: Act, role: NameId, now: i64| Element {
            act,
            role,
            begin: now,
            end: now,
            ..Element::default()
        };
        if is_let {
            elements.push(still(Act::Resume, role, now));
        }
        let mut children = tree.children[place].iter().peekable();
        let mut demands = Demands::default();
        let mut begin = now;
        for (number, work) in works.iter().enumerate() {
            demands += *work;
            now = now.saturating_add(work.processor_ns);
            let is_last = number + 1 == works.len();
            let is_point = children.peek().is_some_and(|(work, _)| *work == number);
            if is_last || is_point {
                elements.push(Element { act: Act::Work, role, demands, begin, end: now });
                (demands, begin) = (Demands::default(), now);
            }
            while let Some((_, child)) = children.next_if(|(work, _)| *work == number) {
                elements.push(still(Act::Signal, plan.activations[*child].role, now));
                open.push((*child, true));
            }
        }
        elements.push(still(Act::Wait, role, now));
    }
}
