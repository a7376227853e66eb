//! The user's names: a file of aliases, a rule a line, says what addresses, hosts, commands and endpoints are called.
//!
//! ```text
//! # what  which            = name
//! address 10.0.0.5         = web1      # an address, a net (10.1.0.0/16), or a pattern (10.0.*)
//! host    ip-10-0-0-7      = db
//! command java             = shop
//! endpoint 10.0.0.9:443    = "front end"
//! ```
//!
//! In patterns, `*` stands for any characters and `?` for one. What has a space at its ends, a `=`, a `#` or a quote in
//! it is put in quotes, in which `\"` and `\\` are a quote and a backslash. Of several rules that fit, the first one
//! counts.

use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// The rules of a file of aliases.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Stored", into = "Stored")]
pub struct Aliases {
    /// The file, where the user named one instead of the data directory's own.
    pub named: Option<PathBuf>,
    rules: Vec<Rule>,
    /// The rules whose pattern is a text, by it; a rule is its place among the rules.
    exact: FxHashMap<(What, String), usize>,
    /// All other rules.
    patterns: Vec<usize>,
}

/// As `analysis.json` has it.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Stored {
    named: Option<PathBuf>,
    rules: Vec<String>,
}

/// What a rule is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum What {
    Address,
    Host,
    Command,
    Endpoint,
}

impl What {
    const ALL: [What; 4] = [What::Address, What::Host, What::Command, What::Endpoint];

    fn word(self) -> &'static str {
        match self {
            What::Address => "address",
            What::Host => "host",
            What::Command => "command",
            What::Endpoint => "endpoint",
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
struct Rule {
    what: What,
    which: String,
    net: Option<(IpAddr, u8)>,
    name: String,
}

/// What is wrong with a file of aliases.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It cannot be read.
    #[error("{file}: {source}", file = file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A line is no rule.
    #[error("{file}:{line}: {why}", file = file.display())]
    Line {
        /// The file.
        file: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong, and what to do.
        why: String,
    },
}

const FORM: &str = "a rule is: address|host|command|endpoint WHICH = NAME";

impl Aliases {
    /// Reads the rules in `file`.
    ///
    /// # Errors
    /// When it cannot be read, or a line is no rule.
    pub fn read(file: &Path) -> Result<Aliases, Error> {
        let text = std::fs::read(file).map_err(|source| Error::Io { file: file.to_owned(), source })?;
        let mut aliases = Aliases::default();
        let mut lines = FxHashMap::default();
        // An editor of another system may have left a mark at the beginning.
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&text);
        for (number, line) in (1..).zip(text.split(|byte| *byte == b'\n')) {
            let wrong = |why: String| Error::Line { file: file.to_owned(), line: number, why };
            let line = std::str::from_utf8(line).map_err(|_| wrong("it is no UTF-8 text".to_owned()))?;
            let Some(rule) = parse(line).map_err(wrong)? else { continue };
            let key = (rule.what, rule.which.clone());
            if let Some(earlier) = lines.insert(key, number) {
                let why = format!(
                    "{} '{}' has a name already, from line {earlier}; remove one",
                    rule.what.word(),
                    rule.which
                );
                return Err(wrong(why));
            }
            aliases.add(rule);
        }
        Ok(aliases)
    }

    /// The same rules, known to be from `file`, which the user named.
    pub fn named(self, file: PathBuf) -> Aliases {
        Aliases { named: Some(file), ..self }
    }

    fn add(&mut self, rule: Rule) {
        let place = self.rules.len();
        if rule.net.is_none() && !rule.which.contains(['*', '?']) {
            self.exact.insert((rule.what, rule.which.clone()), place);
        } else {
            self.patterns.push(place);
        }
        self.rules.push(rule);
    }

    /// Whether there is no rule.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// The name of that address.
    pub fn address(&self, address: IpAddr) -> Option<&str> {
        let address = address.to_canonical();
        self.find(What::Address, &address.to_string(), Some(address))
    }

    /// The name of that host.
    pub fn host(&self, host: &str) -> Option<&str> {
        self.find(What::Host, host, None)
    }

    /// The name of that command.
    pub fn command(&self, command: &str) -> Option<&str> {
        self.find(What::Command, command, None)
    }

    /// The name of whoever is at that endpoint.
    pub fn endpoint(&self, endpoint: &str) -> Option<&str> {
        self.find(What::Endpoint, endpoint, None)
    }

    /// Whether any endpoint has a name.
    pub(super) fn have_endpoints(&self) -> bool {
        self.rules.iter().any(|rule| rule.what == What::Endpoint)
    }

    fn find(&self, what: What, text: &str, address: Option<IpAddr>) -> Option<&str> {
        if self.rules.is_empty() {
            return None;
        }
        let exact = self.exact.get(&(what, text.to_owned())).copied();
        let fits = |place: usize| {
            let rule = &self.rules[place];
            rule.what == what
                && match (rule.net, address) {
                    (Some(net), Some(address)) => is_within(address, net),
                    _ => matches(&rule.which, text),
                }
        };
        let pattern = self.patterns.iter().copied().find(|place| fits(*place));
        let first = exact.into_iter().chain(pattern).min()?;
        Some(&self.rules[first].name)
    }
}

