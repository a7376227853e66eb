//! The text protocol and its meta commands.

use crate::cursor::{decimal, line};
use crate::operation::{Operation, Out, Role};
use crate::streams::{Heard, Step};

const NAME: &str = "memcached";

/// Length of a key that the server takes, in bytes.
const KEY_BYTES: usize = 250;

/// Commands, each with the form of its line.
const COMMANDS: &[(&str, Form)] = &[
    ("get", Form::Keys(0)),
    ("gets", Form::Keys(0)),
    ("gat", Form::Keys(1)),
    ("gats", Form::Keys(1)),
    ("set", Form::Stores(4)),
    ("add", Form::Stores(4)),
    ("replace", Form::Stores(4)),
    ("append", Form::Stores(4)),
    ("prepend", Form::Stores(4)),
    ("cas", Form::Stores(5)),
    ("delete", Form::Key(0)),
    ("incr", Form::Key(1)),
    ("decr", Form::Key(1)),
    ("touch", Form::Key(1)),
    ("mg", Form::Meta),
    ("md", Form::Meta),
    ("ma", Form::Meta),
    ("me", Form::Meta),
    ("ms", Form::MetaStores),
    ("mn", Form::Alone),
    ("version", Form::Alone),
    ("quit", Form::Alone),
    ("stats", Form::Words),
    ("flush_all", Form::Words),
    ("verbosity", Form::Words),
];

/// What is behind a command's name.
#[derive(Clone, Copy, Debug)]
enum Form {
    /// Numbers, then keys.
    Keys(usize),
    /// A key and numbers, the fourth word a length, then a value of that length.
    Stores(usize),
    /// A key and numbers.
    Key(usize),
    /// A key and flags.
    Meta,
    /// A key, a length and flags, then a value.
    MetaStores,
    Alone,
    Words,
}

/// A command's line.
#[derive(Debug)]
struct Command {
    name: &'static str,
    /// Length of the value behind the line, with its end.
    value: u64,
    is_answered: bool,
}

/// Whether the client's bytes begin with a whole command.
pub(super) fn is_command(client: &[u8]) -> bool {
    let Some((line, length)) = line(client) else { return false };
    client.get(..length).is_some_and(|line| line.ends_with(b"\r\n")) && command(line).is_some()
}

fn command(line: &[u8]) -> Option<Command> {
    let mut words = line.split(|byte| *byte == b' ').filter(|word| !word.is_empty());
    let first = words.next()?;
    let (name, form) = COMMANDS.iter().find(|(name, _)| name.as_bytes() == first)?;
    let words: Vec<&[u8]> = words.collect();
    let is_key = |word: &&[u8]| word.len() <= KEY_BYTES && word.iter().all(|byte| *byte > b' ');
    let is_answered = words.last() != Some(&b"noreply".as_slice());
    let words = words.get(..words.len() - usize::from(!is_answered))?;
    let number = |at: usize| decimal(words.get(at)?);
    // Times may be negative.
    let is_number = |word: &&[u8]| decimal(word.strip_prefix(b"-").unwrap_or(word)).is_some();
    let mut value = 0;
    let fits = match *form {
        Form::Keys(numbers) => {
            words.len() > numbers
                && words.iter().all(is_key)
                && words.iter().take(numbers).all(is_number)
        }
        Form::Stores(count) => {
            value = number(3)?.saturating_add(2);
            words.len() == count
                && words.first().is_some_and(is_key)
                && words.iter().skip(1).all(is_number)
        }
        Form::Key(numbers) => {
            words.first().is_some_and(is_key)
                && words.len() <= numbers + 1
                && words.len() > numbers
                && words.iter().skip(1).all(is_number)
        }
        Form::Meta => words.first().is_some_and(is_key) && words.iter().skip(1).all(is_flag),
        Form::MetaStores => {
            value = number(1)?.saturating_add(2);
            words.iter().skip(2).all(is_flag)
        }
        Form::Alone => words.is_empty(),
        Form::Words => words.len() <= 3,
    };
    fits.then_some(Command { name, value, is_answered: is_answered && *name != "quit" })
}

/// A flag of a meta command: a letter, and for some a value behind it.
fn is_flag(word: &&[u8]) -> bool {
    word.first().is_some_and(u8::is_ascii_alphabetic) && word.len() <= 40
}

/// A command of the client.
pub(super) fn asks(heard: &Heard<'_>, out: &mut Out<'_>) -> Step {
    let Some((line, length)) = line(heard.bytes) else { return heard.more() };
    let Some(command) = command(line) else { return Step::Lost };
    let role = if command.is_answered { Role::Request } else { Role::OneWay };
    out.push(Operation::new(heard.place(0), role, NAME).named(command.name));
    Step::Skip(command.value.saturating_add(length as u64))
}

/// What the server is saying.
#[derive(Debug, Default)]
pub(super) struct Text {
    /// An answer of several lines goes on until END.
    goes_on: bool,
}

/// Words that are answers of their own.
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

impl Text {
    /// Whether an answer of several lines goes on.
    pub(super) fn goes_on(&self) -> bool {
        self.goes_on
    }

    /// A line of the server.
    pub(super) fn answers(&mut self, heard: &Heard<'_>, out: &mut Out<'_>) -> Step {
        let Some((line, length)) = line(heard.bytes) else { return heard.more() };
        let mut words = line.split(|byte| *byte == b' ');
        let word = words.next().unwrap_or_default();
        let response = Operation::new(heard.place(0), Role::Response, NAME);
        let mut value = 0;
        match word {
            b"VALUE" => {
                let Some(bytes) = words.nth(2).and_then(decimal) else { return Step::Lost };
                value = bytes.saturating_add(2);
                if !std::mem::replace(&mut self.goes_on, true) {
                    out.push(response.ended("VALUE", false));
                }
            }
            b"STAT" => {
                if !std::mem::replace(&mut self.goes_on, true) {
                    out.push(response.ended("STAT", false));
                }
            }
            b"END" if self.goes_on => self.goes_on = false,
            b"VA" => {
                let Some(bytes) = words.next().and_then(decimal) else { return Step::Lost };
                value = bytes.saturating_add(2);
                out.push(response.ended("VA", false));
            }
            word if decimal(word).is_some() => out.push(response),
            word => {
                let known = ANSWERS.iter().find(|answer| answer.as_bytes() == word);
                let Some(answer) = known else { return Step::Lost };
                self.goes_on = false;
                out.push(response.ended(*answer, matches!(*answer, "ERROR" | "SERVER_ERROR")));
            }
        }
        Step::Skip(value.saturating_add(length as u64))
    }
}
