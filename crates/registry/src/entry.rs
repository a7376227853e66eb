//! Registries: slices of entries, finding an entry by its name, the union of all flags, and the
//! checks of a registry for its test.

use std::collections::BTreeSet;

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches};

use crate::about::EntryHelp;
use crate::annotations::Refusal;
use crate::spec::Spec;

/// The entry with this name.
pub fn find_entry<E>(entries: &[&'static Spec<E>], name: &str) -> Option<&'static Spec<E>> {
    entries.iter().copied().find(|entry| entry.about.name == name)
}

/// The flags that any of the entries takes, each one only once, for a command that takes all of
/// them. A flag that several entries take is a field of one type that each of them flattens. Such a
/// flag is placed before the next flag of its entry that is already listed, so that each entry's
/// own order is kept.
pub fn union_of_flags<E>(entries: &[&'static Spec<E>]) -> Vec<Arg> {
    let mut all: Vec<Arg> = Vec::new();
    for entry in entries {
        let mut at = all.len();
        for flag in entry.declared_flags().into_iter().rev() {
            match flag_index(&all, &flag) {
                Some(there) => at = there,
                None => all.insert(at, flag),
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
    given: &ArgMatches,
) -> Option<String> {
    let own = entry.declared_flags();
    let all = union_of_flags(entries);
    let mut foreign = all.iter().filter(|flag| flag_index(&own, flag).is_none());
    foreign.find(|flag| is_given(given, flag)).map(|flag| match flag.get::<Refusal>() {
        Some(Refusal(why)) => (*why).to_owned(),
        None => format!("--{} does not apply here", flag.get_long().unwrap_or_default()),
    })
}

/// Whether the user gave this flag, on the command line or in the environment.
pub fn is_given(given: &ArgMatches, flag: &Arg) -> bool {
    let source = given.value_source(flag.get_id().as_str());
    matches!(source, Some(ValueSource::CommandLine | ValueSource::EnvVariable))
}

/// The index of a flag among `flags`, by its id.
fn flag_index(flags: &[Arg], flag: &Arg) -> Option<usize> {
    flags.iter().position(|there| there.get_id() == flag.get_id())
}

/// Faults of a registry, for its test: duplicate names, and missing texts. Clap's own checks, such
/// as of defaults and of required flags, run in the test of the whole command line.
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
        for flag in entry.declared_flags() {
            let long = flag.get_long().unwrap_or_default();
            if !is_name(long) || flag.get_help().is_none() {
                faults.push(format!("{name}: --{long} is not a valid name, or has no help"));
            }
        }
    }
    faults
}

/// Whether a text is a valid name of an entry or of a flag.
fn is_name(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    text.bytes().all(plain) && !text.is_empty() && !text.starts_with('-')
}

#[cfg(test)]
mod tests {
    use clap::{Args, Command};

    use super::*;
    use crate::spec::no_flags;

    const fn toy(name: &'static str, flags: fn(Command) -> Command) -> Spec<()> {
        let about = EntryHelp { name, summary: "A toy", ..EntryHelp::NOTHING };
        Spec { about, flags, entry: () }
    }

    /// A flag of both toys.
    #[derive(Args)]
    struct SharedFlag {
        /// Be loud
        #[arg(long)]
        loud: bool,
    }

    #[derive(Args)]
    struct OneFlags {
        /// Be early
        #[arg(long)]
        early: bool,
        #[command(flatten)]
        shared: SharedFlag,
    }

    #[derive(Args)]
    struct TwoFlags {
        /// Be bright
        #[arg(long, add = Refusal("--bright is for two only"))]
        bright: bool,
        #[command(flatten)]
        shared: SharedFlag,
        /// Be late
        #[arg(long)]
        late: bool,
    }

    static ONE: Spec<()> = toy("one", OneFlags::augment_args);
    static TWO: Spec<()> = toy("two", TwoFlags::augment_args);

    fn parse_union(arguments: &[&str]) -> ArgMatches {
        let command = Command::new("all").no_binary_name(true).args(union_of_flags(&[&ONE, &TWO]));
        command.try_get_matches_from(arguments).unwrap()
    }

    #[test]
    fn a_union_keeps_the_order_of_each_entry() {
        let command = Command::new("all").args(union_of_flags(&[&ONE, &TWO]));
        let help = command.clone().render_help().to_string();
        let place = |name| help.find(name).unwrap();
        let names = ["--early", "--bright", "--loud", "--late"];
        assert!(names.map(place).is_sorted(), "{help}");
        assert_eq!(command.get_arguments().count(), names.len());
    }

    #[test]
    fn a_flag_of_another_entry_is_refused() {
        let refusal_of = |entry, arguments: &[&str]| {
            refusal_of_flags(&[&ONE, &TWO], entry, &parse_union(arguments))
        };
        assert_eq!(refusal_of(&ONE, &["--loud"]), None);
        let refused = refusal_of(&ONE, &["--loud", "--bright"]);
        assert_eq!(refused.as_deref(), Some("--bright is for two only"));
        assert_eq!(refusal_of(&TWO, &["--bright", "--late"]), None);
        let refused = refusal_of(&TWO, &["--early"]);
        assert_eq!(refused.as_deref(), Some("--early does not apply here"));
    }

    #[test]
    fn each_entry_reads_its_flags_from_the_union() {
        use clap::FromArgMatches;
        let given = parse_union(&["--loud", "--early"]);
        let one = OneFlags::from_arg_matches(&given).unwrap();
        let two = TwoFlags::from_arg_matches(&given).unwrap();
        assert!(one.early && one.shared.loud && two.shared.loud && !two.bright && !two.late);
        assert!(ONE.parse_flags(&["--early"]).is_ok() && TWO.parse_flags(&["--early"]).is_err());
    }

    #[test]
    fn an_entry_is_found_by_its_name() {
        assert!(find_entry(&[&ONE], "one").is_some_and(|entry| std::ptr::eq(entry, &ONE)));
        assert!(find_entry(&[&ONE], "two").is_none());
    }

    #[test]
    fn faults_are_reported() {
        #[derive(Args)]
        struct MuteFlags {
            #[arg(long)]
            _mute: bool,
        }
        static AGAIN: Spec<()> = toy("one", MuteFlags::augment_args);
        static NAMELESS: Spec<()> = toy("", no_flags);
        assert_eq!(registry_faults(&[&ONE, &TWO]), Vec::<String>::new());
        let faults = registry_faults(&[&ONE, &AGAIN, &NAMELESS]);
        let expected = ["not unique", "--mute", "not a valid name"];
        assert_eq!(faults.len(), expected.len(), "{faults:?}");
        assert!(
            faults.iter().zip(expected).all(|(fault, part)| fault.contains(part)),
            "{faults:?}"
        );
    }
}
