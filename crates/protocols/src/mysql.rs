//! MySQL: queries by kind and tables, errors by their number.
//!
//! A command is answered before the next one is sent. Prepared statements are remembered by the id
//! that the server assigns.

use registry::{EntryHelp, Spec};

use crate::bounded_map::BoundedMap;
use crate::cursor::ByteCursor;
use crate::flow_snippet::{FlowSpeaker, SnippetRule};
use crate::names::{StatementDialect, StatementSummary, begins_statement, summarise_statement};
use crate::opening::{FlowOpening, yes_if};
use crate::operation::{MessageRole, OperationSink, ProtocolOperation};
use crate::parser::{FlowContinuation, ProtocolParser};
use crate::protocol::{ProtocolEntry, ProtocolSpec};
use crate::streams::{MessageParser, MessageStreams, ParseStep, UnparsedBytes};
use crate::tuning::{OTHER_MESSAGE_BYTES, PREPARED_STATEMENTS};

/// Registry entry of MySQL.
pub(crate) static MYSQL: ProtocolSpec = Spec {
    about: EntryHelp {
        name: "mysql",
        summary: "MySQL and MariaDB: kind and tables of statements, numbers of errors",
        ..EntryHelp::NOTHING
    },
    flags: registry::no_flags,
    entry: ProtocolEntry {
        class: SnippetRule::Other,
        recognised: "The server's greeting, or a query or prepared statement that begins as SQL does.",
        recognise: |opening: &FlowOpening| {
            let greets = opening.server_leads() && is_greeting(opening.server_bytes());
            yes_if(greets || is_query(opening.client_bytes()))
        },
        open: open_parser,
        #[cfg(test)]
        samples: tests::sample_conversations,
    },
};

fn open_parser() -> Box<dyn ProtocolParser> {
    let statements = BoundedMap::new(PREPARED_STATEMENTS);
    Box::new(MessageStreams::new(MySql {
        statements,
        unanswered: None,
        latest: None,
        is_compressed: false,
    }))
}

const NAME: &str = "mysql";

/// Numbers of commands with a statement.
const QUERY: u8 = 0x03;
const PREPARE: u8 = 0x16;
const EXECUTE: u8 = 0x17;

/// First bytes of the server's packets.
const OK: u8 = 0;
const MORE_LOGIN: u8 = 1;
const SWITCH_LOGIN: u8 = 0xfe;
const ERROR: u8 = 0xff;

/// Capabilities of a client.
const COMPRESS: u32 = 0x20;
const TLS: u32 = 0x800;
const COMPRESS_ZSTD: u32 = 1 << 26;

/// Commands by their numbers, and whether the server answers them.
const COMMANDS: [(u8, &str, bool); 24] = [
    (0x01, "QUIT", false),
    (0x02, "INIT_DB", true),
    (0x04, "FIELD_LIST", true),
    (0x05, "CREATE_DB", true),
    (0x06, "DROP_DB", true),
    (0x07, "REFRESH", true),
    (0x08, "SHUTDOWN", true),
    (0x09, "STATISTICS", true),
    (0x0a, "PROCESS_INFO", true),
    (0x0c, "PROCESS_KILL", true),
    (0x0d, "DEBUG", true),
    (0x0e, "PING", true),
    (0x11, "CHANGE_USER", true),
    (0x12, "BINLOG_DUMP", true),
    (0x15, "REGISTER_REPLICA", true),
    (PREPARE, "PREPARE", true),
    (EXECUTE, "EXECUTE", true),
    (0x18, "SEND_LONG_DATA", false),
    (0x19, "CLOSE", false),
    (0x1a, "RESET", true),
    (0x1b, "SET_OPTION", true),
    (0x1c, "FETCH", true),
    (0x1e, "BINLOG_DUMP", true),
    (0x1f, "RESET_CONNECTION", true),
];

/// Reads a packet header: u24 length of the body, u8 sequence number within the command.
fn read_header(cursor: &mut ByteCursor<'_>) -> Option<(u32, u8)> {
    let word = cursor.le_u32()?;
    Some((word & 0xff_ffff, (word >> 24) as u8))
}

