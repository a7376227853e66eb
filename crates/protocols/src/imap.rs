//! IMAP (RFC 9051): verbs without their arguments, statuses, calls by tags.

use registry::About;

use crate::cursor::{decimal, line};
use crate::opening::{Opening, yes_if};
use crate::operation::{Operation, Out, Role};
use crate::parser::{Next, Parser};
use crate::piece::{Class, Place, Speaker};
use crate::protocol::Protocol;
use crate::remembered::Remembered;
use crate::streams::{Heard, Messages, Step, Streams};
use crate::tuning::{OTHER_MESSAGE_BYTES, WAITING};
use crate::unread::role;

/// The entry of IMAP.
pub(crate) static IMAP: Protocol = Protocol {
    about: About {
        name: "imap",
        summary: "IMAP: verbs without mailboxes and searches, statuses, by tags",
        ..About::NOTHING
    },
    class: Class::Other,
    recognised: "A greeting with `* OK` or `* PREAUTH`, or a tag with a digit and a known verb.",
    recognise: |opening: &Opening| {
        let command = line(opening.client()).and_then(|(line, _)| command(line));
        let greets = greets(opening.server());
        let has_digit = |tag: &[u8]| tag.iter().any(u8::is_ascii_digit);
        yes_if(command.is_some_and(|(tag, _)| opening.server_leads() && greets || has_digit(tag)))
    },
    open,
    #[cfg(test)]
    samples: tests::samples,
};

fn open() -> Box<dyn Parser> {
    Box::new(Streams::new(Imap {
        waiting: Remembered::new(WAITING),
        answer: None,
        has_begun: false,
        is_asked: true,
        continues: false,
        literal: 0,
        asked_for: None,
        may_be_asked_for: None,
        assumed: None,
    }))
}

const NAME: &str = "imap";

/// Commands of RFC 9051 and RFC 3501, and of common extensions.
const VERBS: &[&str] = &[
    "CAPABILITY",
    "NOOP",
    "LOGOUT",
    "STARTTLS",
    "AUTHENTICATE",
    "LOGIN",
    "ENABLE",
    "SELECT",
    "EXAMINE",
    "CREATE",
    "DELETE",
    "RENAME",
    "SUBSCRIBE",
    "UNSUBSCRIBE",
    "LIST",
    "LSUB",
    "NAMESPACE",
    "STATUS",
    "APPEND",
    "IDLE",
    "CLOSE",
    "UNSELECT",
    "EXPUNGE",
    "SEARCH",
    "FETCH",
    "STORE",
    "COPY",
    "MOVE",
    "CHECK",
    "SORT",
    "THREAD",
    "ID",
    "GETQUOTA",
    "GETQUOTAROOT",
    "COMPRESS",
];

/// Words behind `UID`.
const OF_UID: [(&str, &str); 8] = [
    ("FETCH", "UID FETCH"),
    ("STORE", "UID STORE"),
    ("SEARCH", "UID SEARCH"),
    ("COPY", "UID COPY"),
    ("MOVE", "UID MOVE"),
    ("EXPUNGE", "UID EXPUNGE"),
    ("SORT", "UID SORT"),
    ("THREAD", "UID THREAD"),
];

/// Tag and verb of a client's line.
fn command(line: &[u8]) -> Option<(&[u8], &'static str)> {
    let mut words = line.split(|byte| *byte == b' ');
    let tag = words.next().filter(|tag| is_tag(tag))?;
    let word = words.next()?;
    let is = |word: &[u8], name: &str| name.as_bytes().eq_ignore_ascii_case(word);
    if is(word, "UID") {
        let word = words.next()?;
        return OF_UID.iter().find(|(name, _)| is(word, name)).map(|(_, name)| (tag, *name));
    }
    VERBS.iter().find(|name| is(word, name)).map(|name| (tag, *name))
}

/// Whether a server's line greets.
fn greets(line: &[u8]) -> bool {
    [b"* OK".as_slice(), b"* PREAUTH", b"* BYE"].iter().any(|of| line.starts_with(of))
}

