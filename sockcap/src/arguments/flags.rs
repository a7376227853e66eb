//! The flags of a registry as arguments of the command line, and the values that were given to
//! them.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, ValueParser};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, value_parser};
use registry::{AnyFlag, Choice, Given, Offer, Spec, Values};

use super::offers;

/// The flag as the command line has it.
pub(crate) fn argument(flag: &'static dyn AnyFlag) -> Arg {
    let spec = flag.spec();
    let mut argument = Arg::new(spec.long)
        .long(spec.long)
        .help(spec.help)
        .action(action(spec))
        .conflicts_with_all(spec.conflicts.iter().copied());
    for other in spec.requires {
        argument = argument.requires(*other);
    }
    if let Some(letter) = spec.short {
        argument = argument.short(letter);
    }
    if let Some(default) = spec.default {
        argument = argument.default_value(default);
    }
    if let Some(heading) = spec.heading {
        argument = argument.help_heading(heading);
    }
    if let Some(delimiter) = spec.delimiter {
        argument = argument.value_delimiter(delimiter);
    }
    if !matches!(spec.values, Values::Switch) {
        argument = argument.value_name(spec.value_name).value_parser(parser(flag));
    }
    if let Values::OneOf { listed: false, .. } = spec.values {
        argument = argument.hide_possible_values(true);
    }
    match spec.offer {
        Offer::Nothing => argument,
        Offer::Patterns => argument.add(offers::patterns()),
        Offer::Nodes => argument.add(offers::nodes()),
        Offer::Hosts => argument.add(offers::hosts()),
    }
}

fn action(spec: &Spec) -> ArgAction {
    match spec.values {
        Values::Switch => ArgAction::SetTrue,
        _ if spec.repeats || spec.delimiter.is_some() => ArgAction::Append,
        _ => ArgAction::Set,
    }
}

/// The values that clap checks itself, so that a wrong one is told as for any other flag.
fn parser(flag: &'static dyn AnyFlag) -> ValueParser {
    match flag.spec().values {
        Values::Switch => value_parser!(bool),
        Values::Path => value_parser!(PathBuf),
        Values::Text => {
            let checked = |text: &str| flag.check(text.as_ref()).map(|()| text.to_owned());
            ValueParser::new(checked)
        }
        Values::Number { least, most: Some(most) } => value_parser!(i64).range(least..=most).into(),
        Values::Number { least, most: None } => value_parser!(i64).range(least..).into(),
        Values::OneOf { choices, .. } => {
            PossibleValuesParser::new(choices().into_iter().map(possible)).into()
        }
    }
}

fn possible(choice: Choice) -> PossibleValue {
    let value = PossibleValue::new(choice.name).aliases(choice.alias);
    if choice.help.is_empty() { value } else { value.help(choice.help) }
}

/// The values that were given to these flags.
///
/// # Errors
/// When a value is wrong in a way that the command line does not know.
pub(crate) fn given(
    matches: &ArgMatches,
    flags: &[&'static dyn AnyFlag],
) -> Result<Given, clap::Error> {
    let mut given = Given::with_defaults(flags);
    for flag in flags {
        let long = flag.spec().long;
        if matches.value_source(long).is_none_or(|source| source == ValueSource::DefaultValue) {
            continue;
        }
        for value in matches.get_raw(long).into_iter().flatten() {
            given.add(*flag, value).map_err(|refused| {
                clap::Error::raw(clap::error::ErrorKind::ValueValidation, format!("{refused}\n"))
            })?;
        }
    }
    Ok(given)
}
