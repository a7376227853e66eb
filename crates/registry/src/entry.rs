//! Registries: slices of entries, finding an entry by its name, the union of all flags, and the
//! checks of a registry for its test.

use std::collections::BTreeSet;

use crate::about::EntryHelp;
use crate::flag::AnyFlag;
use crate::flag_values::FlagValues;
use crate::spec::Spec;

/// The entry with this name.
pub fn find_entry<E>(entries: &[&'static Spec<E>], name: &str) -> Option<&'static Spec<E>> {
    entries.iter().copied().find(|entry| entry.about.name == name)
}

/// The flags that any of the entries takes, each one only once, for a command that takes all of
/// them. A flag that several entries take is the same `static`. Such a flag is placed before the
/// next flag of its entry that is already listed, so that each entry's own order is kept.
pub fn union_of_flags<E>(entries: &[&'static Spec<E>]) -> Vec<&'static dyn AnyFlag> {
    let mut all: Vec<&'static dyn AnyFlag> = Vec::new();
    for entry in entries {
        let mut at = all.len();
        for flag in entry.flags.iter().rev() {
            match flag_index(&all, *flag) {
                Some(there) => at = there,
                None => all.insert(at, *flag),
            }
        }
    }
    all
}

/// Why the given flags cannot be used with `entry`, for a command that takes the flags of all
/// `entries`: the refusal of the first flag that is not the entry's own.
pub fn refusal_of_flags<E>(
    entries: &[&'static Spec<E>],
    entry: &Spec<E>,
    given: &FlagValues,
) -> Option<String> {
    let all = union_of_flags(entries);
    let mut foreign = all.iter().filter(|flag| flag_index(entry.flags, **flag).is_none());
    foreign.find(|flag| given.is_given(**flag)).map(|flag| flag.spec().refusal())
}

fn flag_index(flags: &[&'static dyn AnyFlag], flag: &dyn AnyFlag) -> Option<usize> {
    flags.iter().position(|there| there.spec().long == flag.spec().long)
}

/// Faults of a registry, for its test: duplicate names, required flags that do not exist, defaults
/// that cannot be read, and missing texts.
pub fn registry_faults<E>(entries: &[&'static Spec<E>]) -> Vec<String> {
    let mut faults = Vec::new();
    let mut names = BTreeSet::new();
    for entry in entries {
        let EntryHelp { name, summary, examples, .. } = entry.about;
        if !is_name(name) || !names.insert(name) {
            faults.push(format!("'{name}' is not a valid name, or is not unique"));
        }
        if summary.is_empty() || summary.ends_with('.') {
            faults.push(format!("{name}: the summary is empty or ends with a full stop"));
        }
        if examples.iter().any(|line| line.trim().is_empty()) {
            faults.push(format!("{name}: an example is empty"));
        }
        flag_faults(name, entry.flags, &mut faults);
    }
    faults
}

fn flag_faults(name: &str, flags: &[&dyn AnyFlag], faults: &mut Vec<String>) {
    let longs: BTreeSet<&str> = flags.iter().map(|flag| flag.spec().long).collect();
    if longs.len() < flags.len() {
        faults.push(format!("{name}: a flag is listed twice"));
    }
    for flag in flags {
        let spec = flag.spec();
        if !is_name(spec.long) || spec.help.is_empty() {
            faults.push(format!("{name}: --{} is not a valid name, or has no help", spec.long));
        }
        let written = spec.help.split_once("[default: ").map_or("", |(_, default)| default);
        if written.starts_with(|first: char| first.is_ascii_digit()) {
            faults.push(format!("{name}: the help of --{} repeats a constant", spec.long));
        }
        for other in spec.requires {
            if !longs.contains(other) {
                faults.push(format!("{name}: --{} requires the missing --{other}", spec.long));
            }
        }
        if let Some(Err(why)) = spec.default.map(|default| flag.check_value(default.as_ref())) {
            faults.push(format!("{name}: the default of --{}: {why}", spec.long));
        }
    }
}

fn is_name(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    text.bytes().all(plain) && !text.is_empty() && !text.starts_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flag::Flag;
    use crate::values;

    const fn toy(name: &'static str, flags: &'static [&'static dyn AnyFlag]) -> Spec<()> {
        Spec { about: help_of(name), flags, entry: () }
    }

    const fn help_of(name: &'static str) -> EntryHelp {
        EntryHelp { name, summary: "A toy", ..EntryHelp::NOTHING }
    }

    static A: Flag<bool> = Flag::switch("a", "A");
    static B: Flag<bool> = Flag::switch("b", "B");
    static C: Flag<bool> = Flag::switch("c", "C").requires(&["a"]);
    static E: Flag<bool> = Flag::switch("e", "E").refused("--e is for two only");
    static D: Flag<f64> = Flag::text("d", "P", values::parse_share, "D").default("2");

    #[test]
    fn a_union_keeps_the_order_of_each_entry() {
        static ONE: Spec<()> = toy("one", &[&A, &C]);
        static TWO: Spec<()> = toy("two", &[&B, &C, &D]);
        let all = union_of_flags(&[&ONE, &TWO]);
        let longs: Vec<&str> = all.iter().map(|flag| flag.spec().long).collect();
        assert_eq!(longs, ["a", "b", "c", "d"]);
    }

    #[test]
    fn a_flag_of_another_entry_is_refused() {
        static ONE: Spec<()> = toy("one", &[&A]);
        static TWO: Spec<()> = toy("two", &[&A, &E]);
        let mut given = FlagValues::default();
        given.add(&A, "true".as_ref()).unwrap();
        assert_eq!(refusal_of_flags(&[&ONE, &TWO], &ONE, &given), None);
        given.add(&E, "true".as_ref()).unwrap();
        assert_eq!(
            refusal_of_flags(&[&ONE, &TWO], &ONE, &given).as_deref(),
            Some("--e is for two only")
        );
        assert_eq!(refusal_of_flags(&[&ONE, &TWO], &TWO, &given), None);
    }

    #[test]
    fn an_entry_is_found_by_its_name() {
        static ONE: Spec<()> = toy("one", &[]);
        assert!(find_entry(&[&ONE], "one").is_some_and(|entry| std::ptr::eq(entry, &ONE)));
        assert!(find_entry(&[&ONE], "two").is_none());
    }

    #[test]
    fn faults_are_reported() {
        static ONE: Spec<()> = toy("one", &[&A, &C]);
        static AGAIN: Spec<()> = toy("one", &[&C, &D, &D]);
        assert_eq!(registry_faults(&[&ONE]), Vec::<String>::new());
        let faults = registry_faults(&[&ONE, &AGAIN]);
        let expected =
            ["not unique", "a flag is", "requires the missing --a", "default of --d", "of --d"];
        assert_eq!(faults.len(), expected.len(), "{faults:?}");
        assert!(faults.iter().zip(expected).all(|(fault, part)| fault.contains(part)));
    }
}
