//! Explanation (Spectroscope, 4.3): the parameters that distinguish the requests of a mutation from
//! those of its originator, or from the mutation's own requests in the first period.
//!
//! ```text
//! requests of both --features--> rows: bytes, host, thread, open requests, all parameters
//!                                  |   of the steps before the two first differ
//!                                  v
//!                                tree: C4.5, gain ratio --> a sentence for each path to a leaf
//! ```

mod features;
mod question;
mod samples;
mod sentences;
mod tree;

use message_trace::{PathError, Progress};
use out_of_core::workers;

use crate::comparison::Comparison;
use crate::options::Options;
use crate::period::{Period, PeriodSide};
use question::ClassQuestion;
use samples::{FeatureSamples, SamplePass};
pub use sentences::{ExplanationSentence, MutationExplanation};

/// Explains the first `limit` mutations; an explanation is `None` if nothing distinguishes the
/// requests. `without` are names of parameters that are left out. The periods' tables must be open
/// with all columns.
///
/// # Errors
/// When the tables cannot be read.
pub fn explain_mutations(
    periods: [&Period<'_>; 2],
    comparison: &Comparison,
    options: &Options,
    (limit, without): (usize, &[String]),
    progress: &dyn Progress,
) -> Result<Vec<Option<MutationExplanation>>, PathError> {
    let mutations = comparison.mutations.iter().take(limit).enumerate();
    let questions: Vec<ClassQuestion> = mutations
        .filter_map(|(number, of)| ClassQuestion::from_mutation(comparison, number, of))
        .collect();
    let mut explanations = vec![None; comparison.mutations.len()];
    if questions.is_empty() {
        return Ok(explanations);
    }
    let mut all: Vec<FeatureSamples> =
        questions.iter().map(|_| FeatureSamples::default()).collect();
    for (side, period) in PeriodSide::BOTH.into_iter().zip(periods) {
        let groups = samples::sampled_groups(period.tables.group_count());
        progress.begin_step("explaining changes", groups.len() as u64);
        let pass = SamplePass { period, side, options, questions: &questions, without };
        let read = |number: usize| pass.read_group(groups[number]);
        workers::run_in_order(
            workers::thread_count(),
            groups.len(),
            read,
            |_, of: Vec<FeatureSamples>| {
                all.iter_mut().zip(of).for_each(|(all, of)| all.merge(of));
                progress.advance_step(1);
                Ok::<(), PathError>(())
            },
        )?;
    }
    for (question, samples) in questions.iter().zip(all) {
        let category = comparison.mutations.get(question.mutation).map(|of| of.category);
        let structure = category.and_then(|of| comparison.categories.get(of));
        let Some(structure) = structure.map(|category| &category.structure) else { continue };
        let mut samples = samples;
        samples.drop_identities();
        let tree = tree::grow_tree(&samples);
        let explanation = sentences::explain_tree(&tree, &samples, structure, &comparison.names);
        if let Some(slot) = explanations.get_mut(question.mutation) {
            *slot = explanation;
        }
    }
    Ok(explanations)
}