fn is_tag(tag: &[u8]) -> bool {
    (1..=24).contains(&tag.len()) && tag.iter().all(|of| of.is_ascii_alphanumeric() || *of == b'.')
}

/// Whether a line begins with a tag like that of the command `call`, but for its number: it is
/// another command, whatever its verb.
fn has_tag_behind(line: &[u8], call: u64) -> bool {
    let tag = line.split(|byte| *byte == b' ').next().unwrap_or_default();
    let letters = |tag: &[u8]| {
        let digits = tag.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
        (digits > 0).then(|| tag[..tag.len() - digits].to_vec())
    };
    let call = call.to_be_bytes();
    let known =
        letters(call.get(call.iter().take_while(|byte| **byte == 0).count()..).unwrap_or(&[]));
    is_tag(tag) && known.is_some() && letters(tag) == known
}

/// A number for a tag: its bytes, of a longer one folded together.
fn number(tag: &[u8]) -> u64 {
    tag.iter().fold(0, |number: u64, byte| number.rotate_left(8) ^ u64::from(*byte))
}

/// Length of the literal behind a line: `{12}` or `{12+}`.
fn literal(line: &[u8]) -> Option<u64> {
    let inner = line.strip_suffix(b"}")?;
    let begin = inner.iter().rposition(|byte| *byte == b'{')? + 1;
    let digits = inner.get(begin..)?;
    decimal(digits.strip_suffix(b"+").unwrap_or(digits))
}

#[derive(Debug)]
struct Imap {
    /// Commands that are not answered, by their tags.
    waiting: Remembered<u64, &'static str>,
    /// Where the server's answer began, and the command that it answers where only one waited.
    answer: Option<(Place, Option<u64>)>,
    /// Something was said.
    has_begun: bool,
    /// The client has said something that was not answered, whatever it was, or may have.
    is_asked: bool,
    /// The client's next line belongs to its command before.
    continues: bool,
    /// Length of a literal that the client sends when the server wants it.
    literal: u64,
    /// The command that the server wants to go on: what the client says next is another request of
    /// that one.
    asked_for: Option<u64>,
    /// The same where what the server said could not be read: what the client says next is that,
    /// unless it is another command.
    may_be_asked_for: Option<u64>,
    /// The command that what the client said was taken for more of. The server's answer tells
    /// whether it was: that of another tag is the answer to it all the same.
    assumed: Option<u64>,
}

impl Messages for Imap {
    const NAME: &'static str = NAME;
    const BOUND: usize = OTHER_MESSAGE_BYTES;

    fn message(&mut self, heard: &Heard<'_>, out: &mut Out<'_>) -> Step {
        let is_client = heard.speaker == Speaker::Client;
        if is_client {
            if self.may_be_asked_for.is_some() {
                let Some((line, _)) = line(heard.bytes) else { return heard.more() };
                let asked_for = self.may_be_asked_for.take();
                if command(line).is_some() || asked_for.is_some_and(|it| has_tag_behind(line, it)) {
                    (self.continues, self.literal) = (false, 0);
                } else {
                    (self.asked_for, self.assumed) = (asked_for, asked_for);
                    // It waits again, whatever it was.
                    asked_for.into_iter().for_each(|call| self.waiting.insert(call, ""));
                }
            }
            self.goes_on(heard.place(0), out);
            let literal = std::mem::take(&mut self.literal);
            if literal > 0 {
                return Step::Skip(literal);
            }
        }
        let Some((line, length)) = line(heard.bytes) else { return self.begun(heard, out) };
        let behind = literal(line);
        let length = length as u64;
        if is_client {
            if !self.asks(line, heard.place(0), out) {
                return Step::Lost;
            }
            self.continues = behind.is_some();
            // The server is asked whether it wants a literal, unless that is said to be at once.
            let is_at_once = line.ends_with(b"+}");
            self.literal = behind.filter(|_| !is_at_once).unwrap_or(0);
            return Step::Skip(length.saturating_add(behind.filter(|_| is_at_once).unwrap_or(0)));
        }
        match self.answers(line, heard.place(0), out) {
            Some(Next::Same) => Step::Skip(length.saturating_add(behind.unwrap_or(0))),
            Some(next) => Step::Leave(next),
            None => Step::Lost,
        }
    }

