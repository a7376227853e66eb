//! memcached's text protocol and its meta commands.

use crate::cursor::{first_line, parse_decimal};
use crate::operation::{MessageRole, OperationSink, ProtocolOperation};
use crate::streams::{ParseStep, UnparsedBytes};

const NAME: &str = "memcached";

/// Maximum length of a key, in bytes.
const KEY_BYTES: usize = 250;

/// Commands, each with its format.
const COMMANDS: &[(&str, CommandFormat)] = &[
    ("get", CommandFormat::Keys(0)),
    ("gets", CommandFormat::Keys(0)),
    ("gat", CommandFormat::Keys(1)),
    ("gats", CommandFormat::Keys(1)),
    ("set", CommandFormat::Stores(4)),
    ("add", CommandFormat::Stores(4)),
    ("replace", CommandFormat::Stores(4)),
    ("append", CommandFormat::Stores(4)),
    ("prepend", CommandFormat::Stores(4)),
    ("cas", CommandFormat::Stores(5)),
    ("delete", CommandFormat::Key(0)),
    ("incr", CommandFormat::Key(1)),
    ("decr", CommandFormat::Key(1)),
    ("touch", CommandFormat::Key(1)),
    ("mg", CommandFormat::Meta),
    ("md", CommandFormat::Meta),
    ("ma", CommandFormat::Meta),
    ("me", CommandFormat::Meta),
    ("ms", CommandFormat::MetaStores),
    ("mn", CommandFormat::Alone),
    ("version", CommandFormat::Alone),
    ("quit", CommandFormat::Alone),
    ("stats", CommandFormat::Words),
    ("flush_all", CommandFormat::Words),
    ("verbosity", CommandFormat::Words),
];

/// Format of the arguments of a command.
#[derive(Clone, Copy, Debug)]
enum CommandFormat {
    /// That many numbers, then keys.
    Keys(usize),
    /// That many words: a key, then numbers. The fourth word is the length of the value that
    /// follows the line.
    Stores(usize),
    /// A key, then that many numbers.
    Key(usize),
    /// A key and flags.
    Meta,
    /// A key, a length and flags, then a value.
    MetaStores,
    /// No argument.
    Alone,
    /// At most three words.
    Words,
}

/// A parsed command line.
#[derive(Debug)]
struct MemcachedCommand {
    name: &'static str,
    /// Length in bytes of the value after the line, including its line end.
    value: u64,
    is_answered: bool,
}

/// Whether the client's bytes begin with a complete command.
pub(super) fn is_command(client: &[u8]) -> bool {
    let Some((line, length)) = first_line(client) else { return false };
    client.get(..length).is_some_and(|line| line.ends_with(b"\r\n"))
        && parse_command(line).is_some()
}

fn parse_command(line: &[u8]) -> Option<MemcachedCommand> {
    let mut words = line.split(|byte| *byte == b' ').filter(|word| !word.is_empty());
    let first = words.next()?;
    let (name, format) = COMMANDS.iter().find(|(name, _)| name.as_bytes() == first)?;
    let words: Vec<&[u8]> = words.collect();
    let is_key = |word: &&[u8]| word.len() <= KEY_BYTES && word.iter().all(|byte| *byte > b' ');
    let is_answered = words.last() != Some(&b"noreply".as_slice());
    let words = words.get(..words.len() - usize::from(!is_answered))?;
    let number = |at: usize| parse_decimal(words.get(at)?);
    // Times may be negative.
    let is_number = |word: &&[u8]| parse_decimal(word.strip_prefix(b"-").unwrap_or(word)).is_some();
    let mut value = 0;
    let fits = match *format {
        CommandFormat::Keys(numbers) => {
            words.len() > numbers
                && words.iter().all(is_key)
                && words.iter().take(numbers).all(is_number)
        }
        CommandFormat::Stores(count) => {
            value = number(3)?.saturating_add(2);
            words.len() == count
                && words.first().is_some_and(is_key)
                && words.iter().skip(1).all(is_number)
        }
        CommandFormat::Key(numbers) => {
            words.first().is_some_and(is_key)
                && words.len() <= numbers + 1
                && words.len() > numbers
                && words.iter().skip(1).all(is_number)
        }
        CommandFormat::Meta => {
            words.first().is_some_and(is_key) && words.iter().skip(1).all(is_flag)
        }
        CommandFormat::MetaStores => {
            value = number(1)?.saturating_add(2);
            words.iter().skip(2).all(is_flag)
        }
        CommandFormat::Alone => words.is_empty(),
        CommandFormat::Words => words.len() <= 3,
    };
    fits.then_some(MemcachedCommand { name, value, is_answered: is_answered && *name != "quit" })
}

