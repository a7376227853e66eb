//! The layout of `--help`: lines break between groups of words, not within them. A group is a text
//! in brackets or quotes, or a flag with its value. As clap breaks lines at blanks, the blanks of a
//! group are replaced by other characters until the text is printed.

use clap::builder::StyledStr;
use clap::error::ContextValue;
use clap::{Arg, ArgAction, Command};
use message_trace::units;

use crate::output;

/// A blank at which no line is broken.
const HARD_BLANK: char = '\u{a0}';
/// Maximum length of a group that stays together, in characters. Hardly any line has room for a
/// longer one next to the flags.
const MAX_GROUP: usize = 48;

/// The definitions with groups that stay together. `short` help has lists of values on the same
/// line.
pub(crate) fn lay_out(command: Command, short: bool) -> Command {
    let about = command.get_about().map(join_groups);
    let long = command.get_long_about().map(join_groups);
    let mut command = command
        .mut_args(|one| lay_out_argument(one, short))
        .mut_subcommands(|one| lay_out(one, short));
    if let Some(about) = about {
        command = command.about(about);
    }
    if let Some(long) = long {
        command = command.long_about(long);
    }
    command
}

/// Prints a text of clap: help to standard output, errors to standard error.
pub(crate) fn print_clap_error(error: &clap::Error) {
    let mut text = error.render().ansi().to_string().replace(HARD_BLANK, " ");
    // Input that an error repeats, from a file or the command line, is shown on one line, so that
    // the text has no styles and no line breaks except clap's.
    for given in repeated_input(error) {
        text = text.replace(&given, &output::escape_line_breaks(&given));
    }
    output::print_styled(&text, error.use_stderr());
}

/// The unprintable input that an error repeats.
fn repeated_input(error: &clap::Error) -> Vec<String> {
    let values = error.context().flat_map(|(_, value)| match value {
        ContextValue::String(text) => vec![text.clone()],
        ContextValue::Strings(texts) => texts.clone(),
        _ => Vec::new(),
    });
    values.filter(|text| text.chars().any(units::is_harmful)).collect()
}

/// An argument with all that clap would append to its help, in groups.
fn lay_out_argument(argument: Arg, short: bool) -> Arg {
    let mut groups = Vec::new();
    let takes_value = matches!(argument.get_action(), ArgAction::Set | ArgAction::Append);
    let default: Vec<String> = argument
        .get_default_values()
        .iter()
        .map(|value| value.to_string_lossy().into_owned())
        .collect();
    let is_list =
        !short && argument.get_possible_values().iter().any(|value| value.get_help().is_some());
    if takes_value && !argument.is_hide_default_value_set() && !default.is_empty() {
        groups.push(format!("[default: {}]", default.join(" ")));
    }
    // Values with help texts of their own are a list, which clap makes.
    let hides_values = argument.is_hide_possible_values_set();
    let values = argument.get_possible_values();
    let names: Vec<&str> =
        values.iter().filter(|value| !value.is_hide_set()).map(|value| value.get_name()).collect();
    if takes_value && !hides_values && !is_list && !names.is_empty() {
        groups.push(format!("[possible values: {}]", names.join(", ")));
    }
    let with_groups = |help: &StyledStr| {
        let mut text = help.to_string();
        for group in &groups {
            text.push(' ');
            text.push_str(group);
        }
        bind_groups(&text)
    };
    let help = argument.get_help().map(with_groups);
    let argument = match takes_value {
        true => argument.hide_default_value(true).hide_possible_values(!is_list || hides_values),
        false => argument,
    };
    match help {
        Some(help) => argument.help(help),
        None => argument,
    }
}

fn join_groups(text: &StyledStr) -> String {
    bind_groups(&text.to_string())
}

/// `text` with its groups held together.
fn bind_groups(text: &str) -> String {
    let mut all = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(begin) = rest.find(['[', '(', '\'', '-']) {
        let (before, from) = rest.split_at(begin);
        all.push_str(before);
        let is_begun = all.is_empty() || all.ends_with([' ', HARD_BLANK, '\n', '(', '[']);
        let end = if is_begun { group_length(from) } else { None };
        let length = end.unwrap_or(1);
        let (piece, following) = from.split_at(length);
        match end {
            Some(_) => {
                all.extend(piece.chars().map(|one| if one == ' ' { HARD_BLANK } else { one }))
            }
            None => all.push_str(piece),
        }
        rest = following;
    }
    all + rest
}

/// The length of the group at the start of `text`, if it is one that fits on a line.
fn group_length(text: &str) -> Option<usize> {
    let closed =
        |by: char| text.char_indices().skip(1).find(|(_, one)| *one == by).map(|(at, _)| at + 1);
    let length = match text.chars().next()? {
        '[' => closed(']')?,
        '(' => closed(')')?,
        '\'' => closed('\'')?,
        // A flag, and its value in capitals.
        _ => {
            let flag = text
                .strip_prefix("--")?
                .find(|one: char| !one.is_ascii_lowercase() && one != '-')?
                + 2;
            let value = text[flag..].strip_prefix(' ')?;
            let end = value.find(|one: char| !one.is_ascii_uppercase() && !"=:,".contains(one));
            let end = end.unwrap_or(value.len());
            if end < 2 {
                return None;
            }
            flag + 1 + end
        }
    };
    (length <= MAX_GROUP && !text[..length].contains('\n')).then_some(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lay_out_text(text: &str) -> String {
        bind_groups(text).replace(HARD_BLANK, "_")
    }

    #[test]
    fn groups_stay_together() {
        assert_eq!(lay_out_text("one two [default: 5 s] three"), "one two [default:_5_s] three");
        assert_eq!(lay_out_text("by time (a or b), and"), "by time (a_or_b), and");
        assert_eq!(lay_out_text("what 'sockcap keys new' makes"), "what 'sockcap_keys_new' makes");
        assert_eq!(lay_out_text("given by --flag VALUE too"), "given by --flag_VALUE too");
        assert_eq!(lay_out_text("as without --once, A day"), "as without --once, A day");
        assert_eq!(
            lay_out_text("a host's name, and the other's"),
            "a host's name, and the other's"
        );
        assert_eq!(lay_out_text("(never closed"), "(never closed");
        let long = "(a group that has far more words than there is room for in a line)";
        assert_eq!(lay_out_text(long), long);
    }
}
