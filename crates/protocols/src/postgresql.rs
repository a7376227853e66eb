//! PostgreSQL protocol 3: simple and extended queries by kind and tables, errors by SQLSTATE.
//!
//! An execution is one request, at the log position of the first message that prepares it, and the
//! server's messages about it are one response, at the log position of the first of them. Prepared
//! statements and portals are remembered by their names.

use registry::{EntryHelp, Spec};

use crate::bounded_map::BoundedMap;
use crate::cursor::ByteCursor;
use crate::flow_snippet::{FlowSpeaker, LogPosition, SnippetRule};
use crate::names::{StatementDialect, StatementSummary, begins_statement, summarise_statement};
use crate::opening::{FlowOpening, yes_if};
use crate::operation::{MessageRole, OperationSink, ProtocolOperation};
use crate::parser::{FlowContinuation, ProtocolParser};
use crate::protocol::{ProtocolEntry, ProtocolSpec};
use crate::silent_turn::role_of_speaker;
use crate::streams::{MessageParser, MessageStreams, ParseStep, UnparsedBytes};
use crate::tuning::{OTHER_MESSAGE_BYTES, PREPARED_STATEMENTS};

/// Registry entry of PostgreSQL.
pub(crate) static POSTGRESQL: ProtocolSpec = Spec {
    about: EntryHelp {
        name: "postgresql",
        summary: "PostgreSQL: kind and tables of statements, SQLSTATE of errors",
        ..EntryHelp::NOTHING
    },
    flags: registry::no_flags,
    entry: ProtocolEntry {
        class: SnippetRule::Other,
        recognised: "A startup message, or a query or prepared statement that begins as SQL does.",
        recognise: |opening: &FlowOpening| {
            yes_if(is_startup(opening.client_bytes()) || is_query(opening.client_bytes()))
        },
        open: open_parser,
        #[cfg(test)]
        samples: tests::sample_conversations,
    },
};

