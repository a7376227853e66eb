//! Options of an analysis: the algorithm, the grain, and the constants of WAP5 section 5.1 and of
//! Project 5 section 5.1. They are stored in `analysis.json` next to the result, so that a report
//! can state how it was made.

mod algorithm;
mod aliases;
mod convolution;
mod defaults;
mod nesting;
mod resources;

use message_trace::NodeGrain;
use serde::{Deserialize, Serialize};

use crate::evidence::Evidence;
pub use algorithm::Algorithm;
pub use aliases::{AliasError, Aliases};
pub use convolution::ConvolutionOptions;
pub use nesting::NestingOptions;
pub use resources::{AnalysisResources, WorkDivision};

/// The constants of an analysis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Options {
    /// How links are inferred.
    pub algorithm: Algorithm,
    /// Kinds of evidence that are switched off for `auto`.
    pub without: Vec<Evidence>,
    /// The grain: what a node is (WAP5 section 2.5).
    #[serde(with = "grain")]
    pub grain: NodeGrain,
    /// Whether instances are aggregated by the roles of their nodes instead of their names (WAP5
    /// section 2.5.1, Figure 3; docs/decisions/0406). It is only stored if it is on.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub roles: bool,
    /// Names that the user gives to nodes.
    pub aliases: Aliases,
    /// The window x, in nanoseconds: a message is spontaneous if nothing was received within this
    /// time before it. It should be longer than the longest real delay (WAP5 section 5.1, step 1).
    pub window: i64,
    /// The constant y: being spontaneous weighs as much as a cause y times the average delay
    /// earlier (WAP5 section 5.1, step 2). Larger values make longer paths.
    pub spontaneous_delay: f64,
    /// Number of times that message linking estimates delays and links: 1 as in the paper; more
    /// iterations estimate the delays from the previous links (mentioned but not done in WAP5
    /// section 5.1, step 1).
    pub iterations: usize,
    /// Links with a probability within these bounds are tried both ways (WAP5 section 5.1, step 3).
    pub try_both: [f64; 2],
    /// The bound on k, the number of links of one root that are tried both ways: up to 2^k
    /// instances are built of it (docs/decisions/0204 has the figures for the default).
    pub try_both_limit: usize,
    /// Maximum number of messages of an instance; further messages are cut off and counted.
    pub path_limit: usize,
    /// Whether messages of a client are always spontaneous (docs/decisions/0201). Off is WAP5 to
    /// the letter.
    pub clients_start_paths: bool,
    /// A datagram port is fixed if it was seen with at least this many others (WAP5 section 2.5.1).
    pub fixed_port_peers: usize,
    /// Number of messages that are analyzed together. A quarter as many before and after them are
    /// visible to them, so that nothing is cut at the boundary (docs/decisions/0405).
    pub stretch: usize,
    /// Options of the nesting algorithm.
    pub nesting: NestingOptions,
    /// Options of the convolution algorithm.
    pub convolution: ConvolutionOptions,
    /// Memory and processors that an analysis may use.
    #[serde(skip)]
    pub resources: AnalysisResources,
}

/// Serialization of a grain as its name on the command line.
mod grain {
    use message_trace::NodeGrain;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(
        grain: &NodeGrain,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_str(grain)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<NodeGrain, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_survive_json_by_the_names_of_the_command_line() {
        let without = vec![Evidence::Threads];
        let options =
            Options { grain: NodeGrain::Thread, without, try_both_limit: 3, ..Options::default() };
        let text = serde_json::to_string(&options).unwrap();
        assert!(
            text.contains(r#""algorithm":"auto","without":["threads"],"grain":"thread""#),
            "{text}"
        );
        assert_eq!(serde_json::from_str::<Options>(&text).unwrap(), options);
        assert_eq!(serde_json::from_str::<Options>("{}").unwrap(), Options::default());
        assert!(!text.contains("roles"), "a summary without them is as it was: {text}");
        let by_roles = Options { roles: true, ..Options::default() };
        let text = serde_json::to_string(&by_roles).unwrap();
        assert_eq!(serde_json::from_str::<Options>(&text).unwrap(), by_roles);
    }
}
