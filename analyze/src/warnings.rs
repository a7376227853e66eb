//! Warnings about an analysis as a whole, for the first lines of an output: services with calls
//! that do not match the requests that they received, and connections on which several calls are
//! open at a time.

use std::collections::BTreeMap;

use crate::tuning::calls::warnings::{MIN_CALLS, MIN_SHARE};
use serde::{Deserialize, Serialize};

/// A statement that paths through a service or a connection should not be trusted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PathWarning {
    /// The reason.
    pub cause: WarningCause,
    /// The service, or the two ends of the connections.
    pub what: String,
    /// Number of calls concerned.
    pub calls: u64,
    /// Number of all calls.
    pub of: u64,
}

/// Reasons of warnings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WarningCause {
    /// Calls of a service were made while no request was open that lasted as long as they did.
    FitsNoRequest,
    /// Calls were open at the same time on one connection, and nothing shows which response belongs
    /// to which request.
    SharedConnection,
    /// Threads received the response of a call and then answered another request than the one to
    /// which the call was assigned.
    AnsweredOtherwise,
    /// Calls of a service were assigned to requests that are hardly likelier than others.
    Guessed,
}

impl PathWarning {
    /// Returns the text that follows the number of calls.
    pub fn warning_text(&self) -> String {
        let share = (100.0 * self.calls as f64 / self.of.max(1) as f64).round();
        match self.cause {
            WarningCause::FitsNoRequest => format!(
                "calls of {} ({share}% of them) fit no request: do not trust paths through it",
                self.what
            ),
            WarningCause::AnsweredOtherwise => format!(
                "calls of {} ({share}% of those checked) are assigned to other requests than \
                 their threads answered: do not trust paths through it",
                self.what
            ),
            WarningCause::Guessed => format!(
                "calls of {} ({share}% of them) are assigned to requests by a guess: many requests \
                 wait at a time, and nothing shows which is served next",
                self.what
            ),
            WarningCause::SharedConnection => format!(
                "calls {} ({share}% of them) share a connection with concurrent calls: which \
                 response belongs to which call is a guess",
                self.what
            ),
        }
    }
}

/// Collects warnings over all batches of a trace.
#[derive(Debug, Default)]
pub(crate) struct WarningCounts(BTreeMap<(WarningCause, String), [u64; 2]>);

impl WarningCounts {
    /// Adds `calls` with this warning, out of `of` calls.
    pub(crate) fn add_calls(&mut self, cause: WarningCause, what: &str, calls: u64, of: u64) {
        let [all_calls, all] = self.0.entry((cause, what.to_owned())).or_default();
        *all_calls += calls;
        *all += of;
    }

    /// Returns the warnings that are worth reporting, by the number of calls.
    pub(crate) fn significant_warnings(&self) -> Vec<PathWarning> {
        let warnings = self.0.iter().map(|((cause, what), [calls, of])| PathWarning {
            cause: *cause,
            what: what.clone(),
            calls: *calls,
            of: *of,
        });
        let mut significant: Vec<PathWarning> =
            warnings.filter(|warning| is_significant(warning.calls, warning.of)).collect();
        significant.sort_by_key(|warning| std::cmp::Reverse(warning.calls));
        significant
    }
}

/// Returns whether this share of all calls is enough to be reported.
pub(crate) fn is_significant(calls: u64, of: u64) -> bool {
    calls >= MIN_CALLS && calls as f64 >= MIN_SHARE * of as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_warnings_about_many_calls_are_reported() {
        let mut warnings = WarningCounts::default();
        warnings.add_calls(WarningCause::FitsNoRequest, "php-fpm", 50, 51);
        warnings.add_calls(WarningCause::FitsNoRequest, "php-fpm", 48, 49);
        warnings.add_calls(WarningCause::FitsNoRequest, "nginx", 3, 900);
        warnings.add_calls(WarningCause::SharedConnection, "front → back", 300, 400);
        let words: Vec<String> =
            warnings.significant_warnings().iter().map(PathWarning::warning_text).collect();
        assert_eq!(
            words,
            [
                "calls front → back (75% of them) share a connection with concurrent calls: which \
                 response belongs to which call is a guess",
                "calls of php-fpm (98% of them) fit no request: do not trust paths through it",
            ]
        );
    }
}
