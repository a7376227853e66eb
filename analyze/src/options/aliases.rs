//! Aliases: a file of the user, one rule per line, which names addresses, hosts, commands and
//! endpoints, and assigns roles to nodes.
//!
//! ```text
//! # what  which            = name
//! address 10.0.0.5         = web1      # an address, a net (10.1.0.0/16), or a pattern (10.0.*)
//! host    ip-10-0-0-7      = db
//! command java             = shop
//! endpoint 10.0.0.9:443    = "front end"
//! role    web*             = web       # what nodes of these names do, for patterns by roles
//! ```
//!
//! In patterns, `*` stands for any characters and `?` for one. A value with a space at its ends, a
//! `=`, a `#` or a quote is quoted, and `\"` and `\\` in it are a quote and a backslash. Of several
//! matching rules, the first one applies.

mod rule;

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use message_trace::{DataPath, PathError};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use rule::{AliasRule, RuleSubject, parse_rule};

/// The rules of a file of aliases.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Stored", into = "Stored")]
pub struct Aliases {
    /// The file, if the user named one instead of the data directory's own.
    pub named: Option<PathBuf>,
    rules: Vec<AliasRule>,
    /// The rules with a literal text, by that text; a rule is its index in `rules`.
    exact: FxHashMap<(RuleSubject, String), usize>,
    /// All other rules.
    patterns: Vec<usize>,
}

/// The form in `analysis.json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Stored {
    named: Option<PathBuf>,
    rules: Vec<String>,
}

/// Error in a file of aliases.
#[derive(Debug, thiserror::Error)]
pub enum AliasError {
    /// The file cannot be read.
    #[error(transparent)]
    File(#[from] PathError),
    /// A line is not a rule.
    #[error("{file}:{line}: {why}", file = file.display())]
    Line {
        /// The file.
        file: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong with the line, and what to do.
        why: String,
    },
}

impl Aliases {
    /// Reads the rules in `file`.
    ///
    /// # Errors
    /// If the file cannot be read, or a line is not a rule.
    pub fn read(file: impl Into<DataPath>) -> Result<Aliases, AliasError> {
        let file = &file.into();
        let text = file.read_named().map_err(|source| PathError::io(file, source))?;
        let mut aliases = Aliases::default();
        let mut lines = FxHashMap::default();
        // A byte order mark that another system's editor may have written.
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&text);
        for (number, line) in (1..).zip(text.split(|byte| *byte == b'\n')) {
            let wrong = |why: String| AliasError::Line {
                file: file.as_path().to_owned(),
                line: number,
                why,
            };
            let line = std::str::from_utf8(line).map_err(|_| wrong("not UTF-8 text".to_owned()))?;
            let Some(rule) = parse_rule(line).map_err(wrong)? else { continue };
            let key = (rule.what, rule.which.clone());
            if let Some(earlier) = lines.insert(key, number) {
                let why = format!(
                    "{} '{}' already has a name from line {earlier}; remove one",
                    rule.what.keyword(),
                    rule.which
                );
                return Err(wrong(why));
            }
            aliases.add_rule(rule);
        }
        Ok(aliases)
    }

    /// Returns these rules with their source set to `file`, which the user named.
    pub fn with_source(self, file: PathBuf) -> Aliases {
        Aliases { named: Some(file), ..self }
    }

    fn add_rule(&mut self, rule: AliasRule) {
        let place = self.rules.len();
        if rule.net.is_none() && !rule.which.contains(['*', '?']) {
            self.exact.insert((rule.what, rule.which.clone()), place);
        } else {
            self.patterns.push(place);
        }
        self.rules.push(rule);
    }

    /// Returns whether there is no rule.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// The user's name of `address`.
    pub fn address(&self, address: IpAddr) -> Option<&str> {
        let address = address.to_canonical();
        self.find_rule(RuleSubject::Address, &address.to_string(), Some(address))
    }

    /// The user's name of `host`.
    pub fn host(&self, host: &str) -> Option<&str> {
        self.find_rule(RuleSubject::Host, host, None)
    }

