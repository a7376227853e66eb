//! Question: which two classes of requests an explanation tells apart.

use crate::category::{CategoryKey, Structure};
use crate::comparison::Comparison;
use crate::mutations::{Mutation, MutationKind};
use crate::period::Side;

/// Two classes of requests that are told apart, for one mutation.
pub(super) struct Question {
    /// Place of the mutation among all.
    pub(super) mutation: usize,
    /// Category of the first class, and of the second.
    pub(super) categories: [CategoryKey; 2],
    /// Number of places that both share before they first differ.
    pub(super) shared: u32,
    /// Whether the classes are the periods. Else both periods' requests are of either class.
    pub(super) by_period: bool,
}

impl Question {
    /// The question about one of the mutations; `None` where there is nothing to compare with.
    pub(super) fn of(
        comparison: &Comparison,
        number: usize,
        mutation: &Mutation,
    ) -> Option<Question> {
        let category = comparison.categories.get(mutation.category)?;
        match &mutation.kind {
            MutationKind::ResponseTime { .. } => Some(Question {
                mutation: number,
                categories: [category.key; 2],
                shared: category.structure.places.len() as u32,
                by_period: true,
            }),
            MutationKind::Structural { originators, .. } => {
                let originator = originators.first()?;
                let other = comparison.categories.get(originator.category)?;
                Some(Question {
                    mutation: number,
                    categories: [other.key, category.key],
                    shared: shared(&other.structure, &category.structure),
                    by_period: false,
                })
            }
        }
    }

    /// The class of a request of a category in a period: 0 or 1.
    pub(super) fn class(&self, category: CategoryKey, side: Side) -> Option<usize> {
        if self.by_period {
            return (category == self.categories[0]).then_some(side as usize);
        }
        self.categories.iter().position(|of| *of == category)
    }
}

/// Number of places at the beginning of both that are the same.
fn shared(one: &Structure, other: &Structure) -> u32 {
    let same = one.places.iter().zip(&other.places).take_while(|(one, other)| one == other);
    same.count() as u32
}
