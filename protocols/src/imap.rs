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
        let server = opening.server();
        let greets = server.starts_with(b"* OK") || server.starts_with(b"* PREAUTH");
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
        continues: false,
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

fn is_tag(tag: &[u8]) -> bool {
    (1..=24).contains(&tag.len()) && tag.iter().all(|of| of.is_ascii_alphanumeric() || *of == b'.')
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
    /// The client has said something.
    has_begun: bool,
    /// The client's next line belongs to its command before.
    continues: bool,
}

impl Messages for Imap {
    const BOUND: usize = OTHER_MESSAGE_BYTES;

    fn message(&mut self, heard: &Heard<'_>, out: &mut Out<'_>) -> Step {
        let Some((line, length)) = line(heard.bytes) else { return self.begun(heard, out) };
        let behind = literal(line);
        if heard.speaker == Speaker::Client {
            self.asks(line, heard.place(0), out);
            self.continues = behind.is_some();
        } else if self.answers(line, heard.place(0), out) {
            return Step::Leave(Next::Silent);
        }
        Step::Skip((length as u64).saturating_add(behind.unwrap_or(0)))
    }

    fn gap(&mut self, speaker: Speaker, out: &mut Out<'_>) {
        if speaker == Speaker::Client {
            self.continues = false;
        } else {
            self.cut(out);
        }
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
                Speaker::Client => self.asks(heard.bytes, heard.place(0), out),
                Speaker::Server => _ = self.answers(heard.bytes, heard.place(0), out),
            }
        }
        heard.more()
    }

    fn asks(&mut self, line: &[u8], place: Place, out: &mut Out<'_>) {
        self.has_begun = true;
        let Some((tag, verb)) = command(line).filter(|_| !self.continues) else { return };
        let call = number(tag);
        self.waiting.insert(call, verb);
        out.push(Operation::new(place, Role::Request, NAME).of_call(call).named(verb));
    }

    /// A line of the server; whether nothing more can be read behind it.
    fn answers(&mut self, line: &[u8], place: Place, out: &mut Out<'_>) -> bool {
        if !self.has_begun {
            if line.starts_with(b"* ") {
                out.push(Operation::new(place, Role::OneWay, NAME).named("greeting"));
            }
            return false;
        }
        let mut words = line.split(|byte| *byte == b' ');
        let (tag, word) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        if tag == b"+" {
            return false;
        }
        let status = ["OK", "NO", "BAD"].into_iter().find(|of| of.as_bytes() == word);
        let verb = status.and_then(|_| self.waiting.remove(&number(tag)));
        let (Some(status), Some(verb)) = (status, verb) else {
            // Data of an answer.
            if tag == b"*" {
                let only = self.waiting.only().copied();
                self.answer.get_or_insert((place, only));
            }
            return false;
        };
        let begun = self.answer.take().map_or(place, |(begun, _)| begun);
        let response = Operation::new(begun, Role::Response, NAME).of_call(number(tag));
        out.push(response.ended(status, status != "OK"));
        status == "OK" && matches!(verb, "STARTTLS" | "COMPRESS")
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
            format!("< OK #{a}"),
            format!("> SELECT #{b}"),
            format!("> UID SEARCH #{c}"),
            format!("< OK #{b}"),
            format!("< NO! #{c}"),
            format!("> FETCH #{d}"),
            format!("< #{d}"),
            format!("> IDLE #{e}"),
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

    #[test]
    fn pop3_is_another() {
        let talk = Talk::other().server("+OK ready\r\n").client("USER alice\r\n");
        assert_eq!(talk.told(), [""; 0]);
        assert_eq!(Talk::other().client("alice SELECT x\r\n").told(), [""; 0]);
    }
}
