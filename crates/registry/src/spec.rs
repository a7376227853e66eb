//! Spec: what every entry of a registry has, whatever the registry is of.

use std::fmt;
use std::ops::Deref;

use crate::about::EntryHelp;
use crate::flag::AnyFlag;

/// Entry of a registry: an importer, a protocol, an algorithm, an exporter. It has a name, help and
/// flags; the rest depends on the registry, and its fields are read as if they were the spec's own.
#[derive(Clone, Copy)]
pub struct Spec<E: 'static> {
    /// Name and help of the entry.
    pub about: EntryHelp,
    /// The flags, in the order of help. Several entries may share some.
    pub flags: &'static [&'static dyn AnyFlag],
    /// The part that depends on the registry.
    pub entry: E,
}

impl<E> Deref for Spec<E> {
    type Target = E;

    fn deref(&self) -> &E {
        &self.entry
    }
}

impl<E> fmt::Debug for Spec<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.about.name)
    }
}