fn open_parser() -> Box<dyn ProtocolParser> {
    Box::new(MessageStreams::new(PostgreSql {
        asked_for_tls: false,
        statements: BoundedMap::new(PREPARED_STATEMENTS),
        portals: BoundedMap::new(PREPARED_STATEMENTS),
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

/// Largest plausible length of a message, in bytes.
const MAX_MESSAGE_BYTES: usize = 1 << 30;

/// Maximum length in bytes of a statement's or portal's name that is remembered.
const NAME_LENGTH: usize = 64;

fn is_startup(client: &[u8]) -> bool {
    let mut cursor = ByteCursor(client);
    match (cursor.be_u32(), cursor.be_u32()) {
        (Some(8), Some(TLS | GSSAPI)) => true,
        (Some(9..=10_000), Some(VERSION_3)) => {
            let name = cursor.zero_ended_text().unwrap_or_default();
            matches!(name, b"user" | b"database" | b"application_name" | b"client_encoding")
                || matches!(name, b"options" | b"replication" | b"DateStyle" | b"TimeZone")
                || name == b"extra_float_digits"
        }
        _ => false,
    }
}

/// Whether the bytes begin with a query, or with a statement to prepare.
fn is_query(client: &[u8]) -> bool {
    let mut cursor = ByteCursor(client);
    let (kind, length) = (cursor.u8(), cursor.be_u32());
    let is_short = length.is_some_and(|length| (5..1 << 24).contains(&length));
    match kind {
        Some(b'Q') => is_short && begins_statement(cursor.0, false),
        Some(b'P') => {
            let name = cursor.zero_ended_text();
            let plain = |name: &[u8]| name.len() <= 63 && name.iter().all(|byte| *byte > b' ');
            is_short && name.is_some_and(plain) && begins_statement(cursor.0, false)
        }
        _ => false,
    }
}

#[derive(Debug)]
struct PostgreSql {
    asked_for_tls: bool,
    statements: BoundedMap<Vec<u8>, StatementSummary>,
    portals: BoundedMap<Vec<u8>, StatementSummary>,
    /// Messages of the client since its last request.
    pending: Option<PreparedExecution>,
    /// Place where the server's response began, and the type of its latest message.
    answer: Option<(LogPosition, u8)>,
    /// Whether the server is ready for a query and none was sent: then its messages answer nothing.
    is_idle: bool,
}

/// Messages that an execution may follow.
#[derive(Debug)]
struct PreparedExecution {
    /// Place where the messages begin.
    place: LogPosition,
    /// Name and statement of the request if no Execute message follows.
    unexecuted: StatementSummary,
    /// Name and statement of the request if it is unknown whether an Execute message follows: an
    /// unnamed statement is executed immediately.
    uncertain: StatementSummary,
}

impl MessageParser for PostgreSql {
    const NAME: &'static str = NAME;
    const MAX_EXAMINED_BYTES: usize = OTHER_MESSAGE_BYTES;
    const QUIET_TURNS: bool = true;

    fn parse_message(
        &mut self,
        unparsed: &UnparsedBytes<'_>,
        out: &mut OperationSink<'_>,
    ) -> ParseStep {
        if unparsed.bytes.first() == Some(&0) && unparsed.speaker == FlowSpeaker::Client {
            return self.parse_startup(unparsed, out);
        }
        if self.asked_for_tls && unparsed.speaker == FlowSpeaker::Server {
            self.asked_for_tls = false;
            let step = match unparsed.bytes.first() {
                Some(b'N') => ParseStep::Skip(1),
                Some(b'S' | b'G') => ParseStep::Leave(FlowContinuation::Silent),
                _ => return ParseStep::Lost,
            };
            out.push(ProtocolOperation::new(unparsed.position_at(0), MessageRole::Response, NAME));
            return step;
        }
        let mut cursor = ByteCursor(unparsed.bytes);
        let (Some(kind), Some(length)) = (cursor.u8(), cursor.be_u32()) else {
            return unparsed.wait_or_give_up();
        };
        let length = length as usize;
        if !(4..MAX_MESSAGE_BYTES).contains(&length) {
            return ParseStep::Lost;
        }
        let available = (length - 4).min(cursor.0.len());
        let whole = available == length - 4;
        let body = ByteCursor(cursor.0.get(..available).unwrap_or_default());
        let step = match unparsed.speaker {
            FlowSpeaker::Client => self.parse_request(kind, body, whole, unparsed, out),
            FlowSpeaker::Server => self.parse_response(kind, body, whole, unparsed, out),
        };
        step.unwrap_or(ParseStep::Skip(1 + length as u64))
    }

    fn on_turn(&mut self, speaker: FlowSpeaker, out: &mut OperationSink<'_>) {
        // Rows continue after messages that the client sends meanwhile.
        let goes_on = |latest| matches!(latest, b'D' | b'd' | b'G' | b'W');
        self.is_idle &= speaker != FlowSpeaker::Client;
        if speaker == FlowSpeaker::Client && !self.answer.is_some_and(|(_, latest)| goes_on(latest))
        {
            self.emit_response("", false, out);
        }
    }

    fn lose_track(&mut self, speaker: FlowSpeaker, out: &mut OperationSink<'_>) {
        self.on_gap(speaker, out);
    }

    fn silent_role(&self, speaker: FlowSpeaker) -> MessageRole {
        match speaker {
            FlowSpeaker::Server if self.is_idle => MessageRole::OneWay,
            _ => role_of_speaker(speaker),
        }
    }

    fn is_within(&self, speaker: FlowSpeaker) -> bool {
        match speaker {
            // Copied data belongs to the statement that requested it.
            FlowSpeaker::Client => self.pending.is_some() || self.is_copying_in(),
            FlowSpeaker::Server => self.answer.is_some(),
        }
    }

    fn on_gap(&mut self, speaker: FlowSpeaker, out: &mut OperationSink<'_>) {
        match speaker {
            FlowSpeaker::Client => self.emit_cut_request(out),
            FlowSpeaker::Server => self.emit_response("", false, out),
        }
    }

    fn finish_messages(&mut self, out: &mut OperationSink<'_>) {
        self.emit_cut_request(out);
        self.emit_response("", false, out);
    }
}

impl PostgreSql {
    /// Whether the server waits for the rows of a copy.
    fn is_copying_in(&self) -> bool {
        self.answer.is_some_and(|(_, latest)| matches!(latest, b'G' | b'W'))
    }

    fn parse_startup(
        &mut self,
        unparsed: &UnparsedBytes<'_>,
        out: &mut OperationSink<'_>,
    ) -> ParseStep {
        let mut cursor = ByteCursor(unparsed.bytes);
        let (Some(length), Some(code)) = (cursor.be_u32(), cursor.be_u32()) else {
            return unparsed.wait_or_give_up();
        };
        let (name, role) = match code {
            TLS | GSSAPI => ("TLS", MessageRole::Request),
            CANCEL => ("CANCEL", MessageRole::OneWay),
            VERSION_3 => ("STARTUP", MessageRole::Request),
            _ => return ParseStep::Lost,
        };
        self.asked_for_tls = matches!(code, TLS | GSSAPI);
        out.push(ProtocolOperation::new(unparsed.position_at(0), role, NAME).with_name(name));
        if (8..=10_000).contains(&length) {
            ParseStep::Skip(length.into())
        } else {
            ParseStep::Lost
        }
    }

    /// Parses a message of the client; `None` means that the message is complete.
    fn parse_request(
        &mut self,
        kind: u8,
        mut body: ByteCursor<'_>,
        whole: bool,
        unparsed: &UnparsedBytes<'_>,
        out: &mut OperationSink<'_>,
    ) -> Option<ParseStep> {
        let here = unparsed.position_at(0);
        let unfinished = !whole && !unparsed.ended;
        match kind {
            b'Q' | b'P' if unfinished => return Some(ParseStep::More),
            b'Q' => {
                if unparsed.after_gap && !begins_statement(body.0, whole) {
                    return Some(ParseStep::Lost);
                }
                self.emit_prepared(out);
                let text = body.0.strip_suffix(&[0]).unwrap_or(body.0);
                let summary = summarise_statement(text, whole, StatementDialect::PostgreSql);
                out.push(build_request(here, summary));
            }
            b'P' => {
                let name = body.zero_ended_text()?.to_vec();
                let text = body.0.iter().position(|byte| *byte == 0);
                let query = body.0.get(..text.unwrap_or(body.0.len())).unwrap_or_default();
                let summary =
                    summarise_statement(query, text.is_some(), StatementDialect::PostgreSql);
                let unexecuted = format!("PREPARE {}", summary.name).trim_end().to_owned();
                let unexecuted = StatementSummary { name: unexecuted, ..summary.clone() };
                let uncertain =
                    if name.is_empty() { summary.clone() } else { StatementSummary::default() };
                self.pending.get_or_insert(PreparedExecution {
                    place: here,
                    unexecuted,
                    uncertain,
                });
                if name.len() <= NAME_LENGTH {
                    self.statements.insert(name, summary);
                }
            }
            b'B' => {
                let (Some(portal), Some(name)) = (body.zero_ended_text(), body.zero_ended_text())
                else {
                    self.begin_request(here, StatementSummary::default());
                    return unfinished.then_some(ParseStep::More);
                };
                let summary = self.statements.get(&name.to_vec()).cloned().unwrap_or_default();
                if portal.len() <= NAME_LENGTH {
                    self.portals.insert(portal.to_vec(), summary);
                }
                self.begin_request(here, named_summary("BIND"));
            }
            b'E' => {
                let Some(portal) = body.zero_ended_text() else {
                    return Some(unparsed.wait_or_give_up());
                };
                let summary = self.portals.get(&portal.to_vec()).cloned().unwrap_or_default();
                let place = self.pending.take().map_or(here, |pending| pending.place);
                out.push(build_request(place, summary));
            }
            b'D' => self.begin_request(here, named_summary("DESCRIBE")),
            b'C' => self.begin_request(here, named_summary("CLOSE")),
            b'S' | b'H' => self.emit_prepared(out),
            b'F' => out.push(build_request(here, named_summary("FUNCTION CALL"))),
            b'p' => out.push(build_request(here, named_summary("AUTHENTICATE"))),
            b'd' | b'c' | b'f' | b'X' => {}
            _ => return Some(ParseStep::Lost),
        }
        None
    }

    /// Begins a request with its first message, unless one has begun.
    fn begin_request(&mut self, place: LogPosition, unexecuted: StatementSummary) {
        self.pending.get_or_insert(PreparedExecution {
            place,
            unexecuted,
            uncertain: StatementSummary::default(),
        });
    }

    /// Emits the prepared messages as a request of their own: none of them is executed for now.
    fn emit_prepared(&mut self, out: &mut OperationSink<'_>) {
        let unexecuted = self.pending.take().map(|of| build_request(of.place, of.unexecuted));
        out.for_speaker(FlowSpeaker::Client).extend(unexecuted);
    }

    /// Emits the prepared messages as a request of unknown kind: the messages that determine it are
    /// missing.
    fn emit_cut_request(&mut self, out: &mut OperationSink<'_>) {
        let uncertain = self.pending.take().map(|of| build_request(of.place, of.uncertain));
        out.for_speaker(FlowSpeaker::Client).extend(uncertain);
    }

    /// Parses a message of the server; `None` means that the message is complete.
    fn parse_response(
        &mut self,
        kind: u8,
        body: ByteCursor<'_>,
        whole: bool,
        unparsed: &UnparsedBytes<'_>,
        out: &mut OperationSink<'_>,
    ) -> Option<ParseStep> {
        match kind {
            b'E' if !whole && !unparsed.ended => return Some(ParseStep::More),
            b'E' if self.is_idle && find_sqlstate(body).is_some_and(ends_the_connection) => {
                let notice =
                    ProtocolOperation::new(unparsed.position_at(0), MessageRole::OneWay, NAME)
                        .with_name("ERROR");
                out.push(notice.with_status(find_sqlstate(body).unwrap_or_default(), true));
                return None;
            }
            // Parameters, notices, and messages of a login or a copy.
            b'S' | b'N' | b'K' | b'v' | b'c' => return None,
            b'A' => {
                let notice =
                    ProtocolOperation::new(unparsed.position_at(0), MessageRole::OneWay, NAME);
                out.push(notice.with_name("NOTIFICATION"));
                return None;
            }
            b'R' | b'1' | b'2' | b'3' | b't' | b'n' | b'T' | b'D' | b'd' | b'G' | b'H' | b'W'
            | b'C' | b'I' | b'E' | b's' | b'V' => {
                self.answer.get_or_insert((unparsed.position_at(0), kind)).1 = kind;
            }
            b'Z' => self.is_idle = true,
            _ => return Some(ParseStep::Lost),
        }
        match kind {
            b'E' => self.emit_response(find_sqlstate(body).unwrap_or_default(), true, out),
            b'C' | b'I' | b's' | b'Z' => self.emit_response("", false, out),
            _ => {}
        }
        None
    }

    /// Emits the server's response, which is complete or has no further part.
    fn emit_response(&mut self, status: &str, is_error: bool, out: &mut OperationSink<'_>) {
        if let Some((place, _)) = self.answer.take() {
            let response = ProtocolOperation::new(place, MessageRole::Response, NAME);
            out.for_speaker(FlowSpeaker::Server).push(response.with_status(status, is_error));
        }
    }
}

fn named_summary(name: &str) -> StatementSummary {
    StatementSummary { name: name.to_owned(), detail: String::new() }
}

fn build_request(place: LogPosition, summary: StatementSummary) -> ProtocolOperation {
    let StatementSummary { name, detail } = summary;
    ProtocolOperation {
        detail,
        ..ProtocolOperation::new(place, MessageRole::Request, NAME).with_name(name)
    }
}

/// Finds the SQLSTATE of an error.
fn find_sqlstate(mut body: ByteCursor<'_>) -> Option<&str> {
    while let Some(field) = body.u8().filter(|field| *field != 0) {
        let value = body.zero_ended_text()?;
        if field == b'C' {
            let plain = value.len() == 5 && value.iter().all(u8::is_ascii_alphanumeric);
            return std::str::from_utf8(value).ok().filter(|_| plain);
        }
    }
    None
}

/// Whether an error concerns the connection and is sent without a request: the server is shut down,
/// or the client was idle for too long.
fn ends_the_connection(code: &str) -> bool {
    code.starts_with("57P") || code == "25P03"
}

#[cfg(test)]
#[path = "postgresql_tests.rs"]
mod tests;
