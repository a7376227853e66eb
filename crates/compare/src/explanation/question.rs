//! Question: the two classes of requests that an explanation distinguishes.

use crate::category::{CategoryKey, CategoryStructure};
use crate::comparison::Comparison;
use crate::mutations::{Mutation, MutationKind};
use crate::period::PeriodSide;

/// Two classes of requests to distinguish, for one mutation.
pub(super) struct ClassQuestion {
    /// Index of the mutation.
    pub(super) mutation: usize,
    /// Category of the first class, and of the second; equal if the classes are the periods.
    pub(super) categories: [CategoryKey; 2],
    /// Number of places that both categories share before they first differ.
    pub(super) shared: u32,
    /// Whether the classes are the periods. Otherwise requests of both periods are in either class.
    pub(super) by_period: bool,
}

impl ClassQuestion {
    /// The question about the mutation with the index `number`; `None` if it has no originator to
    /// compare with.
    pub(super) fn from_mutation(
        comparison: &Comparison,
        number: usize,
        mutation: &Mutation,
    ) -> Option<ClassQuestion> {
        let category = comparison.categories.get(mutation.category)?;
        match &mutation.kind {
            MutationKind::ResponseTime { .. } => Some(ClassQuestion {
                mutation: number,
                categories: [category.key; 2],
                shared: category.structure.places.len() as u32,
                by_period: true,
            }),
            MutationKind::Structural { originators, .. } => {
                let originator = originators.first()?;
                let other = comparison.categories.get(originator.category)?;
                Some(ClassQuestion {
                    mutation: number,
                    categories: [other.key, category.key],
                    shared: common_prefix(&other.structure, &category.structure),
                    by_period: false,
                })
            }
        }
    }

    /// The class of a request of a category in a period: 0 or 1; `None` if the request is in
    /// neither class.
    pub(super) fn class_of_request(
        &self,
        category: CategoryKey,
        side: PeriodSide,
    ) -> Option<usize> {
        if self.by_period {
            return (category == self.categories[0]).then_some(side as usize);
        }
        self.categories.iter().position(|of| *of == category)
    }
}

/// Number of equal places at the beginning of two structures.
fn common_prefix(one: &CategoryStructure, other: &CategoryStructure) -> u32 {
    let same = one.places.iter().zip(&other.places).take_while(|(one, other)| one == other);
    same.count() as u32
}
