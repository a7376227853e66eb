//! The arguments that select the paths of a report.

use clap::Args;

use super::completion_candidates::{node_candidates, operation_candidates, pattern_candidates};
use super::values::{TraceMoment, parse_moment, parse_share};

/// Which paths are shown.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Filters")]
pub(crate) struct FilterArguments {
    /// Only patterns with a node that contains this in its name, at either end of a hop; if given
    /// several times, the pattern must contain all of them
    #[arg(long, value_name = "NAME", value_parser = clap::builder::NonEmptyStringValueParser::new(), add = node_candidates())]
    pub(crate) through: Vec<String>,
    /// Only patterns with a message of exactly this operation, such as 'GET /cart/{}'; if given
    /// several times, the pattern must contain all of them (recorded with --protocols)
    #[arg(long, value_name = "NAME", value_parser = clap::builder::NonEmptyStringValueParser::new(), add = operation_candidates())]
    pub(crate) operation: Vec<String>,
    /// Only the pattern with this number in the report, #N; may be given several times
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(0..), add = pattern_candidates())]
    pub(crate) pattern: Vec<i64>,
    /// Only the pattern with this number in the report, #N, and its family: patterns with the same
    /// hops in other numbers or orders, which the report shows as one line
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(0..))]
    pub(crate) alike: Vec<i64>,
    /// Only paths that begin at this time or later: seconds since the start of the trace (12.5), a
    /// time span since then (200ms, 1m30s), or a time of day (2026-11-22T15:04:05Z)
    #[arg(long, value_name = "TIME", value_parser = parse_moment)]
    pub(crate) from: Option<TraceMoment>,
    /// Only paths that begin before this time, in the format of --from
    #[arg(long, value_name = "TIME", value_parser = parse_moment)]
    pub(crate) to: Option<TraceMoment>,
    /// Only path instances with at least this probability, from 0 to 1
    #[arg(long, value_name = "P", value_parser = parse_share)]
    pub(crate) min_confidence: Option<f64>,
    /// Only path instances with a response that reports an error of its sender (recorded with
    /// --protocols)
    #[arg(long)]
    pub(crate) errors: bool,
}

impl FilterArguments {
    /// Whether no filter is given.
    pub(crate) fn is_empty(&self) -> bool {
        let FilterArguments {
            through,
            operation,
            pattern,
            alike,
            from,
            to,
            min_confidence,
            errors,
        } = self;
        let no_names = [through, operation].into_iter().all(Vec::is_empty);
        let no_numbers = [pattern, alike].into_iter().all(Vec::is_empty);
        let no_times = from.is_none() && to.is_none();
        no_names && no_numbers && no_times && min_confidence.is_none() && !errors
    }
}