    /// The user's name of `command`.
    pub fn command(&self, command: &str) -> Option<&str> {
        self.find_rule(RuleSubject::Command, command, None)
    }

    /// The user's name of the node at `endpoint`.
    pub fn endpoint(&self, endpoint: &str) -> Option<&str> {
        self.find_rule(RuleSubject::Endpoint, endpoint, None)
    }

    /// The role of the node called `name`.
    pub(crate) fn role(&self, name: &str) -> Option<&str> {
        self.find_rule(RuleSubject::Role, name, None)
    }

    /// Returns whether any rule assigns this role.
    pub(crate) fn has_role(&self, role: &str) -> bool {
        self.rules.iter().any(|rule| rule.what == RuleSubject::Role && rule.name == role)
    }

    /// Name of `endpoint` in a table of messages: the name of the node there, or else the name of
    /// the address, with the port.
    pub fn endpoint_text(&self, endpoint: &str) -> Option<String> {
        if let Some(name) = self.endpoint(endpoint) {
            return Some(name.to_owned());
        }
        let address: SocketAddr = endpoint.parse().ok()?;
        self.address(address.ip()).map(|name| format!("{name}:{}", address.port()))
    }

    /// Returns whether any endpoint has a name.
    pub(crate) fn has_endpoints(&self) -> bool {
        self.rules.iter().any(|rule| rule.what == RuleSubject::Endpoint)
    }

    fn find_rule(&self, what: RuleSubject, text: &str, address: Option<IpAddr>) -> Option<&str> {
        if self.rules.is_empty() {
            return None;
        }
        let exact = self.exact.get(&(what, text.to_owned())).copied();
        let fits = |place: usize| {
            let rule = &self.rules[place];
            rule.what == what
                && match (rule.net, address) {
                    (Some(net), Some(address)) => is_within(address, net),
                    _ => matches_pattern(&rule.which, text),
                }
        };
        let pattern = self.patterns.iter().copied().find(|place| fits(*place));
        let first = exact.into_iter().chain(pattern).min()?;
        Some(&self.rules[first].name)
    }
}

fn is_within(address: IpAddr, (net, length): (IpAddr, u8)) -> bool {
    let bits = |address: IpAddr| match address {
        IpAddr::V4(address) => u128::from(u32::from(address)) << 96,
        IpAddr::V6(address) => u128::from(address),
    };
    // A shift by all 128 bits fails: a net of length 0 contains every address.
    let mask = u128::MAX.checked_shl(128 - u32::from(length)).unwrap_or(0);
    address.is_ipv4() == net.is_ipv4() && (bits(address) ^ bits(net)) & mask == 0
}

/// Returns whether `text` matches `pattern`, in which `*` stands for any characters and `?` for
/// one.
fn matches_pattern(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), text.chars().collect());
    let (mut p, mut t) = (0, 0);
    // The position of the last star, and the end of the text that it matches.
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        if pattern.get(p) == Some(&'*') {
            star = Some((p, t));
            p += 1;
        } else if pattern.get(p).is_some_and(|c| *c == '?' || *c == text[t]) {
            (p, t) = (p + 1, t + 1);
        } else if let Some((at, taken)) = star {
            star = Some((at, taken + 1));
            (p, t) = (at + 1, taken + 1);
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

impl From<Aliases> for Stored {
    fn from(aliases: Aliases) -> Stored {
        Stored {
            named: aliases.named,
            rules: aliases.rules.iter().map(AliasRule::to_string).collect(),
        }
    }
}

impl TryFrom<Stored> for Aliases {
    type Error = String;

    fn try_from(stored: Stored) -> Result<Aliases, String> {
        let mut aliases = Aliases { named: stored.named, ..Aliases::default() };
        for rule in &stored.rules {
            aliases.add_rule(rule.parse()?);
        }
        Ok(aliases)
    }
}

#[cfg(test)]
#[path = "aliases_tests.rs"]
mod tests;
