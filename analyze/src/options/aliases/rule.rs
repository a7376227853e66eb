//! Parsing of one rule of a file of aliases. An error states what is wrong with the line and what
//! to do.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

const RULE_SYNTAX: &str = "a rule is: address|host|command|endpoint|role WHICH = NAME";

/// What a rule gives a name to: the first word of its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum RuleSubject {
    Address,
    Host,
    Command,
    Endpoint,
    Role,
}

impl RuleSubject {
    const ALL: [RuleSubject; 5] = [
        RuleSubject::Address,
        RuleSubject::Host,
        RuleSubject::Command,
        RuleSubject::Endpoint,
        RuleSubject::Role,
    ];

    /// The first word of a rule.
    pub(crate) fn keyword(self) -> &'static str {
        match self {
            RuleSubject::Address => "address",
            RuleSubject::Host => "host",
            RuleSubject::Command => "command",
            RuleSubject::Endpoint => "endpoint",
            RuleSubject::Role => "role",
        }
    }
}

/// A rule.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AliasRule {
    pub(crate) what: RuleSubject,
    /// The text or the pattern.
    pub(crate) which: String,
    /// The net, if the rule is for one: its address and the length of its prefix in bits.
    pub(crate) net: Option<(IpAddr, u8)>,
    pub(crate) name: String,
}

/// Parses the rule of a line; `None` for an empty line and a comment.
pub(crate) fn parse_rule(line: &str) -> Result<Option<AliasRule>, String> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return Ok(None);
    }
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let what = RuleSubject::ALL.into_iter().find(|what| what.keyword() == word);
    let what = what
        .ok_or_else(|| format!("unknown kind of rule '{}'; {RULE_SYNTAX}", word.escape_debug()))?;
    let (which, rest) = parse_value(rest, '=')?;
    let Some(rest) = rest.strip_prefix('=') else {
        return Err(format!("missing '='; {RULE_SYNTAX}"));
    };
    let (name, rest) = parse_value(rest, '#')?;
    if !rest.is_empty() && !rest.starts_with('#') {
        return Err(format!(
            "unexpected '{}' after the name; put names with spaces or signs in quotes",
            rest.escape_debug()
        ));
    }
    if which.is_empty() || name.is_empty() {
        return Err(format!(
            "nothing {} the '='; {RULE_SYNTAX}",
            if which.is_empty() { "before" } else { "after" }
        ));
    }
    if name.chars().any(char::is_control) || name.chars().count() > 200 {
        return Err("a name has at most 200 printable characters".to_owned());
    }
    let (which, net) =
        if what == RuleSubject::Address { parse_address(&which)? } else { (which, None) };
    Ok(Some(AliasRule { what, which, net, name }))
}

/// Parses the value at the beginning of `text`, which is quoted or ends before the character `end`
/// or a comment. Returns the value and the text after it.
fn parse_value(text: &str, end: char) -> Result<(String, &str), String> {
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
                _ => {
                    return Err(
                        "in quotes, a backslash may only precede a quote or a backslash".to_owned()
                    );
                }
            },
            other => value.push(other),
        }
    }
    Err("a quote is not closed".to_owned())
}

/// Parses an address, a net, or a pattern. Returns its normal form and, for a net, its address and
/// the length of its prefix in bits.
fn parse_address(which: &str) -> Result<(String, Option<(IpAddr, u8)>), String> {
    if let Ok(address) = which.parse::<IpAddr>() {
        return Ok((address.to_canonical().to_string(), None));
    }
    if let Some((net, length)) = which.split_once('/') {
        let net = net.parse::<IpAddr>().ok();
        let length = length.parse::<u8>().ok();
        let most = |net: IpAddr| if net.is_ipv4() { 32 } else { 128 };
        return match (net, length) {
            (Some(net), Some(length)) if length <= most(net) => {
                Ok((which.to_owned(), Some((net, length))))
            }
            _ => Err(format!(
                "'{}' is not a network; write it like 10.1.0.0/16 or fd00::/8",
                which.escape_debug()
            )),
        };
    }
    let is_pattern = which.contains(['*', '?'])
        && which.chars().all(|c| c.is_ascii_hexdigit() || ".:*?".contains(c));
    if is_pattern {
        return Ok((which.to_owned(), None));
    }
    let which = which.escape_debug();
    Err(format!(
        "'{which}' is not an address; write it like 10.0.0.5, fd00::5, 10.1.0.0/16 or 10.1.*, without a port"
    ))
}

impl fmt::Display for AliasRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quoted =
            |text: &str| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
        write!(f, "{} {} = {}", self.what.keyword(), quoted(&self.which), quoted(&self.name))
    }
}

impl FromStr for AliasRule {
    type Err = String;

    fn from_str(text: &str) -> Result<AliasRule, String> {
        parse_rule(text)?.ok_or_else(|| format!("not a rule; {RULE_SYNTAX}"))
    }
}