    fn turn(&mut self, speaker: Speaker, out: &mut Out<'_>) {
        if speaker == Speaker::Client {
            // Data that answer what could not be read.
            let is_known = self.waiting.latest().is_some();
            if let Some((place, None)) = self.answer.take_if(|_| !is_known) {
                out.of(Speaker::Server).push(Operation::new(place, Role::Response, NAME));
            }
            (self.has_begun, self.is_asked) = (true, true);
        }
    }

    fn lose(&mut self, speaker: Speaker, out: &mut Out<'_>) {
        self.gap(speaker, out);
        if speaker == Speaker::Server {
            // What could not be read may have been the answer, or that more is wanted.
            self.may_be_asked_for = self.waiting.latest().copied();
            self.waiting.drain().for_each(drop);
            self.asked_for = None;
        }
    }

    fn gap(&mut self, speaker: Speaker, out: &mut Out<'_>) {
        if speaker == Speaker::Client {
            (self.continues, self.literal, self.asked_for) = (false, 0, None);
            self.may_be_asked_for = None;
        } else {
            self.cut(out);
        }
    }

    fn role(&self, speaker: Speaker) -> Role {
        if self.has_begun { role(speaker) } else { Role::OneWay }
    }

    fn is_within(&self, speaker: Speaker) -> bool {
        // Of an answer whose end is missing is told later.
        speaker == Speaker::Server && matches!(self.answer, Some((_, Some(_))))
    }

    fn may_be_blank(&self, speaker: Speaker) -> bool {
        let wanted = self.asked_for.or(self.may_be_asked_for).is_some();
        speaker == Speaker::Client && (self.continues || wanted)
    }

    fn finish(&mut self, out: &mut Out<'_>) {
        self.cut(out);
    }
}

impl Imap {
    /// A line that is not all there: its first two words say what it is, where they are whole.
    fn begun(&mut self, heard: &Heard<'_>, out: &mut Out<'_>) -> Step {
        if heard.ended && heard.bytes.iter().filter(|byte| **byte == b' ').count() >= 2 {
            match heard.speaker {
                Speaker::Client => _ = self.asks(heard.bytes, heard.place(0), out),
                Speaker::Server => _ = self.answers(heard.bytes, heard.place(0), out),
            }
        }
        heard.more()
    }

    /// What the client says where the server wants more of a command is a request of its own.
    fn goes_on(&mut self, place: Place, out: &mut Out<'_>) {
        let Some(call) = self.asked_for.take() else { return };
        self.continues = true;
        let verb = self.waiting.get(&call).copied().unwrap_or_default();
        let name = if verb == "IDLE" { "DONE" } else { verb };
        out.push(Operation::new(place, Role::Request, NAME).of_call(call).named(name));
    }

    /// A line of the client; whether it is a command or goes on with one.
    fn asks(&mut self, line: &[u8], place: Place, out: &mut Out<'_>) -> bool {
        if self.continues {
            return true;
        }
        let Some((tag, verb)) = command(line) else { return false };
        let call = number(tag);
        self.waiting.insert(call, verb);
        out.push(Operation::new(place, Role::Request, NAME).of_call(call).named(verb));
        true
    }

