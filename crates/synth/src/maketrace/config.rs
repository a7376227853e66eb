//! The configuration as written in TOML. Its meaning is checked in [`super::tracelet`], where
//! errors can name the message and the tracelet.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::delay::DelayDistribution;
use crate::error::Error;

/// Configuration of a trace.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceConfig {
    /// Seed of the random delays: the same configuration always makes the same trace.
    #[serde(default = "one")]
    pub seed: u64,
    /// Whether the messages of a call have an id in common.
    #[serde(default = "yes")]
    pub call_ids: bool,
    /// Network delay of a message for which none is given.
    #[serde(default)]
    pub network: DelayDistribution,
    /// Delay of a node before it sends a message for which none is given.
    #[serde(default)]
    pub delay: DelayDistribution,
    /// Delay of a node before it sends a return for which none is given.
    pub return_delay: Option<DelayDistribution>,
    /// Groups of nodes; an invocation takes one node of a group at random. In a tracelet, `GROUP`
    /// is always the same node, and so is `GROUP:x` for each x.
    #[serde(default)]
    pub groups: BTreeMap<String, Vec<String>>,
    /// The tracelets.
    #[serde(rename = "tracelet", default)]
    pub tracelets: Vec<TraceletConfig>,
    /// The file from which the configuration was read.
    #[serde(skip)]
    pub path: PathBuf,
}

/// A tracelet as written in a configuration.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceletConfig {
    /// Name, for errors.
    pub name: String,
    /// Number of sequences that run in parallel.
    #[serde(default = "one")]
    pub parallel: u64,
    /// Number of invocations of each sequence.
    pub instances: u64,
    /// Think time of each sequence before every invocation.
    #[serde(default)]
    pub think: DelayDistribution,
    /// Messages of the tracelet.
    pub messages: Vec<MessageConfig>,
}

/// A message of a tracelet as written in a configuration.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MessageConfig {
    /// Name by which other messages refer to this one.
    pub name: Option<String>,
    /// Sender; a return is sent by the node that was called.
    pub from: Option<String>,
    /// Receiver.
    pub to: Option<String>,
    /// The call that the message returns from.
    pub returns: Option<String>,
    /// Messages that the sender waits for; by default the preceding message.
    pub after: Option<NameList>,
    /// Cause, if it is not the last message that the sender waited for.
    pub cause: Option<String>,
    /// Whether the message has no cause; its time is still relative to the sending of the message
    /// that it comes after.
    pub spontaneous: bool,
    /// Delay of the sender.
    pub delay: Option<DelayDistribution>,
    /// Additional delay of a sender, by the sender's name.
    pub extra: BTreeMap<String, DelayDistribution>,
    /// Network delay of the message.
    pub network: Option<DelayDistribution>,
    /// Size of the message in bytes.
    pub bytes: Option<i64>,
}

/// A name or several.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum NameList {
    /// One.
    One(String),
    /// Several.
    Several(Vec<String>),
}

fn one() -> u64 {
    1
}

fn yes() -> bool {
    true
}

/// Changes of a configuration, so that a series of traces does not need a series of files.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ConfigChanges {
    /// Another seed.
    pub seed: Option<u64>,
    /// Other numbers of instances, the same for all tracelets.
    pub instances: Option<u64>,
    /// Factor for the number of parallel sequences of each tracelet.
    pub parallel: Option<u64>,
    /// Factor for all standard deviations.
    pub deviation: Option<f64>,
}

impl TraceConfig {
    /// Reads the configuration at `path`.
    ///
    /// # Errors
    /// When the file cannot be read, or is not a configuration.
    pub fn read(path: &Path) -> Result<TraceConfig, Error> {
        let text = fs::read_to_string(path).map_err(|error| Error::io(path, error))?;
        TraceConfig::parse(path, &text)
    }

    /// Parses `text`, which errors call `path`.
    ///
    /// # Errors
    /// When `text` is not a configuration.
    pub fn parse(path: &Path, text: &str) -> Result<TraceConfig, Error> {
        let config: TraceConfig =
            toml::from_str(text).map_err(|error| Error::malformed(path, error))?;
        if config.tracelets.is_empty() {
            return Err(Error::malformed(path, "it has no [[tracelet]]; see docs/synth.md"));
        }
        Ok(TraceConfig { path: path.to_owned(), ..config })
    }

    /// This configuration with `changes`.
    pub fn with_changes(mut self, changes: &ConfigChanges) -> TraceConfig {
        self.seed = changes.seed.unwrap_or(self.seed);
        let factor = changes.deviation.unwrap_or(1.0);
        let vary = |delay: &mut DelayDistribution| *delay = delay.scale_deviation(factor);
        vary(&mut self.network);
        vary(&mut self.delay);
        self.return_delay.as_mut().map(vary);
        for tracelet in &mut self.tracelets {
            tracelet.instances = changes.instances.unwrap_or(tracelet.instances);
            tracelet.parallel = tracelet.parallel.saturating_mul(changes.parallel.unwrap_or(1));
            for message in &mut tracelet.messages {
                message.delay.as_mut().map(vary);
                message.network.as_mut().map(vary);
                message.extra.values_mut().for_each(vary);
            }
        }
        self
    }
}
