//! Spec: what every entry of a registry has, whatever the registry is of.

use std::fmt;
use std::ops::Deref;

use clap::{Arg, ArgMatches, Command, Error};

use crate::about::EntryHelp;

/// Entry of a registry: an importer, a protocol, an algorithm, an exporter. It has a name, help and
/// flags; the rest depends on the registry, and its fields are read as if they were the spec's own.
#[derive(Clone, Copy)]
pub struct Spec<E: 'static> {
    /// Name and help of the entry.
    pub about: EntryHelp,
    /// Declares the flags: `augment_args` of a type that derives [`clap::Args`], or [`no_flags`].
    pub flags: fn(Command) -> Command,
    /// The part that depends on the registry.
    pub entry: E,
}

/// The flags of an entry that has none.
pub fn no_flags(command: Command) -> Command {
    command
}

impl<E> Spec<E> {
    /// The flags, in the order of help.
    pub fn declared_flags(&self) -> Vec<Arg> {
        // Without an order of their own, they are listed in the order in which a command adds them.
        let command = Command::new(self.about.name).next_display_order(None);
        (self.flags)(command).get_arguments().cloned().collect()
    }

    /// Parses a command line that has only flags of this entry.
    ///
    /// # Errors
    /// If the entry does not take a flag or a value.
    pub fn parse_flags(&self, arguments: &[&str]) -> Result<ArgMatches, Error> {
        let command = Command::new(self.about.name).no_binary_name(true);
        (self.flags)(command).try_get_matches_from(arguments)
    }
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
