//! The algorithm that infers the links, by its name.

use std::fmt;

use serde::Serialize;

/// The name of an algorithm. There are those that are listed ([`crate::ALGORITHMS`]), where parsing
/// and the default are, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct Algorithm(&'static str);

impl Algorithm {
    /// No algorithm, but what a trace has in its place whose source tells the causes
    /// ([`KnownCauses`](crate::infer::KnownCauses)): spans of tracers. It cannot be chosen.
    pub const SPANS: Algorithm = Algorithm("spans");

    /// The algorithm of this name, which must be one of the list.
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
