//! The algorithm that infers the links, by its name.

use std::fmt;

use serde::Serialize;

/// The name of an algorithm. The available ones are listed in [`crate::ALGORITHMS`], which also has
/// parsing and the default.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct Algorithm(&'static str);

impl Algorithm {
    /// Marker for traces with causes recorded by their source
    /// ([`KnownCauses`](crate::infer::KnownCauses)), such as spans of tracers. It is not an
    /// algorithm and cannot be chosen.
    pub const SPANS: Algorithm = Algorithm("spans");

    /// The algorithm of this name, which must be a listed one.
    pub(crate) fn from_name(name: &'static str) -> Algorithm {
        Algorithm(name)
    }

    /// The name on the command line, in the configuration and in `analysis.json`.
    pub fn name(self) -> &'static str {
        self.0
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}
