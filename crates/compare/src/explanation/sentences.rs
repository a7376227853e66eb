//! Sentences: one for each path from the root of the tree to a leaf with mostly the mutation's
//! requests.

use message_trace::units::{format_bytes, format_duration, format_whole_percent, to_printable};
use request_flow::NameInterner;
use serde::Serialize;

use super::features::{RequestFeature, StepFeature};
use super::samples::FeatureSamples;
use super::tree::{DecisionTree, SplitTest};
use crate::category::CategoryStructure;
use crate::wording::operation_text;

/// What distinguishes a mutation's requests from others.
#[derive(Clone, Debug, Serialize)]
pub struct MutationExplanation {
    /// Number of examined requests of both classes.
    pub requests: [usize; 2],
    /// One sentence for each path of the tree that leads to mostly the mutation's requests.
    pub sentences: Vec<ExplanationSentence>,
}

/// The path from the root of the tree to one leaf.
#[derive(Clone, Debug, Serialize)]
pub struct ExplanationSentence {
    /// Conditions that hold for these requests.
    pub conditions: Vec<String>,
    /// Parameters in the conditions, by the names that leave them out.
    pub parameters: Vec<String>,
    /// The share of the other requests, and of the mutation's, for which the conditions hold.
    pub shares: [f64; 2],
    /// The whole sentence, for people.
    pub text: String,
}

/// The explanation of a tree; `None` if nothing distinguishes the classes.
pub(super) fn explain_tree(
    tree: &DecisionTree,
    samples: &FeatureSamples,
    structure: &CategoryStructure,
    names: &NameInterner,
) -> Option<MutationExplanation> {
    let mut requests = [0; 2];
    let mut all = [0.0; 2];
    for (class, weight) in &samples.rows {
        requests[*class & 1] += 1;
        all[*class & 1] += weight;
    }
    let mut sentences = Vec::new();
    walk_paths(tree, &mut Vec::new(), &mut |path, weights| {
        let shares = [0, 1].map(|class| weights[class] / all[class]);
        if path.is_empty() || shares[1] <= shares[0] {
            return;
        }
        let conditions: Vec<String> = path
            .iter()
            .map(|(test, holds)| condition_phrase(test, *holds, structure, names))
            .collect();
        let [others, here] = shares.map(format_whole_percent);
        let text = format!(
            "{}: {here} of these requests, {others} of the others",
            conditions.join(" and ")
        );
        let parameters = path.iter().map(|(test, _)| match test {
            SplitTest::Above(feature, _) | SplitTest::Is(feature, _) => feature.name().to_owned(),
        });
        let parameters = parameters.collect();
        sentences.push(ExplanationSentence { conditions, parameters, shares, text });
    });
    sentences.sort_by(|one, other| other.shares[1].total_cmp(&one.shares[1]));
    (!sentences.is_empty()).then_some(MutationExplanation { requests, sentences })
}

/// A test on a path of the tree, and whether it is true.
type AnsweredTest<'t> = (&'t SplitTest, bool);

/// Calls `leaf` with each leaf: the path to it, and the weights of both classes in it.
fn walk_paths<'t>(
    tree: &'t DecisionTree,
    path: &mut Vec<AnsweredTest<'t>>,
    leaf: &mut dyn FnMut(&[AnsweredTest<'t>], [f64; 2]),
) {
    match tree {
        DecisionTree::Leaf(weights) => leaf(path, *weights),
        DecisionTree::Split { test, yes, no } => {
            for (holds, below) in [(true, yes), (false, no)] {
                path.push((test, holds));
                walk_paths(below, path, leaf);
                path.pop();
            }
        }
    }
}

fn condition_phrase(
    test: &SplitTest,
    holds: bool,
    structure: &CategoryStructure,
    names: &NameInterner,
) -> String {
    match test {
        SplitTest::Above(feature, threshold) => {
            let than = if holds { "above" } else { "at most" };
            format!(
                "{} {than} {}",
                subject_phrase(feature, structure, names),
                format_number(feature, *threshold)
            )
        }
        SplitTest::Is(feature, text) => {
            let is = if holds { "is" } else { "is not" };
            format!("{} {is} {}", subject_phrase(feature, structure, names), to_printable(text))
        }
    }
}

fn format_number(feature: &RequestFeature, value: f64) -> String {
    match feature {
        RequestFeature::TimeOfDay => {
            let second = value as u64;
            format!("{:02}:{:02}:{:02} UTC", second / 3600, second / 60 % 60, second % 60)
        }
        RequestFeature::Step(
            _,
            StepFeature::BytesIn | StepFeature::BytesOut | StepFeature::DiskBytes,
        ) => format_bytes(value),
        RequestFeature::Step(_, StepFeature::Spent(_)) => format_duration(value).to_string(),
        _ => format!("{}", (value * 100.0).round() / 100.0),
    }
}

fn subject_phrase(
    feature: &RequestFeature,
    structure: &CategoryStructure,
    names: &NameInterner,
) -> String {
    match feature {
        RequestFeature::OpenRequests => "number of open requests".to_owned(),
        RequestFeature::RecentRequests => "number of requests in the preceding second".to_owned(),
        RequestFeature::TimeOfDay => "time of day".to_owned(),
        RequestFeature::CallerHost => "host of the caller".to_owned(),
        RequestFeature::Step(place, what) => {
            let symbol = structure.places.get(*place as usize).map(|place| place.symbol);
            let symbol = symbol.unwrap_or_default();
            let step = operation_text(names, symbol.node, symbol.operation);
            match what {
                StepFeature::BytesIn => format!("size of the call to {step}"),
                StepFeature::BytesOut => format!("size of the response of {step}"),
                StepFeature::Spent(resource) => format!("{} of {step}", resource.sentence_words()),
                StepFeature::DiskBytes => format!("bytes of files of {step}"),
                StepFeature::Host => format!("host of {step}"),
                StepFeature::Parameter(name) => format!("{} of {step}", to_printable(name)),
            }
        }
    }
}
