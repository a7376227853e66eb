//! PostgreSQL's protocol 3: simple and extended queries by kind and tables, errors by SQLSTATE.
//!
//! An execution is one request, at the place of the first message that prepares it, and what the
//! server says of it is one response, at the place of the first message of that. Prepared
//! statements are remembered by name, and portals by theirs.

use registry::About;

use crate::cursor::Cursor;
use crate::names::{Dialect, Summary, begins_statement, statement};
use crate::opening::{Opening, yes_if};
use crate::operation::{Operation, Out, Role};
use crate::parser::{Next, Parser};
use crate::piece::{Class, Place, Speaker};
use crate::protocol::Protocol;
use crate::remembered::Remembered;
use crate::streams::{Heard, Messages, Step, Streams};
use crate::tuning::{OTHER_MESSAGE_BYTES, PREPARED_STATEMENTS};
use crate::unread::role;

/// The entry of PostgreSQL.
pub(crate) static POSTGRESQL: Protocol = Protocol {
    about: About {
        name: "postgresql",
        summary: "PostgreSQL: kind and tables of statements, SQLSTATE of errors",
        ..About::NOTHING
    },
    class: Class::Other,
    recognised: "A startup message, or a query or prepared statement that begins as SQL does.",
    recognise: |opening: &Opening| {
        yes_if(is_startup(opening.client()) || is_query(opening.client()))
    },
    open,
    #[cfg(test)]
    samples: tests::samples,
};

fn open() -> Box<dyn Parser> {
    Box::new(Streams::new(PostgreSql {
        asked_for_tls: false,
        statements: Remembered::new(PREPARED_STATEMENTS),
        portals: Remembered::new(PREPARED_STATEMENTS),
        pending: None,
        answer: None,
        is_idle: false,
    }))
}

const NAME: &str = "postgresql";

const VERSION_3: u32 = 3 << 16;
const CANCEL: u32 = 80_877_102;
const TLS: u32 = 80_877_103;
const GSSAPI: u32 = 80_877_104;

/// Greatest length of a message that is believed.
const GREATEST: usize = 1 << 30;

/// Greatest length of a statement's or portal's name that is remembered.
const NAME_LENGTH: usize = 64;

fn is_startup(client: &[u8]) -> bool {
    let mut cursor = Cursor(client);
    match (cursor.be_u32(), cursor.be_u32()) {
        (Some(8), Some(TLS | GSSAPI)) => true,
        (Some(9..=10_000), Some(VERSION_3)) => {
            let name = cursor.text().unwrap_or_default();
            matches!(name, b"user" | b"database" | b"application_name" | b"client_encoding")
                || matches!(name, b"options" | b"replication" | b"DateStyle" | b"TimeZone")
                || name == b"extra_float_digits"
        }
        _ => false,
    }
}

/// Whether these bytes begin with a query, or with a statement to prepare.
fn is_query(client: &[u8]) -> bool {
    let mut cursor = Cursor(client);
    let (kind, length) = (cursor.u8(), cursor.be_u32());
    let is_short = length.is_some_and(|length| (5..1 << 24).contains(&length));
    match kind {
        Some(b'Q') => is_short && begins_statement(cursor.0, false),
        Some(b'P') => {
            let name = cursor.text();
            let plain = |name: &[u8]| name.len() <= 63 && name.iter().all(|byte| *byte > b' ');
            is_short && name.is_some_and(plain) && begins_statement(cursor.0, false)
        }
        _ => false,
    }
}

#[derive(Debug)]
struct PostgreSql {
    asked_for_tls: bool,
    statements: Remembered<Vec<u8>, Summary>,
    portals: Remembered<Vec<u8>, Summary>,
    /// Messages since the last request.
    pending: Option<Pending>,
    /// Where the server's answer began, and the latest message of it.
    answer: Option<(Place, u8)>,
    /// The server is ready for a query, and none has come: what it says answers nothing.
    is_idle: bool,
}

/// Messages that an execution may follow.
#[derive(Debug)]
struct Pending {
    /// Where they begin.
    place: Place,
    /// What they are for where none follows.
    alone: Summary,
    /// What they are for where it is not known whether one does: a statement without a name is
    /// executed at once.
    cut: Summary,
}

impl Messages for PostgreSql {
    const NAME: &'static str = NAME;
    const BOUND: usize = OTHER_MESSAGE_BYTES;
    const QUIET_TURNS: bool = true;

