//! Decision tree by gain ratio (C4.5, Quinlan 1993, chapters 2 and 4). Each question has two
//! answers: a number is above a threshold or not, a text is this one or another. Rows that do not
//! have the feature answer no.

use std::collections::BTreeMap;

use statrs::function::erf::erfc;

use super::features::{Feature, Value};
use super::samples::Samples;
use crate::statistics::{best_threshold, gain_ratio};
use crate::tuning::{MAX_DEPTH, MAX_TEXTS, MIN_LEAF, SPLIT_LEVEL};

/// A question.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Test {
    Above(Feature, f64),
    Is(Feature, String),
}

/// A node of the tree, with the weights of both classes in it.
#[derive(Clone, Debug)]
pub(super) enum Tree {
    Leaf([f64; 2]),
    Split { test: Test, yes: Box<Tree>, no: Box<Tree> },
}

/// A question with what it is worth.
struct Candidate {
    test: Test,
    gain: f64,
    ratio: f64,
    /// For each row whether it answers yes.
    answers: Vec<bool>,
}

/// Grows the tree of all rows.
pub(super) fn grow(samples: &Samples) -> Tree {
    let rows: Vec<u32> = (0..samples.rows.len() as u32).collect();
    split(samples, rows, MAX_DEPTH)
}

fn weights(samples: &Samples, rows: &[u32]) -> [f64; 2] {
    let mut weights = [0.0; 2];
    for row in rows {
        if let Some((class, weight)) = samples.rows.get(*row as usize) {
            weights[*class & 1] += weight;
        }
    }
    weights
}

fn split(samples: &Samples, rows: Vec<u32>, depth: usize) -> Tree {
    let all = weights(samples, &rows);
    let leaf = Tree::Leaf(all);
    if depth == 0 || all.iter().any(|weight| *weight < MIN_LEAF) {
        return leaf;
    }
    let mut is_here = vec![false; samples.rows.len()];
    rows.iter().for_each(|row| is_here[*row as usize] = true);
    let candidates: Vec<Candidate> = samples
        .features
        .iter()
        .flat_map(|(feature, values)| candidates(samples, feature, values, (&rows, &is_here)))
        .collect();
    // As in C4.5, a question has to gain as much as the mean one: the ratio alone favours those
    // that hardly divide.
    let mean = candidates.iter().map(|of| of.gain).sum::<f64>() / candidates.len().max(1) as f64;
    let enough = candidates.iter().filter(|of| of.gain >= mean * (1.0 - 1e-9));
    let best = enough.max_by(|one, other| one.ratio.total_cmp(&other.ratio));
    // The gain of a question about nothing has a chi-squared distribution.
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
    Tree::Split {
        test: best.test.clone(),
        yes: Box::new(split(samples, yes, depth - 1)),
        no: Box::new(split(samples, no, depth - 1)),
    }
}

/// The best questions about one feature: one about its numbers, one about its texts.
fn candidates(
    samples: &Samples,
    feature: &Feature,
    values: &[(u32, Value)],
    (rows, is_here): (&[u32], &[bool]),
) -> Vec<Candidate> {
    let mut numbers: Vec<(f64, usize, f64)> = Vec::new();
    let mut texts: BTreeMap<&str, [f64; 2]> = BTreeMap::new();
    for (row, value) in values.iter().filter(|(row, _)| is_here[*row as usize]) {
        let Some((class, weight)) = samples.rows.get(*row as usize) else { continue };
        match value {
            Value::Number(number) => numbers.push((*number, *class, *weight)),
            Value::Text(text) => texts.entry(text).or_default()[*class & 1] += weight,
        }
    }
    let all = weights(samples, rows);
    let mut found = Vec::new();
    let answers = |is: &dyn Fn(&Value) -> bool| {
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
        let is = |value: &Value| matches!(value, Value::Number(number) if *number > threshold);
        let test = Test::Above(feature.clone(), threshold);
        found.push(Candidate { test, gain, ratio, answers: answers(&is) });
    }
    if texts.len() <= MAX_TEXTS {
        let each = texts.iter().map(|(text, of)| {
            let rest = [all[0] - of[0], all[1] - of[1]];
            let (gain, ratio) = gain_ratio(&[*of, rest]);
            (text, of, gain, ratio)
        });
        let large = each.filter(|(_, of, ..)| of[0] + of[1] >= MIN_LEAF);
        if let Some((text, _, gain, ratio)) = large.max_by(|one, other| one.2.total_cmp(&other.2)) {
            let is = |value: &Value| matches!(value, Value::Text(of) if of == text);
            let test = Test::Is(feature.clone(), (*text).to_owned());
            found.push(Candidate { test, gain, ratio, answers: answers(&is) });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of two classes: the second has sizes above 100 and is mostly on one host.
    fn samples() -> Samples {
        let mut samples = Samples::default();
        for number in 0..200_u32 {
            let class = (number % 2) as usize;
            samples.rows.push((class, 1.0));
            let size = if class == 1 { 101 + number % 50 } else { number % 90 };
            let noise = (message_trace::mixed(u64::from(number)) % 1_000) as f64;
            let host = if message_trace::mixed(u64::from(number) + 7).is_multiple_of(3) {
                "a"
            } else {
                "b"
            };
            let mut add = |feature, value| {
                samples.features.entry(feature).or_default().push((number, value));
            };
            add(Feature::OpenRequests, Value::Number(noise));
            add(
                Feature::Step(1, super::super::features::OfStep::BytesIn),
                Value::Number(size.into()),
            );
            add(Feature::CallerHost, Value::Text(host.to_owned()));
        }
        samples
    }

    #[test]
    fn the_parameter_that_divides_is_found_and_noise_is_not() {
        let all = samples();
        let Tree::Split { test: Test::Above(feature, threshold), yes, no } = grow(&all) else {
            panic!("no split")
        };
        assert_eq!(feature.name(), "bytes_in");
        assert!((89.0..101.0).contains(&threshold), "{threshold}");
        assert!(
            matches!(*yes, Tree::Leaf([0.0, 100.0])) && matches!(*no, Tree::Leaf([100.0, 0.0]))
        );
        let mut rest = all;
        rest.features.retain(|feature, _| feature.name() != "bytes_in");
        assert!(matches!(grow(&rest), Tree::Leaf(_)));
    }
}
