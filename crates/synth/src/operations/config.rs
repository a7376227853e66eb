//! Configuration of traces of operations, as written in TOML.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::delay::{DelayDistribution, parse_span};
use crate::error::Error;
use crate::maketrace::ConfigChanges;
use crate::tuning::MAX_EXECUTIONS;

/// The configurations included in the program: names and texts.
pub const SHIPPED: [(&str, &str); 1] =
    [("operations", include_str!("../../configs/operations.toml"))];

/// The included configuration with the name `name`, if there is one.
///
/// # Errors
/// When the configuration is malformed, which a test rules out.
pub fn shipped_config(name: &str) -> Option<Result<OperationsConfig, Error>> {
    let (name, text) = SHIPPED.into_iter().find(|(known, _)| *known == name)?;
    OperationsConfig::parse(Path::new(name), text).transpose()
}

/// Configuration of traces of operations.
#[derive(Clone, Debug, PartialEq)]
pub struct OperationsConfig {
    /// Seed: the same configuration always makes the same requests.
    pub seed: u64,
    /// Number of requests.
    pub requests: u64,
    /// Number of executions; `None` for as many as the classes result in.
    pub executions: Option<u64>,
    /// Number of operations.
    pub operations: usize,
    /// Number of caller-contexts: operations with the operation that calls them.
    pub caller_contexts: usize,
    /// Number of stack-contexts: paths of operations from an entry down to an operation.
    pub stack_contexts: usize,
    /// Number of trace-contexts: positions in the trees of calls of all classes of traces.
    pub trace_contexts: usize,
    /// Number of operations that begin traces.
    pub entries: usize,
    /// Time from the start of one request to the start of the next.
    pub gap: DelayDistribution,
    /// Median of an operation's own time in nanoseconds.
    pub own: i64,
    /// Standard deviation of the logarithms of the operations' own times.
    pub spread: f64,
    /// Standard deviation of the logarithm of an execution's own time in its context.
    pub noise: f64,
    /// Standard deviation of the logarithms of the factors by which callers change own times.
    pub by_caller: f64,
    /// Standard deviation of the logarithms of the factors by which stacks change own times.
    pub by_stack: f64,
    /// Standard deviation of the logarithms of the factors by which positions in classes change own
    /// times.
    pub by_trace: f64,
    /// The file from which the configuration was read.
    pub path: PathBuf,
}

/// A file with a configuration of traces of operations.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ConfigFile {
    operations: WrittenConfig,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenConfig {
    #[serde(default = "one")]
    seed: u64,
    requests: u64,
    executions: Option<u64>,
    operations: usize,
    caller_contexts: usize,
    stack_contexts: usize,
    trace_contexts: usize,
    #[serde(default = "one_entry")]
    entries: usize,
    #[serde(default)]
    gap: DelayDistribution,
    own: String,
    #[serde(default)]
    spread: f64,
    #[serde(default)]
    noise: f64,
    #[serde(default)]
    by_caller: f64,
    #[serde(default)]
    by_stack: f64,
    #[serde(default)]
    by_trace: f64,
}

fn one() -> u64 {
    1
}

fn one_entry() -> usize {
    1
}

impl OperationsConfig {
    /// Parses `text`, which errors call `path`; `None` if it is of another kind, without
    /// `[operations]`.
    ///
    /// # Errors
    /// When the configuration is inconsistent.
    pub fn parse(path: &Path, text: &str) -> Result<Option<OperationsConfig>, Error> {
        let malformed = |why: String| Error::malformed(path, why);
        let is_one = toml::from_str::<toml::Table>(text)
            .map_err(|error| malformed(error.to_string()))?
            .contains_key("operations");
        if !is_one {
            return Ok(None);
        }
        let ConfigFile { operations: written } =
            toml::from_str(text).map_err(|error| malformed(error.to_string()))?;
        let config = OperationsConfig {
            seed: written.seed,
            requests: written.requests,
            executions: written.executions,
            operations: written.operations,
            caller_contexts: written.caller_contexts,
            stack_contexts: written.stack_contexts,
            trace_contexts: written.trace_contexts,
            entries: written.entries,
            gap: written.gap,
            own: parse_span(&written.own).map_err(&malformed)?,
            spread: written.spread,
            noise: written.noise,
            by_caller: written.by_caller,
            by_stack: written.by_stack,
            by_trace: written.by_trace,
            path: path.to_owned(),
        };
        config.check_values().map_err(malformed)?;
        Ok(Some(config))
    }

    /// This configuration with changes: another seed, another number of requests, more or less
    /// noise.
    pub fn with_changes(mut self, changes: &ConfigChanges) -> OperationsConfig {
        self.seed = changes.seed.unwrap_or(self.seed);
        self.noise *= changes.deviation.unwrap_or(1.0);
        if let Some(requests) = changes.instances {
            let scaled =
                |all: u64| u128::from(all) * u128::from(requests) / u128::from(self.requests);
            self.executions = self.executions.map(|all| scaled(all) as u64);
            self.requests = requests;
        }
        self
    }

    fn check_values(&self) -> Result<(), String> {
        let OperationsConfig {
            operations, caller_contexts, stack_contexts, trace_contexts, ..
        } = *self;
        let ordered = [self.entries, operations, caller_contexts, stack_contexts, trace_contexts];
        if self.entries == 0 || self.requests == 0 || !ordered.is_sorted() {
            return Err(
                "there must be at least one request and one entry, and no more entries than \
                        operations, operations than caller_contexts, caller_contexts than \
                        stack_contexts, stack_contexts than trace_contexts"
                    .to_owned(),
            );
        }
        if self.executions.unwrap_or(self.requests).max(self.requests) > MAX_EXECUTIONS {
            return Err(format!("it makes more than {MAX_EXECUTIONS} executions; use fewer"));
        }
        let spreads = [self.spread, self.noise, self.by_caller, self.by_stack, self.by_trace];
        match spreads.iter().all(|spread| (0.0..=3.0).contains(spread)) {
            true => Ok(()),
            false => {
                Err("spread, noise, by_caller, by_stack and by_trace are from 0 to 3".to_owned())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn included_configurations_are_valid_and_other_kinds_are_recognised() {
        let config = shipped_config("operations").unwrap().unwrap();
        assert_eq!((config.requests, config.executions), (36_036, Some(2_032_573)));
        let less = config
            .with_changes(&ConfigChanges { instances: Some(3_603), ..ConfigChanges::default() });
        assert_eq!(less.executions, Some(203_223));
        let other = OperationsConfig::parse(Path::new("x"), "[[tracelet]]\nname = 'x'").unwrap();
        assert_eq!(other, None);
    }

    #[test]
    fn inconsistent_configurations_are_refused() {
        let (_, text) = SHIPPED[0];
        for (from, to, why) in [
            ("operations = 199", "operations = 291", "no more entries than operations"),
            ("noise = 1.4", "noise = 4.0", "are from 0 to 3"),
            ("own = \"200us\"", "own = \"soon\"", "not a time span"),
            ("executions = 2032573", "executions = 20325730000", "use fewer"),
            ("entries = 12", "entry = 12", "unknown field `entry`"),
        ] {
            let error =
                OperationsConfig::parse(Path::new("x"), &text.replace(from, to)).unwrap_err();
            assert!(error.to_string().contains(why), "{error}");
        }
    }
}