    fn message(&mut self, heard: &Heard<'_>, out: &mut Out<'_>) -> Step {
        if heard.bytes.first() == Some(&0) && heard.speaker == Speaker::Client {
            return self.startup(heard, out);
        }
        if self.asked_for_tls && heard.speaker == Speaker::Server {
            self.asked_for_tls = false;
            let step = match heard.bytes.first() {
                Some(b'N') => Step::Skip(1),
                Some(b'S' | b'G') => Step::Leave(Next::Silent),
                _ => return Step::Lost,
            };
            out.push(Operation::new(heard.place(0), Role::Response, NAME));
            return step;
        }
        let mut cursor = Cursor(heard.bytes);
        let (Some(kind), Some(length)) = (cursor.u8(), cursor.be_u32()) else {
            return heard.more();
        };
        let length = length as usize;
        if !(4..GREATEST).contains(&length) {
            return Step::Lost;
        }
        let there = (length - 4).min(cursor.0.len());
        let whole = there == length - 4;
        let body = Cursor(cursor.0.get(..there).unwrap_or_default());
        let step = match heard.speaker {
            Speaker::Client => self.asks(kind, body, whole, heard, out),
            Speaker::Server => self.answers(kind, body, whole, heard, out),
        };
        step.unwrap_or(Step::Skip(1 + length as u64))
    }

    fn turn(&mut self, speaker: Speaker, out: &mut Out<'_>) {
        // Rows go on behind what the client says meanwhile.
        let goes_on = |latest| matches!(latest, b'D' | b'd' | b'G' | b'W');
        self.is_idle &= speaker != Speaker::Client;
        if speaker == Speaker::Client && !self.answer.is_some_and(|(_, latest)| goes_on(latest)) {
            self.answered("", false, out);
        }
    }

    fn lose(&mut self, speaker: Speaker, out: &mut Out<'_>) {
        self.gap(speaker, out);
    }

    fn role(&self, speaker: Speaker) -> Role {
        match speaker {
            Speaker::Server if self.is_idle => Role::OneWay,
            _ => role(speaker),
        }
    }

    fn is_within(&self, speaker: Speaker) -> bool {
        match speaker {
            // What is copied belongs to the statement that asked for it.
            Speaker::Client => self.pending.is_some() || self.takes_a_copy(),
            Speaker::Server => self.answer.is_some(),
        }
    }

    fn gap(&mut self, speaker: Speaker, out: &mut Out<'_>) {
        match speaker {
            Speaker::Client => self.cut(out),
            Speaker::Server => self.answered("", false, out),
        }
    }

    fn finish(&mut self, out: &mut Out<'_>) {
        self.cut(out);
        self.answered("", false, out);
    }
}

impl PostgreSql {
    /// Whether the server waits for rows of a copy.
    fn takes_a_copy(&self) -> bool {
        self.answer.is_some_and(|(_, latest)| matches!(latest, b'G' | b'W'))
    }

    fn startup(&mut self, heard: &Heard<'_>, out: &mut Out<'_>) -> Step {
        let mut cursor = Cursor(heard.bytes);
        let (Some(length), Some(code)) = (cursor.be_u32(), cursor.be_u32()) else {
            return heard.more();
        };
        let (name, role) = match code {
            TLS | GSSAPI => ("TLS", Role::Request),
            CANCEL => ("CANCEL", Role::OneWay),
            VERSION_3 => ("STARTUP", Role::Request),
            _ => return Step::Lost,
        };
        self.asked_for_tls = matches!(code, TLS | GSSAPI);
        out.push(Operation::new(heard.place(0), role, NAME).named(name));
        if (8..=10_000).contains(&length) { Step::Skip(length.into()) } else { Step::Lost }
    }

    /// A message of the client; `None` where it has been dealt with.
    fn asks(
        &mut self,
        kind: u8,
        mut body: Cursor<'_>,
        whole: bool,
        heard: &Heard<'_>,
        out: &mut Out<'_>,
    ) -> Option<Step> {
        let here = heard.place(0);
        let unfinished = !whole && !heard.ended;
        match kind {
            b'Q' | b'P' if unfinished => return Some(Step::More),
            b'Q' => {
                if heard.after_gap && !begins_statement(body.0, whole) {
                    return Some(Step::Lost);
                }
                self.pending(out);
                let text = body.0.strip_suffix(&[0]).unwrap_or(body.0);
                let summary = statement(text, whole, Dialect::PostgreSql);
                out.push(request(here, summary));
            }
            b'P' => {
                let name = body.text()?.to_vec();
                let text = body.0.iter().position(|byte| *byte == 0);
                let query = body.0.get(..text.unwrap_or(body.0.len())).unwrap_or_default();
                let summary = statement(query, text.is_some(), Dialect::PostgreSql);
                let alone = format!("PREPARE {}", summary.name).trim_end().to_owned();
                let alone = Summary { name: alone, ..summary.clone() };
                let cut = if name.is_empty() { summary.clone() } else { Summary::default() };
                self.pending.get_or_insert(Pending { place: here, alone, cut });
                if name.len() <= NAME_LENGTH {
                    self.statements.insert(name, summary);
                }
            }
            b'B' => {
                let (Some(portal), Some(name)) = (body.text(), body.text()) else {
                    self.begin(here, Summary::default());
                    return unfinished.then_some(Step::More);
                };
                let summary = self.statements.get(&name.to_vec()).cloned().unwrap_or_default();
                if portal.len() <= NAME_LENGTH {
                    self.portals.insert(portal.to_vec(), summary);
                }
                self.begin(here, named("BIND"));
            }
            b'E' => {
                let Some(portal) = body.text() else {
                    return Some(heard.more());
                };
                let summary = self.portals.get(&portal.to_vec()).cloned().unwrap_or_default();
                let place = self.pending.take().map_or(here, |pending| pending.place);
                out.push(request(place, summary));
            }
            b'D' => self.begin(here, named("DESCRIBE")),
            b'C' => self.begin(here, named("CLOSE")),
            b'S' | b'H' => self.pending(out),
            b'F' => out.push(request(here, named("FUNCTION CALL"))),
            b'p' => out.push(request(here, named("AUTHENTICATE"))),
            b'd' | b'c' | b'f' | b'X' => {}
            _ => return Some(Step::Lost),
        }
        None
    }

