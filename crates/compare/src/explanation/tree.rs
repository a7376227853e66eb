//! Decision tree by gain ratio (C4.5, Quinlan 1993, chapters 2 and 4). Each question has two
//! answers: a number is above a threshold or not, a text is this one or another. Rows without the
//! feature answer no.

use std::collections::BTreeMap;

use statrs::function::erf::erfc;

use super::features::{FeatureValue, RequestFeature};
use super::samples::FeatureSamples;
use crate::statistics::{best_threshold, gain_ratio};
use crate::tuning::{MAX_DEPTH, MAX_TEXTS, MIN_LEAF, SPLIT_LEVEL};

/// Question about one feature of a request.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum SplitTest {
    Above(RequestFeature, f64),
    Is(RequestFeature, String),
}

/// A node of the tree, with the weights of both classes in it.
#[derive(Clone, Debug)]
pub(super) enum DecisionTree {
    Leaf([f64; 2]),
    Split { test: SplitTest, yes: Box<DecisionTree>, no: Box<DecisionTree> },
}

/// A test by which a node could be split, with its gain.
struct SplitCandidate {
    test: SplitTest,
    gain: f64,
    ratio: f64,
    /// For each row, whether the test is true.
    answers: Vec<bool>,
}

/// Grows the tree of all rows.
pub(super) fn grow_tree(samples: &FeatureSamples) -> DecisionTree {
    let rows: Vec<u32> = (0..samples.rows.len() as u32).collect();
    split_rows(samples, rows, MAX_DEPTH)
}

fn class_weights(samples: &FeatureSamples, rows: &[u32]) -> [f64; 2] {
    let mut weights = [0.0; 2];
    for row in rows {
        if let Some((class, weight)) = samples.rows.get(*row as usize) {
            weights[*class & 1] += weight;
        }
    }
    weights
}

fn split_rows(samples: &FeatureSamples, rows: Vec<u32>, depth: usize) -> DecisionTree {
    let all = class_weights(samples, &rows);
    let leaf = DecisionTree::Leaf(all);
    if depth == 0 || all.iter().any(|weight| *weight < MIN_LEAF) {
        return leaf;
    }
    let mut is_here = vec![false; samples.rows.len()];
    rows.iter().for_each(|row| is_here[*row as usize] = true);
    let candidates: Vec<SplitCandidate> = samples
        .features
        .iter()
        .flat_map(|(feature, values)| best_candidates(samples, feature, values, (&rows, &is_here)))
        .collect();
    // As in C4.5, a question must gain at least the mean: the ratio alone favours questions that
    // hardly divide.
    let mean = candidates.iter().map(|of| of.gain).sum::<f64>() / candidates.len().max(1) as f64;
    let enough = candidates.iter().filter(|of| of.gain >= mean * (1.0 - 1e-9));
    let best = enough.max_by(|one, other| one.ratio.total_cmp(&other.ratio));
    // The gain of an irrelevant question has a chi-squared distribution.
    let chance = |gain: f64, all: f64| {
        let statistic = 2.0 * all * gain * std::f64::consts::LN_2;
        erfc((statistic / 2.0).sqrt())
    };
    let tests = candidates.len() as f64;
    let Some(best) = best.filter(|of| chance(of.gain, all[0] + all[1]) * tests <= SPLIT_LEVEL)
    else {
        return leaf;
    };
    let (yes, no): (Vec<u32>, Vec<u32>) = rows.iter().partition(|row| best.answers[**row as usize]);
    DecisionTree::Split {
        test: best.test.clone(),
        yes: Box::new(split_rows(samples, yes, depth - 1)),
        no: Box::new(split_rows(samples, no, depth - 1)),
    }
}

