//! The registry of algorithms. To add one: write its file with its entry and its code, and add its
//! `mod` line and one line to [`ALGORITHMS`]. Names, parsing, the default, help, completions,
//! manual page and configuration keys follow from the list.

use std::str::FromStr;

use serde::{Deserialize, Deserializer};

use super::inference::{AlgorithmSpec, Inference};
use super::{auto, convolution, linking, nesting};
use crate::options::Algorithm;

/// All algorithms, in the order in which they are offered; the first one is the default.
pub static ALGORITHMS: &[&AlgorithmSpec] =
    &[&auto::ALGORITHM, &linking::ALGORITHM, &nesting::ALGORITHM, &convolution::ALGORITHM];

/// Finds the entry with this name in `all`.
fn find_algorithm(
    all: &[&'static AlgorithmSpec],
    name: &str,
) -> Result<&'static AlgorithmSpec, String> {
    registry::find_entry(all, name).ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|entry| entry.about.name).collect();
        format!("'{name}' is not an algorithm; choose one of {}", names.join(", "))
    })
}

impl Algorithm {
    /// Begins an inference with this algorithm.
    pub(crate) fn begin_inference(self) -> Box<dyn Inference> {
        let entry = find_algorithm(ALGORITHMS, self.name()).unwrap_or(ALGORITHMS[0]);
        (entry.begin)()
    }
}

impl Default for Algorithm {
    fn default() -> Algorithm {
        ALGORITHMS[0].into()
    }
}

impl FromStr for Algorithm {
    type Err = String;

    fn from_str(text: &str) -> Result<Algorithm, String> {
        find_algorithm(ALGORITHMS, text).map(Algorithm::from)
    }
}

impl<'de> Deserialize<'de> for Algorithm {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Algorithm, D::Error> {
        let name = String::deserialize(deserializer)?;
        if name == Algorithm::SPANS.name() {
            return Ok(Algorithm::SPANS);
        }
        name.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::infer::linking::LinkingFlags;
    use crate::infer::{AlgorithmEntry, InferenceInput, read_flags};
    use crate::links::Links;
    use crate::options::Options;
    use clap::Args;
    use registry::{EntryHelp, Spec};

    #[test]
    fn the_error_for_an_unknown_algorithm_lists_the_known_ones() {
        for entry in ALGORITHMS {
            let algorithm: Algorithm = entry.about.name.parse().unwrap();
            assert_eq!(algorithm, Algorithm::from(*entry));
        }
        assert_eq!(Algorithm::default().to_string(), "auto");
        assert!("luck".parse::<Algorithm>().unwrap_err().contains("linking"));
        // A name that is not an algorithm can be read from a file but not be chosen.
        let read = serde_json::from_str::<Algorithm>("\"spans\"").unwrap();
        assert_eq!(read, Algorithm::SPANS);
        assert!("spans".parse::<Algorithm>().is_err());
    }

    #[test]
    fn entries_are_complete() {
        assert_eq!(registry::registry_faults(ALGORITHMS), Vec::<String>::new());
        for flag in registry::union_of_flags(ALGORITHMS) {
            assert!(
                flag.get_default_values().is_empty(),
                "{}: it would undo the last analysis",
                flag.get_id()
            );
        }
    }

    #[test]
    fn options_without_a_flag_are_unchanged() {
        let options = Options { window: 7, iterations: 3, ..Options::default() };
        for entry in ALGORITHMS {
            let mut applied = options.clone();
            let given = entry.parse_flags(&[]).unwrap();
            (entry.read_flags)(&given).unwrap().apply_to(&mut applied);
            assert_eq!(applied, options, "{entry:?}");
        }
    }

    #[test]
    fn a_toy_is_added_by_its_entry() {
        struct Toy;
        impl Inference for Toy {
            fn infer_links(&mut self, input: &InferenceInput<'_>) -> Links {
                Links::spontaneous_only(input.trace.len())
            }
        }
        static TOY: AlgorithmSpec = Spec {
            about: EntryHelp {
                name: "toy",
                summary: "takes all as spontaneous",
                ..EntryHelp::NOTHING
            },
            flags: LinkingFlags::augment_args,
            entry: AlgorithmEntry {
                read_flags: read_flags::<LinkingFlags>,
                begin: || Box::new(Toy),
            },
        };
        let mut all = ALGORITHMS.to_vec();
        all.push(&TOY);
        assert_eq!(Algorithm::from(find_algorithm(&all, "toy").unwrap()).name(), "toy");
        assert!(find_algorithm(&all, "luck").unwrap_err().ends_with("convolution, toy"));
    }
}