fn is_greeting(server: &[u8]) -> bool {
    let mut cursor = ByteCursor(server);
    let Some((30..=512, 0)) = read_header(&mut cursor) else { return false };
    cursor.u8() == Some(10)
        && cursor.zero_ended_text().is_some_and(|version| {
            let printable = version.iter().all(|byte| byte.is_ascii_graphic());
            version.len() <= 100 && printable && version.contains(&b'.')
        })
}

fn is_query(client: &[u8]) -> bool {
    let mut cursor = ByteCursor(client);
    let Some((length @ 4.., 0)) = read_header(&mut cursor) else { return false };
    let is_statement = matches!(cursor.u8(), Some(QUERY | PREPARE));
    let whole = cursor.0.len() as u64 + 1 == u64::from(length);
    is_statement && begins_statement(statement_text(cursor.0), whole)
}

/// Text of a query, after the query attributes if the client states that there are none.
fn statement_text(body: &[u8]) -> &[u8] {
    body.strip_prefix(&[0, 1]).unwrap_or(body)
}

#[derive(Debug)]
struct MySql {
    /// Prepared statements by their ids.
    statements: BoundedMap<u32, StatementSummary>,
    unanswered: Option<UnansweredCommand>,
    /// Sequence number of the latest packet of either side.
    latest: Option<u8>,
    /// Whether the client asked for compression, which begins after the login.
    is_compressed: bool,
}

/// A command that the server has not answered yet.
#[derive(Debug)]
enum UnansweredCommand {
    Login,
    Command,
    /// Preparation of a statement; its id is still to come.
    Prepare(StatementSummary),
}

impl MessageParser for MySql {
    const NAME: &'static str = NAME;
    const MAX_EXAMINED_BYTES: usize = OTHER_MESSAGE_BYTES;
    const QUIET_TURNS: bool = true;

    fn parse_message(
        &mut self,
        unparsed: &UnparsedBytes<'_>,
        out: &mut OperationSink<'_>,
    ) -> ParseStep {
        let mut cursor = ByteCursor(unparsed.bytes);
        let Some((length, number)) = read_header(&mut cursor) else {
            return unparsed.wait_or_give_up();
        };
        let available = cursor.0.len().min(length as usize);
        let whole = available == length as usize;
        let body = cursor.0.get(..available).unwrap_or_default();
        let step = match unparsed.speaker {
            FlowSpeaker::Client => self.parse_request(number, body, whole, unparsed, out),
            FlowSpeaker::Server => self.parse_response(number, body, unparsed, out),
        };
        step.unwrap_or_else(|| {
            self.latest = Some(number);
            ParseStep::Skip(4 + u64::from(length))
        })
    }
}