    /// A line of the server, and what the flow is behind it; `None` where it is nothing known.
    fn answers(&mut self, line: &[u8], place: Place, out: &mut Out<'_>) -> Option<Next> {
        if !std::mem::replace(&mut self.has_begun, true) && greets(line) {
            self.is_asked = false;
            out.push(Operation::new(place, Role::OneWay, NAME).named("greeting"));
            return Some(Next::Same);
        }
        let mut words = line.split(|byte| *byte == b' ');
        let (tag, word) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        if tag == b"+" {
            // The latest command is the one that waits for this.
            let call = self.waiting.latest().copied();
            let begun = self.answer.take().map_or(place, |(begun, _)| begun);
            out.push(Operation { call, ..Operation::new(begun, Role::Response, NAME) });
            self.asked_for = call;
            return Some(Next::Same);
        }
        let status = ["OK", "NO", "BAD"].into_iter().find(|of| of.as_bytes() == word);
        let Some(status) = status.filter(|_| is_tag(tag)) else {
            // Data of an answer, unless none is waited for but that of IDLE, which tells of news.
            if tag == b"*" && self.is_told_news() {
                out.push(Operation::new(place, Role::OneWay, NAME).named("untagged"));
            } else if tag == b"*" {
                let only = self.waiting.only().copied();
                self.answer.get_or_insert((place, only));
            } else if self.answer.is_none() {
                return None;
            }
            return Some(Next::Same);
        };
        (self.asked_for, self.literal, self.is_asked) = (None, 0, false);
        let is_other = self.waiting.get(&number(tag)).is_none();
        let call = self.assumed.take().filter(|_| is_other).unwrap_or(number(tag));
        let verb = self.waiting.remove(&call).unwrap_or_default();
        let begun = self.answer.take().map_or(place, |(begun, _)| begun);
        let response = Operation::new(begun, Role::Response, NAME).of_call(call);
        out.push(response.ended(status, status != "OK"));
        let is_silent = status == "OK" && matches!(verb, "STARTTLS" | "COMPRESS");
        Some(if is_silent { Next::Silent } else { Next::Same })
    }

    /// Whether the client waits for nothing but news.
    fn is_told_news(&self) -> bool {
        match self.waiting.latest() {
            Some(call) => self.asked_for == Some(*call) && self.waiting.get(call) == Some(&"IDLE"),
            None => !self.is_asked,
        }
    }