/// The rule of a line; an empty one and a comment have none.
fn parse(line: &str) -> Result<Option<Rule>, String> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return Ok(None);
    }
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let what = What::ALL.into_iter().find(|what| what.word() == word);
    let what = what.ok_or_else(|| format!("'{}' names nothing; {FORM}", word.escape_debug()))?;
    let (which, rest) = value(rest, '=')?;
    let Some(rest) = rest.strip_prefix('=') else { return Err(format!("there is no '='; {FORM}")) };
    let (name, rest) = value(rest, '#')?;
    if !rest.is_empty() && !rest.starts_with('#') {
        return Err(format!(
            "'{}' comes after the name; put names with spaces and signs in quotes",
            rest.escape_debug()
        ));
    }
    if which.is_empty() || name.is_empty() {
        return Err(format!(
            "there is nothing {} the '='; {FORM}",
            if which.is_empty() { "before" } else { "after" }
        ));
    }
    if name.chars().any(char::is_control) || name.chars().count() > 200 {
        return Err("a name has at most 200 characters that can be printed".to_owned());
    }
    let (which, net) = if what == What::Address { address(&which)? } else { (which, None) };
    Ok(Some(Rule { what, which, net, name }))
}

/// The value at the beginning of `text`, quoted or up to `end` or a comment, and what follows it.
fn value(text: &str, end: char) -> Result<(String, &str), String> {
    let text = text.trim_start();
    let Some(quoted) = text.strip_prefix('"') else {
        let place = text.find([end, '#']).unwrap_or(text.len());
        return Ok((text[..place].trim_end().to_owned(), &text[place..]));
    };
    let mut value = String::new();
    let mut characters = quoted.char_indices();
    while let Some((place, character)) = characters.next() {
        match character {
            '"' => return Ok((value, quoted[place + 1..].trim_start())),
            '\\' => match characters.next() {
                Some((_, escaped @ ('"' | '\\'))) => value.push(escaped),
                _ => return Err("in quotes, a backslash comes before a quote or a backslash only".to_owned()),
            },
            other => value.push(other),
        }
    }
    Err("a quote is not closed".to_owned())
}

/// An address as addresses are written, a net, or a pattern.
fn address(which: &str) -> Result<(String, Option<(IpAddr, u8)>), String> {
    if let Ok(address) = which.parse::<IpAddr>() {
        return Ok((address.to_canonical().to_string(), None));
    }
    if let Some((net, length)) = which.split_once('/') {
        let net = net.parse::<IpAddr>().ok();
        let length = length.parse::<u8>().ok();
        let most = |net: IpAddr| if net.is_ipv4() { 32 } else { 128 };
        return match (net, length) {
            (Some(net), Some(length)) if length <= most(net) => Ok((which.to_owned(), Some((net, length)))),
            _ => Err(format!("'{}' is no net; write it like 10.1.0.0/16 or fd00::/8", which.escape_debug())),
        };
    }
    let is_pattern =
        which.contains(['*', '?']) && which.chars().all(|c| c.is_ascii_hexdigit() || ".:*?".contains(c));
    if is_pattern {
        return Ok((which.to_owned(), None));
    }
    let which = which.escape_debug();
    Err(format!(
        "'{which}' is no address; write it like 10.0.0.5, fd00::5, 10.1.0.0/16 or 10.1.*, without a port"
    ))
}

fn is_within(address: IpAddr, (net, length): (IpAddr, u8)) -> bool {
    let bits = |address: IpAddr| match address {
        IpAddr::V4(address) => u128::from(u32::from(address)) << 96,
        IpAddr::V6(address) => u128::from(address),
    };
    // No shift by all 128 bits: a net of length 0 is everything.
    let mask = u128::MAX.checked_shl(128 - u32::from(length)).unwrap_or(0);
    address.is_ipv4() == net.is_ipv4() && (bits(address) ^ bits(net)) & mask == 0
}

/// Whether `text` fits `pattern`, in which `*` stands for any characters and `?` for one.
fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut p, mut t) = (0, 0);
    // Where the last star is, and how much of the text it has taken.
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

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quoted = |text: &str| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
        write!(f, "{} {} = {}", self.what.word(), quoted(&self.which), quoted(&self.name))
    }
}

impl FromStr for Rule {
    type Err = String;

    fn from_str(text: &str) -> Result<Rule, String> {
        parse(text)?.ok_or_else(|| format!("there is no rule; {FORM}"))
    }
}

impl From<Aliases> for Stored {
    fn from(aliases: Aliases) -> Stored {
        Stored { named: aliases.named, rules: aliases.rules.iter().map(Rule::to_string).collect() }
    }
}

impl TryFrom<Stored> for Aliases {
    type Error = String;

    fn try_from(stored: Stored) -> Result<Aliases, String> {
        let mut aliases = Aliases { named: stored.named, ..Aliases::default() };
        for rule in &stored.rules {
            aliases.add(rule.parse()?);
        }
        Ok(aliases)
    }
}

#[cfg(test)]
#[path = "aliases_tests.rs"]
mod tests;