    /// Messages that belong to a request begin, where none has yet.
    fn begin(&mut self, place: Place, alone: Summary) {
        self.pending.get_or_insert(Pending { place, alone, cut: Summary::default() });
    }

    /// What was prepared is a request of its own: nothing of it is executed for now.
    fn pending(&mut self, out: &mut Out<'_>) {
        let alone = self.pending.take().map(|of| request(of.place, of.alone));
        out.of(Speaker::Client).extend(alone);
    }

    /// What was prepared is a request; what would say of what kind is missing.
    fn cut(&mut self, out: &mut Out<'_>) {
        let cut = self.pending.take().map(|of| request(of.place, of.cut));
        out.of(Speaker::Client).extend(cut);
    }

    /// A message of the server; `None` where it has been dealt with.
    fn answers(
        &mut self,
        kind: u8,
        body: Cursor<'_>,
        whole: bool,
        heard: &Heard<'_>,
        out: &mut Out<'_>,
    ) -> Option<Step> {
        match kind {
            b'E' if !whole && !heard.ended => return Some(Step::More),
            b'E' if self.is_idle && sqlstate(body).is_some_and(ends_the_connection) => {
                let told = Operation::new(heard.place(0), Role::OneWay, NAME).named("ERROR");
                out.push(told.ended(sqlstate(body).unwrap_or_default(), true));
                return None;
            }
            // Parameters, notices, and what belongs to a login or a copy.
            b'S' | b'N' | b'K' | b'v' | b'c' => return None,
            b'A' => {
                let told = Operation::new(heard.place(0), Role::OneWay, NAME);
                out.push(told.named("NOTIFICATION"));
                return None;
            }
            b'R' | b'1' | b'2' | b'3' | b't' | b'n' | b'T' | b'D' | b'd' | b'G' | b'H' | b'W'
            | b'C' | b'I' | b'E' | b's' | b'V' => {
                self.answer.get_or_insert((heard.place(0), kind)).1 = kind;
            }
            b'Z' => self.is_idle = true,
            _ => return Some(Step::Lost),
        }
        match kind {
            b'E' => self.answered(sqlstate(body).unwrap_or_default(), true, out),
            b'C' | b'I' | b's' | b'Z' => self.answered("", false, out),
            _ => {}
        }
        None
    }

    /// The server's answer is whole, or as whole as it will be.
    fn answered(&mut self, status: &str, is_error: bool, out: &mut Out<'_>) {
        if let Some((place, _)) = self.answer.take() {
            let response = Operation::new(place, Role::Response, NAME);
            out.of(Speaker::Server).push(response.ended(status, is_error));
        }
    }
}

fn named(name: &str) -> Summary {
    Summary { name: name.to_owned(), detail: String::new() }
}

fn request(place: Place, summary: Summary) -> Operation {
    let Summary { name, detail } = summary;
    Operation { detail, ..Operation::new(place, Role::Request, NAME).named(name) }
}

/// The code of an error.
fn sqlstate(mut body: Cursor<'_>) -> Option<&str> {
    while let Some(field) = body.u8().filter(|field| *field != 0) {
        let value = body.text()?;
        if field == b'C' {
            let plain = value.len() == 5 && value.iter().all(u8::is_ascii_alphanumeric);
            return std::str::from_utf8(value).ok().filter(|_| plain);
        }
    }
    None
}

/// Whether that is an error of the connection, which a server says without being asked: it is shut
/// down, or the client was idle for too long.
fn ends_the_connection(code: &str) -> bool {
    code.starts_with("57P") || code == "25P03"
}

#[cfg(test)]
#[path = "postgresql_tests.rs"]
mod tests;