impl MySql {
    /// Parses a packet of the client; `None` means that the packet is complete.
    fn parse_request(
        &mut self,
        number: u8,
        body: &[u8],
        whole: bool,
        unparsed: &UnparsedBytes<'_>,
        out: &mut OperationSink<'_>,
    ) -> Option<ParseStep> {
        let mut cursor = ByteCursor(body);
        let request = |name: &str| {
            ProtocolOperation::new(unparsed.position_at(0), MessageRole::Request, NAME)
                .with_name(name)
        };
        if number == 1 && self.unanswered.is_none() && !unparsed.after_gap {
            let Some(capabilities) = cursor.le_u32() else {
                return Some(unparsed.wait_or_give_up());
            };
            if capabilities & TLS != 0 && body.len() == 32 && whole {
                out.push(ProtocolOperation { role: MessageRole::OneWay, ..request("TLS") });
                return Some(ParseStep::Leave(FlowContinuation::Silent));
            }
            self.is_compressed = capabilities & (COMPRESS | COMPRESS_ZSTD) != 0;
            self.unanswered = Some(UnansweredCommand::Login);
            out.push(request("LOGIN"));
            return None;
        }
        if number != 0 {
            // A later packet of a login, or of a file that the client sends. If its sequence number
            // does not follow the latest one, no packet begins here.
            let follows = self.latest.is_some_and(|latest| number == latest.wrapping_add(1));
            return if follows { None } else { Some(ParseStep::Lost) };
        }
        let Some(command) = cursor.u8() else { return Some(unparsed.wait_or_give_up()) };
        match command {
            QUERY | PREPARE => {
                if !whole && !unparsed.ended {
                    return Some(ParseStep::More);
                }
                let text = statement_text(cursor.0);
                if unparsed.after_gap && !begins_statement(text, whole) {
                    return Some(ParseStep::Lost);
                }
                let summary = summarise_statement(text, whole, StatementDialect::MySql);
                let StatementSummary { name, detail } = summary.clone();
                if command == QUERY {
                    self.unanswered = Some(UnansweredCommand::Command);
                    out.push(ProtocolOperation { detail, ..request(&name) });
                } else {
                    self.unanswered = Some(UnansweredCommand::Prepare(summary));
                    let name = format!("PREPARE {name}");
                    out.push(ProtocolOperation { detail, ..request(name.trim_end()) });
                }
            }
            EXECUTE => {
                let Some(id) = cursor.le_u32() else { return Some(unparsed.wait_or_give_up()) };
                let StatementSummary { name, detail } =
                    self.statements.get(&id).cloned().unwrap_or_default();
                self.unanswered = Some(UnansweredCommand::Command);
                out.push(ProtocolOperation { detail, ..request(&name) });
            }
            _ => {
                let known = COMMANDS.iter().find(|(number, ..)| *number == command);
                let Some((_, name, is_answered)) = known else { return Some(ParseStep::Lost) };
                if *is_answered {
                    self.unanswered = Some(UnansweredCommand::Command);
                    out.push(request(name));
                } else {
                    out.push(ProtocolOperation { role: MessageRole::OneWay, ..request(name) });
                }
            }
        }
        None
    }

    /// Parses a packet of the server; `None` means that the packet is complete.
    fn parse_response(
        &mut self,
        number: u8,
        body: &[u8],
        unparsed: &UnparsedBytes<'_>,
        out: &mut OperationSink<'_>,
    ) -> Option<ParseStep> {
        let mut cursor = ByteCursor(body);
        let Some(kind) = cursor.u8() else { return Some(unparsed.wait_or_give_up()) };
        if number == 0 {
            let is_first = kind == 10 && self.unanswered.is_none();
            let greeting =
                ProtocolOperation::new(unparsed.position_at(0), MessageRole::OneWay, NAME)
                    .with_name("GREETING");
            out.extend(is_first.then_some(greeting));
            return if is_first { None } else { Some(ParseStep::Lost) };
        }
        let response = ProtocolOperation::new(unparsed.position_at(0), MessageRole::Response, NAME);
        match self.unanswered.take() {
            // The response continues.
            None => return None,
            Some(UnansweredCommand::Login) if matches!(kind, MORE_LOGIN | SWITCH_LOGIN) => {
                self.unanswered = Some(UnansweredCommand::Login);
                return None;
            }
            Some(waiting) if kind == ERROR => {
                let Some(code) = cursor.le_u16() else {
                    if unparsed.ended {
                        out.push(response.with_status("", true));
                        return None;
                    }
                    self.unanswered = Some(waiting);
                    return Some(ParseStep::More);
                };
                out.push(response.with_status(code.to_string(), true));
                return None;
            }
            Some(UnansweredCommand::Prepare(summary)) if kind == OK => match cursor.le_u32() {
                Some(id) => self.statements.insert(id, summary),
                None if unparsed.ended => {}
                None => {
                    self.unanswered = Some(UnansweredCommand::Prepare(summary));
                    return Some(ParseStep::More);
                }
            },
            Some(UnansweredCommand::Login) if kind == OK && self.is_compressed => {
                out.push(response);
                return Some(ParseStep::Leave(FlowContinuation::Silent));
            }
            Some(_) => {}
        }
        out.push(response);
        None
    }
}