/// The best tests of one feature: at most one of its numbers, and one of its texts. `is_here` marks
/// the given rows.
fn best_candidates(
    samples: &FeatureSamples,
    feature: &RequestFeature,
    values: &[(u32, FeatureValue)],
    (rows, is_here): (&[u32], &[bool]),
) -> Vec<SplitCandidate> {
    let mut numbers: Vec<(f64, usize, f64)> = Vec::new();
    let mut texts: BTreeMap<&str, [f64; 2]> = BTreeMap::new();
    for (row, value) in values.iter().filter(|(row, _)| is_here[*row as usize]) {
        let Some((class, weight)) = samples.rows.get(*row as usize) else { continue };
        match value {
            FeatureValue::Number(number) => numbers.push((*number, *class, *weight)),
            FeatureValue::Text(text) => texts.entry(text).or_default()[*class & 1] += weight,
        }
    }
    let all = class_weights(samples, rows);
    let mut found = Vec::new();
    let answers = |is: &dyn Fn(&FeatureValue) -> bool| {
        let mut answers = vec![false; is_here.len()];
        for (row, value) in values {
            answers[*row as usize] = is(value);
        }
        answers
    };
    numbers.sort_by(|one, other| one.0.total_cmp(&other.0));
    if let Some((threshold, ..)) = best_threshold(&numbers, MIN_LEAF) {
        // Rows without the number answer no.
        let mut above = [0.0; 2];
        for (_, class, weight) in numbers.iter().filter(|(number, ..)| *number > threshold) {
            above[*class & 1] += weight;
        }
        let (gain, ratio) = gain_ratio(&[above, [all[0] - above[0], all[1] - above[1]]]);
        let is = |value: &FeatureValue| matches!(value, FeatureValue::Number(number) if *number > threshold);
        let test = SplitTest::Above(feature.clone(), threshold);
        found.push(SplitCandidate { test, gain, ratio, answers: answers(&is) });
    }
    if texts.len() <= MAX_TEXTS {
        let each = texts.iter().map(|(text, of)| {
            let rest = [all[0] - of[0], all[1] - of[1]];
            let (gain, ratio) = gain_ratio(&[*of, rest]);
            (text, of, gain, ratio)
        });
        let large = each.filter(|(_, of, ..)| of[0] + of[1] >= MIN_LEAF);
        if let Some((text, _, gain, ratio)) = large.max_by(|one, other| one.2.total_cmp(&other.2)) {
            let is = |value: &FeatureValue| matches!(value, FeatureValue::Text(of) if of == text);
            let test = SplitTest::Is(feature.clone(), (*text).to_owned());
            found.push(SplitCandidate { test, gain, ratio, answers: answers(&is) });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of two classes: the second has sizes above 100 and is mostly on one host.
    fn samples() -> FeatureSamples {
        let mut samples = FeatureSamples::default();
        for number in 0..200_u32 {
            let class = (number % 2) as usize;
            samples.rows.push((class, 1.0));
            let size = if class == 1 { 101 + number % 50 } else { number % 90 };
            let noise = (message_trace::mix_bits(u64::from(number)) % 1_000) as f64;
            let host = if message_trace::mix_bits(u64::from(number) + 7).is_multiple_of(3) {
                "a"
            } else {
                "b"
            };
            let mut add = |feature, value| {
                samples.features.entry(feature).or_default().push((number, value));
            };
            add(RequestFeature::OpenRequests, FeatureValue::Number(noise));
            add(
                RequestFeature::Step(1, super::super::features::StepFeature::BytesIn),
                FeatureValue::Number(size.into()),
            );
            add(RequestFeature::CallerHost, FeatureValue::Text(host.to_owned()));
        }
        samples
    }

    #[test]
    fn the_parameter_that_divides_is_found_and_noise_is_not() {
        let all = samples();
        let DecisionTree::Split { test: SplitTest::Above(feature, threshold), yes, no } =
            grow_tree(&all)
        else {
            panic!("no split")
        };
        assert_eq!(feature.name(), "bytes_in");
        assert!((89.0..101.0).contains(&threshold), "{threshold}");
        assert!(
            matches!(*yes, DecisionTree::Leaf([0.0, 100.0]))
                && matches!(*no, DecisionTree::Leaf([100.0, 0.0]))
        );
        let mut rest = all;
        rest.features.retain(|feature, _| feature.name() != "bytes_in");
        assert!(matches!(grow_tree(&rest), DecisionTree::Leaf(_)));
    }
}