/// Whether a word is a flag of a meta command: a letter, for some flags with a value.
fn is_flag(word: &&[u8]) -> bool {
    word.first().is_some_and(u8::is_ascii_alphabetic) && word.len() <= 40
}

/// Parses a command of the client.
pub(super) fn parse_request(
    unparsed: &UnparsedBytes<'_>,
    out: &mut OperationSink<'_>,
) -> ParseStep {
    let Some((line, length)) = first_line(unparsed.bytes) else {
        return unparsed.wait_or_give_up();
    };
    let Some(command) = parse_command(line) else { return ParseStep::Lost };
    let role = if command.is_answered { MessageRole::Request } else { MessageRole::OneWay };
    out.push(ProtocolOperation::new(unparsed.position_at(0), role, NAME).with_name(command.name));
    ParseStep::Skip(command.value.saturating_add(length as u64))
}

/// State of the server's response.
#[derive(Debug, Default)]
pub(super) struct TextResponse {
    /// Whether a response of several lines continues until END.
    goes_on: bool,
}

/// Words that are responses by themselves.
const ANSWERS: &[&str] = &[
    "STORED",
    "NOT_STORED",
    "EXISTS",
    "NOT_FOUND",
    "DELETED",
    "TOUCHED",
    "OK",
    "ERROR",
    "CLIENT_ERROR",
    "SERVER_ERROR",
    "VERSION",
    "END",
    "RESET",
    "HD",
    "EN",
    "NF",
    "NS",
    "EX",
    "MN",
    "ME",
];

impl TextResponse {
    /// Whether a response of several lines continues.
    pub(super) fn continues_value(&self) -> bool {
        self.goes_on
    }

    /// Parses a line of the server.
    pub(super) fn parse_response_line(
        &mut self,
        unparsed: &UnparsedBytes<'_>,
        out: &mut OperationSink<'_>,
    ) -> ParseStep {
        let Some((line, length)) = first_line(unparsed.bytes) else {
            return unparsed.wait_or_give_up();
        };
        let mut words = line.split(|byte| *byte == b' ');
        let word = words.next().unwrap_or_default();
        let response = ProtocolOperation::new(unparsed.position_at(0), MessageRole::Response, NAME);
        let mut value = 0;
        match word {
            b"VALUE" => {
                let Some(bytes) = words.nth(2).and_then(parse_decimal) else {
                    return ParseStep::Lost;
                };
                value = bytes.saturating_add(2);
                if !std::mem::replace(&mut self.goes_on, true) {
                    out.push(response.with_status("VALUE", false));
                }
            }
            b"STAT" => {
                if !std::mem::replace(&mut self.goes_on, true) {
                    out.push(response.with_status("STAT", false));
                }
            }
            b"END" if self.goes_on => self.goes_on = false,
            b"VA" => {
                let Some(bytes) = words.next().and_then(parse_decimal) else {
                    return ParseStep::Lost;
                };
                value = bytes.saturating_add(2);
                out.push(response.with_status("VA", false));
            }
            word if parse_decimal(word).is_some() => out.push(response),
            word => {
                let known = ANSWERS.iter().find(|answer| answer.as_bytes() == word);
                let Some(answer) = known else { return ParseStep::Lost };
                self.goes_on = false;
                out.push(
                    response.with_status(*answer, matches!(*answer, "ERROR" | "SERVER_ERROR")),
                );
            }
        }
        ParseStep::Skip(value.saturating_add(length as u64))
    }
}