#[cfg(test)]
mod tests {
    use crate::test_conversation::TestConversation;

    fn make_packet(number: u8, body: &[u8]) -> Vec<u8> {
        [&(body.len() as u32).to_le_bytes()[..3], &[number], body].concat()
    }

    fn make_command(code: u8, text: &str) -> Vec<u8> {
        make_packet(0, &[&[code], text.as_bytes()].concat())
    }

    fn make_greeting() -> Vec<u8> {
        make_packet(0, &[b"\x0a8.0.36\0".as_slice(), &[7; 60]].concat())
    }

    fn make_login(capabilities: u32) -> Vec<u8> {
        make_packet(
            1,
            &[&capabilities.to_le_bytes(), [0; 28].as_slice(), b"alice\0secret"].concat(),
        )
    }

    const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];

    pub(crate) fn sample_conversations() -> Vec<TestConversation> {
        let error = [b"\xff\x26\x04#23000Duplicate".as_slice(), b"alice"].concat();
        let rows: Vec<u8> = (1..60).flat_map(|number| make_packet(number, b"\x05alice")).collect();
        let prepared = make_packet(1, &[0, 7, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0]);
        vec![
            TestConversation::other_protocol()
                .server_says(make_greeting())
                .client_says(make_login(0x000f_a685 & !0x20))
                .server_says(make_packet(2, &[1, 4]))
                .client_says(make_packet(3, b"secret"))
                .server_says(make_packet(4, OK))
                .client_says(make_command(3, "SELECT * FROM `books` WHERE title = \"alice\""))
                .server_says(rows)
                .client_says(make_command(3, "\0\x01INSERT INTO orders VALUES (1)"))
                .server_says(make_packet(1, &error))
                .client_says(make_command(0x16, "SELECT a FROM books WHERE b = ?"))
                .server_says(prepared)
                .client_says(make_packet(0, b"\x17\x07\0\0\0\0\x01\0\0\0alice"))
                .server_says(make_packet(1, b"\x02"))
                .client_says([make_packet(0, b"\x19\x07\0\0\0"), make_command(0x0e, "")].concat())
                .server_says(make_packet(1, OK))
                .client_says(make_command(1, "")),
        ]
    }

    #[test]
    fn commands_and_their_responses() {
        let expected = [
            "< = GREETING",
            "> LOGIN",
            "<",
            ">",
            "<",
            "> SELECT books",
            "<",
            "> INSERT orders",
            "< 1062!",
            "> PREPARE SELECT books",
            "<",
            "> SELECT books",
            "<",
            "> = CLOSE",
            "> PING",
            "<",
            "> = QUIT",
        ];
        assert_eq!(sample_conversations()[0].operation_lines(), expected);
    }

    #[test]
    fn encrypted_and_compressed_connections_yield_nothing_more() {
        let tls = make_packet(1, &[&0x0800_u32.to_le_bytes(), [0; 28].as_slice()].concat());
        let talk = TestConversation::other_protocol()
            .server_says(make_greeting())
            .client_says(tls)
            .client_says(make_command(3, "SELECT 1"));
        assert_eq!(talk.operation_lines(), ["< = GREETING", "> = TLS"]);
        let talk = TestConversation::other_protocol()
            .server_says(make_greeting())
            .client_says(make_login(0x20))
            .server_says(make_packet(2, OK));
        let lines = talk.client_says(make_command(3, "SELECT 1")).operation_lines();
        assert_eq!(lines, ["< = GREETING", "> LOGIN", "<"]);
    }

    #[test]
    fn a_flow_that_is_joined_later() {
        let talk = TestConversation::other_protocol()
            .client_says(make_command(3, "SELECT 1 FROM books"))
            .server_says(make_packet(1, b"\x01"))
            .client_says(make_command(0x0e, ""));
        assert_eq!(talk.operation_lines(), ["> SELECT books", "<", "> PING"]);
        assert_eq!(
            TestConversation::other_protocol()
                .client_says(make_command(3, "alice"))
                .operation_lines(),
            [""; 0]
        );
    }
}