    /// The end of an answer is missing.
    fn cut(&mut self, out: &mut Out<'_>) {
        if let Some((place, Some(call))) = self.answer.take()
            && self.waiting.remove(&call).is_some()
        {
            let response = Operation::new(place, Role::Response, NAME).of_call(call);
            out.of(Speaker::Server).push(response);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::talk::Talk;

    pub(crate) fn samples() -> Vec<Talk> {
        let fetched = format!("* 1 FETCH (BODY[] {{500}}\r\n{})\r\n", "alice".repeat(100));
        vec![
            Talk::other()
                .server("* OK ready\r\n")
                .client("a1 LOGIN {5}\r\n")
                .server("+ go on\r\n")
                .client("alice {6}\r\nsecret\r\n")
                .server("a1 OK in\r\n")
                .client("a2 select INBOX\r\na3 UID SEARCH FROM alice\r\n")
                .server("* 3 EXISTS\r\na2 OK done\r\n* SEARCH 1\r\na3 NO sorry\r\n")
                .client("a4 FETCH 1 BODY[]\r\n")
                .server(fetched + "a4 OK\r\n")
                .client("a5 IDLE\r\n")
                .server("+ idling\r\n")
                .server("* 4 EXISTS\r\n")
                .client("DONE\r\n")
                .server("a5 OK\r\n"),
        ]
    }

    #[test]
    fn verbs_and_statuses_by_tags() {
        let call = |tag: &str| number(tag.as_bytes());
        let [a, b, c, d, e] = ["a1", "a2", "a3", "a4", "a5"].map(call);
        let expected = [
            "< = greeting".to_owned(),
            format!("> LOGIN #{a}"),
            format!("< #{a}"),
            format!("> LOGIN #{a}"),
            format!("< OK #{a}"),
            format!("> SELECT #{b}"),
            format!("> UID SEARCH #{c}"),
            format!("< OK #{b}"),
            format!("< NO! #{c}"),
            format!("> FETCH #{d}"),
            format!("< #{d}"),
            format!("> IDLE #{e}"),
            format!("< #{e}"),
            "< = untagged".to_owned(),
            format!("> DONE #{e}"),
            format!("< OK #{e}"),
        ];
        assert_eq!(samples()[0].told(), expected);
    }

    /// A line that is longer than what is kept of a turn.
    #[test]
    fn lines_that_are_cut_off() {
        let long = "x".repeat(300);
        let talk = Talk::other()
            .server("* OK ready\r\n")
            .client("a1 LOGIN a b\r\n")
            .server(format!("a1 OK [{long}]\r\n"))
            .client(format!("a2 SEARCH SUBJECT {long}\r\n"))
            .server(format!("* SEARCH {long}\r\na2 OK\r\n"))
            .client("a3 NOOP\r\n")
            .server("a3 OK\r\n");
        let [a, b, c] = ["a1", "a2", "a3"].map(|tag| number(tag.as_bytes()));
        let expected = [
            "< = greeting".to_owned(),
            format!("> LOGIN #{a}"),
            format!("< OK #{a}"),
            format!("> SEARCH #{b}"),
            format!("< #{b}"),
            format!("> NOOP #{c}"),
            format!("< OK #{c}"),
        ];
        assert_eq!(talk.told(), expected);
    }

    /// What the server says cannot be read: it may want more of the command, or have answered it.
    #[test]
    fn a_turn_of_the_server_that_cannot_be_read() {
        let asked = || Talk::other().server("* OK ready\r\n").client("a1 LOGIN {5}\r\n");
        let [a, b] = ["a1", "a2"].map(|tag| number(tag.as_bytes()));
        let begin = ["< = greeting".to_owned(), format!("> LOGIN #{a}"), "<".to_owned()];
        let goes_on = asked().server("frob\r\n").client("alice secret\r\n").server("a1 OK\r\n");
        let rest = [format!("> #{a}"), format!("< OK #{a}")];
        assert_eq!(goes_on.told(), [&begin[..], &rest].concat());
        let goes_on = asked().server("frob\r\n").client("alice {6}\r\n").server("+ go on\r\n");
        let goes_on = goes_on.client("secret\r\n").server("a1 OK\r\n");
        let rest = ["> #", "< #", "> #", "< OK #"].map(|of| format!("{of}{a}"));
        assert_eq!(goes_on.told(), [&begin[..], &rest].concat());
        let unknown = asked().server("frob\r\n").client("a2 XFROB x\r\n").server("a2 NO\r\n");
        assert_eq!(unknown.told(), [&begin[..], &[">".to_owned(), format!("< NO! #{b}")]].concat());
        let blank = asked().server("frob\r\n").client("** ***** *\r\n").server("a2 NO\r\n");
        let rest = [format!("> #{a}"), format!("< NO! #{a}")];
        assert_eq!(blank.told(), [&begin[..], &rest].concat());
        let next = asked().server("frob\r\n").client("a2 NOOP\r\n").server("a2 OK\r\n");
        let rest = [format!("> NOOP #{b}"), format!("< OK #{b}")];
        assert_eq!(next.told(), [&begin[..], &rest].concat());
    }

    /// What the server tells of its own accord.
    #[test]
    fn news_are_one_way() {
        let talk = Talk::other().server("* OK ready\r\n").client("a1 NOOP\r\n").server("a1 OK\r\n");
        let told = talk.server("* 5 EXISTS\r\n").server("* 6 EXISTS\r\n").told();
        assert_eq!(told[3..], ["< = untagged", "< = untagged"]);
    }

    #[test]
    fn pop3_is_another() {
        let talk = Talk::other().server("+OK ready\r\n").client("USER alice\r\n");
        assert_eq!(talk.told(), [""; 0]);
        assert_eq!(Talk::other().client("alice SELECT x\r\n").told(), [""; 0]);
    }
}
