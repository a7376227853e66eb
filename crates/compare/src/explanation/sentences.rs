//! Sentences: each path from the root of the tree to a leaf that is mostly of the mutation.

use message_trace::units::{bytes, duration, printable, whole_percent};
use request_flow::Names;
use serde::Serialize;

use super::features::{Feature, OfStep};
use super::samples::Samples;
use super::tree::{Test, Tree};
use crate::category::Structure;
use crate::wording::operation;

/// What tells a mutation's requests from others.
#[derive(Clone, Debug, Serialize)]
pub struct Explanation {
    /// Requests of both classes that were looked at.
    pub requests: [usize; 2],
    /// One for each path of the tree that leads to mostly the mutation's requests.
    pub sentences: Vec<Sentence>,
}

/// One path from the root of the tree.
#[derive(Clone, Debug, Serialize)]
pub struct Sentence {
    /// What holds of these requests.
    pub conditions: Vec<String>,
    /// Parameters that these are about, by the names that leave them out.
    pub parameters: Vec<String>,
    /// The share of the others, and of the mutation's requests, for which that holds.
    pub shares: [f64; 2],
    /// All of it in words.
    pub text: String,
}

/// The explanation of a tree; `None` where nothing tells both apart.
pub(super) fn of(
    tree: &Tree,
    samples: &Samples,
    structure: &Structure,
    names: &Names,
) -> Option<Explanation> {
    let mut requests = [0; 2];
    let mut all = [0.0; 2];
    for (class, weight) in &samples.rows {
        requests[*class & 1] += 1;
        all[*class & 1] += weight;
    }
    let mut sentences = Vec::new();
    walk(tree, &mut Vec::new(), &mut |path, weights| {
        let shares = [0, 1].map(|class| weights[class] / all[class]);
        if path.is_empty() || shares[1] <= shares[0] {
            return;
        }
        let conditions: Vec<String> =
            path.iter().map(|(test, holds)| condition(test, *holds, structure, names)).collect();
        let [others, here] = shares.map(whole_percent);
        let text =
            format!("{}: {here} of these requests, {others} of those", conditions.join(" and "));
        let parameters = path.iter().map(|(test, _)| match test {
            Test::Above(feature, _) | Test::Is(feature, _) => feature.name().to_owned(),
        });
        let parameters = parameters.collect();
        sentences.push(Sentence { conditions, parameters, shares, text });
    });
    sentences.sort_by(|one, other| other.shares[1].total_cmp(&one.shares[1]));
    (!sentences.is_empty()).then_some(Explanation { requests, sentences })
}

/// A question on a path, and whether it is answered by yes.
type Answered<'t> = (&'t Test, bool);

fn walk<'t>(
    tree: &'t Tree,
    path: &mut Vec<Answered<'t>>,
    leaf: &mut dyn FnMut(&[Answered<'t>], [f64; 2]),
) {
    match tree {
        Tree::Leaf(weights) => leaf(path, *weights),
        Tree::Split { test, yes, no } => {
            for (holds, below) in [(true, yes), (false, no)] {
                path.push((test, holds));
                walk(below, path, leaf);
                path.pop();
            }
        }
    }
}

fn condition(test: &Test, holds: bool, structure: &Structure, names: &Names) -> String {
    match test {
        Test::Above(feature, threshold) => {
            let than = if holds { "above" } else { "at most" };
            format!("{} {than} {}", subject(feature, structure, names), number(feature, *threshold))
        }
        Test::Is(feature, text) => {
            let is = if holds { "is" } else { "is not" };
            format!("{} {is} {}", subject(feature, structure, names), printable(text))
        }
    }
}

fn number(feature: &Feature, value: f64) -> String {
    match feature {
        Feature::TimeOfDay => {
            let second = value as u64;
            format!("{:02}:{:02}:{:02} UTC", second / 3600, second / 60 % 60, second % 60)
        }
        Feature::Step(_, OfStep::BytesIn | OfStep::BytesOut | OfStep::DiskBytes) => bytes(value),
        Feature::Step(_, OfStep::Spent(_)) => duration(value).to_string(),
        _ => format!("{}", (value * 100.0).round() / 100.0),
    }
}

fn subject(feature: &Feature, structure: &Structure, names: &Names) -> String {
    match feature {
        Feature::OpenRequests => "number of open requests".to_owned(),
        Feature::RecentRequests => "number of requests in the second before".to_owned(),
        Feature::TimeOfDay => "time of day".to_owned(),
        Feature::CallerHost => "host of the caller".to_owned(),
        Feature::Step(place, what) => {
            let symbol = structure.places.get(*place as usize).map(|place| place.symbol);
            let symbol = symbol.unwrap_or_default();
            let step = operation(names, symbol.node, symbol.operation);
            match what {
                OfStep::BytesIn => format!("size of the call to {step}"),
                OfStep::BytesOut => format!("size of the answer of {step}"),
                OfStep::Spent(resource) => format!("{} of {step}", resource.words()),
                OfStep::DiskBytes => format!("bytes of files of {step}"),
                OfStep::Host => format!("host of {step}"),
                OfStep::Parameter(name) => format!("{} of {step}", printable(name)),
            }
        }
    }
}
