//! The flags of a registry as arguments of the command line, and their given values.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, ValueParser};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, value_parser};
use registry::{AnyFlag, FlagChoice, FlagSpec, FlagValues, ValueOffer, ValueSyntax};

use super::completion_candidates;

/// The flag as an argument of the command line.
pub(crate) fn clap_argument(flag: &'static dyn AnyFlag) -> Arg {
    let spec = flag.spec();
    let mut argument = Arg::new(spec.long)
        .long(spec.long)
        .help(spec.help_text())
        .action(clap_action(spec))
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
    if !matches!(spec.values, ValueSyntax::Switch) {
        argument = argument.value_name(spec.value_name).value_parser(clap_parser(flag));
    }
    if let ValueSyntax::OneOf { listed: false, .. } = spec.values {
        argument = argument.hide_possible_values(true);
    }
    match spec.offer {
        ValueOffer::Nothing => argument,
        ValueOffer::Patterns => argument.add(completion_candidates::pattern_candidates()),
        ValueOffer::Nodes => argument.add(completion_candidates::node_candidates()),
        ValueOffer::Hosts => argument.add(completion_candidates::host_candidates()),
    }
}

fn clap_action(spec: &FlagSpec) -> ArgAction {
    match spec.values {
        ValueSyntax::Switch => ArgAction::SetTrue,
        _ if spec.repeats || spec.delimiter.is_some() => ArgAction::Append,
        _ => ArgAction::Set,
    }
}

/// Parsers of the values that clap checks itself, so that a wrong value is reported as for any
/// other flag.
fn clap_parser(flag: &'static dyn AnyFlag) -> ValueParser {
    match flag.spec().values {
        ValueSyntax::Switch => value_parser!(bool),
        ValueSyntax::Path => value_parser!(PathBuf),
        ValueSyntax::Text => {
            let checked = |text: &str| flag.check_value(text.as_ref()).map(|()| text.to_owned());
            ValueParser::new(checked)
        }
        ValueSyntax::Number { least, most: Some(most) } => {
            value_parser!(i64).range(least..=most).into()
        }
        ValueSyntax::Number { least, most: None } => value_parser!(i64).range(least..).into(),
        ValueSyntax::OneOf { choices, .. } => {
            PossibleValuesParser::new(choices().into_iter().map(possible_value)).into()
        }
    }
}

fn possible_value(choice: FlagChoice) -> PossibleValue {
    let value = PossibleValue::new(choice.name).aliases(choice.alias);
    if choice.help.is_empty() { value } else { value.help(choice.help) }
}

/// The values given for these flags.
///
/// # Errors
/// When a value is wrong in a way that the command line cannot check.
pub(crate) fn given_values(
    matches: &ArgMatches,
    flags: &[&'static dyn AnyFlag],
) -> Result<FlagValues, clap::Error> {
    let mut given = FlagValues::with_defaults(flags);
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
