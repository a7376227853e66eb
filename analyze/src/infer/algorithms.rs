//! The list of all algorithms. To add one: write its file with its entry and its code, and add one
//! line to [`ALGORITHMS`]. Names, parsing and the default follow from the list.

use std::str::FromStr;

use serde::{Deserialize, Deserializer};

use super::inference::{AlgorithmEntry, Inference};
use super::{auto, convolution, linking, nesting};
use crate::options::Algorithm;

/// All algorithms, in the order in which they are offered; the first is the default.
pub static ALGORITHMS: &[&AlgorithmEntry] =
    &[&auto::ALGORITHM, &linking::ALGORITHM, &nesting::ALGORITHM, &convolution::ALGORITHM];

/// The entry of this name among `all`.
fn find(all: &[&'static AlgorithmEntry], name: &str) -> Result<&'static AlgorithmEntry, String> {
    all.iter().copied().find(|entry| entry.name == name).ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|entry| entry.name).collect();
        format!("'{name}' is no algorithm; it is one of {}", names.join(", "))
    })
}

impl Algorithm {
    /// Begins an inference by this algorithm.
    pub(crate) fn inference(self) -> Box<dyn Inference> {
        let entry = find(ALGORITHMS, self.name()).unwrap_or(ALGORITHMS[0]);
        (entry.begin)()
    }
}

impl Default for Algorithm {
    fn default() -> Algorithm {
        Algorithm::of(ALGORITHMS[0].name)
    }
}

impl FromStr for Algorithm {
    type Err = String;

    fn from_str(text: &str) -> Result<Algorithm, String> {
        find(ALGORITHMS, text).map(|entry| Algorithm::of(entry.name))
    }
}

impl<'de> Deserialize<'de> for Algorithm {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Algorithm, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::infer::Input;
    use crate::links::Links;

    #[test]
    fn an_unknown_algorithm_is_answered_with_the_known_ones() {
        for entry in ALGORITHMS {
            let algorithm: Algorithm = entry.name.parse().unwrap();
            assert_eq!(algorithm.to_string(), entry.name);
        }
        assert_eq!(Algorithm::default().to_string(), "auto");
        assert!("luck".parse::<Algorithm>().unwrap_err().contains("linking"));
    }

    #[test]
    fn entries_have_names_of_their_own_and_say_what_they_are() {
        for (place, entry) in ALGORITHMS.iter().enumerate() {
            assert!(ALGORITHMS[..place].iter().all(|other| other.name != entry.name));
            assert!(entry.name.bytes().all(|byte| byte.is_ascii_lowercase()));
            assert!(!entry.summary.is_empty() && !entry.summary.ends_with('.'));
        }
    }

    #[test]
    fn a_toy_is_added_by_its_entry() {
        struct Toy;
        impl Inference for Toy {
            fn infer(&mut self, input: &Input<'_>) -> Links {
                Links::spontaneous_only(input.trace.len())
            }
        }
        static TOY: AlgorithmEntry = AlgorithmEntry {
            name: "toy",
            summary: "Takes every message as spontaneous",
            begin: || Box::new(Toy),
        };
        let mut all = ALGORITHMS.to_vec();
        all.push(&TOY);
        assert_eq!(find(&all, "toy").unwrap().summary, TOY.summary);
        assert!(find(&all, "luck").unwrap_err().ends_with("convolution, toy"));
    }
}
