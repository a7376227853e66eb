//! What a protocol says of itself, beside its code: the entry of a registry.

use std::fmt;

use registry::{About, AnyFlag, Entry};

use crate::opening::{Guess, Opening};
use crate::parser::Parser;
use crate::piece::Class;

/// One protocol.
pub struct Protocol {
    /// The name and the help.
    pub about: About,
    /// By which rule its bytes are kept.
    pub class: Class,
    /// By what it is recognised, as a sentence.
    pub recognised: &'static str,
    /// Whether a flow's first turns are of it. What is within another protocol or is recognised by
    /// its class says no to all.
    pub(crate) recognise: fn(&Opening) -> Guess,
    /// Makes a parser.
    pub(crate) open: fn() -> Box<dyn Parser>,
    /// Whole conversations: tests cut and damage them, and fuzzing begins with them.
    #[cfg(test)]
    pub(crate) samples: fn() -> Vec<crate::talk::Talk>,
}

impl Entry for Protocol {
    fn about(&self) -> &About {
        &self.about
    }

    fn flags(&self) -> &'static [&'static dyn AnyFlag] {
        &[]
    }
}

impl fmt::Debug for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.about.name)
    }
}
