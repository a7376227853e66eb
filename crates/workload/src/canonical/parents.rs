//! Parents: the one point, among those that had to precede an activation, under which it is placed.

use std::cell::OnceCell;
use std::hash::{Hash, Hasher};

use rustc_hash::FxHasher;

use super::plan::{ActivationPlan, SyncPoint, ThreadActivation};
use crate::tuning::{COLOUR_STEPS, EXACT_PASSES};

/// The parent point of each activation. If several points had to come first, it is the one after
/// the longest chain of synchronisations, and among equally long ones that of the activation with
/// the greatest colour. Neither depends on time. If both are equal, demands, the begin with
/// unlimited processors and the exact colour decide: not the order of arrival.
pub(super) fn find_parents(
    plan: &ActivationPlan,
    order: &[usize],
    begins: &[i64],
) -> Vec<Option<SyncPoint>> {
    let count = plan.activations.len();
    let colours = refine_colours(plan);
    let exact = OnceCell::new();
    let exact_of = |mark: &SyncPoint| {
        exact.get_or_init(|| exact_colours(plan, order, begins))[mark.activation]
    };
    let mut parents = vec![None; count];
    // Length of the longest chain of synchronisations that leads to each activation.
    let mut chains: Vec<Option<u32>> = vec![None; count];
    for place in order {
        let known = plan.activations[*place].sources.iter().filter_map(|mark| {
            let chain = (*chains.get(mark.activation)?)?;
            let demands: [i64; 6] = plan.activations[mark.activation].total_demands().into();
            let (colour, begin) = (colours[mark.activation], begins[mark.activation]);
            Some(((chain, colour, mark.work, demands, begin), *mark))
        });
        let found = known.max_by(|(one, mark), (other, another)| {
            let exactly = || exact_of(mark).cmp(&exact_of(another));
            one.cmp(other).then_with(exactly).then(mark.cmp(another))
        });
        chains[*place] = Some(found.map_or(0, |((chain, ..), _)| chain + 1));
        parents[*place] = found.map(|(_, mark)| mark);
    }
    parents
}

/// Colours that distinguish activations by what leads to them and what they lead to, within
/// [`COLOUR_STEPS`] synchronisations (Weisfeiler-Leman refinement). Times and demands are ignored.
/// All are equal if no activation has several sources, as no parent must be chosen then.
fn refine_colours(plan: &ActivationPlan) -> Vec<u64> {
    let all = &plan.activations;
    if all.iter().all(|activation| activation.sources.len() < 2) {
        return vec![0; all.len()];
    }
    let first = |(place, of): (usize, &ThreadActivation)| {
        hash_value(&(of.role, of.works.len(), place == plan.seed))
    };
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
            *colour = hash_value(&(*colour, around));
        }
    }
    colours
}

/// Colours with begins and demands, and without a limit of passes: activations of the same colour
/// have identical output and surroundings. Each pass mixes everything that leads to an activation
/// into its colour, and then everything that it leads to.
fn exact_colours(plan: &ActivationPlan, order: &[usize], begins: &[i64]) -> Vec<u64> {
    let all = &plan.activations;
    let mut after: Vec<Vec<(usize, usize)>> = vec![Vec::new(); all.len()];
    for (place, activation) in all.iter().enumerate() {
        for mark in &activation.sources {
            after[mark.activation].push((mark.work, place));
        }
    }
    let first = |(place, of): (usize, &ThreadActivation)| {
        hash_value(&(of.role, work_figures(of), begins[place], place == plan.seed))
    };
    let mut colours: Vec<u64> = all.iter().enumerate().map(first).collect();
    let with = |colours: &[u64], place: usize, around: &mut dyn Iterator<Item = (usize, usize)>| {
        let mut around: Vec<(usize, u64)> =
            around.map(|(work, other)| (work, colours[other])).collect();
        around.sort_unstable();
        hash_value(&(colours[place], around))
    };
    for _ in 0..EXACT_PASSES {
        for place in order {
            let mut sources = all[*place].sources.iter().map(|mark| (mark.work, mark.activation));
            colours[*place] = with(&colours, *place, &mut sources);
        }
        for place in order.iter().rev() {
            colours[*place] = with(&colours, *place, &mut after[*place].iter().copied());
        }
    }
    colours
}

/// The demands of each of the activation's works.
pub(super) fn work_figures(activation: &ThreadActivation) -> Vec<[i64; 6]> {
    activation.works.iter().map(|work| (*work).into()).collect()
}

fn hash_value(value: &impl Hash) -> u64 {
    let mut hasher = FxHasher::default();
    value.hash(&mut hasher);
    hasher.finish()
}
