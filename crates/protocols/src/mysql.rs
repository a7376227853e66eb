//! MySQL's protocol: queries by kind and tables, errors by their number.
//!
//! One command is answered before the next is sent. Prepared statements are remembered by the id
//! that the server gives them.

use registry::About;

use crate::cursor::Cursor;
use crate::names::{Dialect, Summary, begins_statement, statement};
use crate::opening::{Opening, yes_if};
use crate::operation::{Operation, Out, Role};
use crate::parser::{Next, Parser};
use crate::piece::{Class, Speaker};
use crate::protocol::Protocol;
use crate::remembered::Remembered;
use crate::streams::{Heard, Messages, Step, Streams};
use crate::tuning::{OTHER_MESSAGE_BYTES, PREPARED_STATEMENTS};

/// The entry of MySQL.
pub(crate) static MYSQL: Protocol = Protocol {
    about: About {
        name: "mysql",
        summary: "MySQL and MariaDB: kind and tables of statements, numbers of errors",
        ..About::NOTHING
    },
    class: Class::Other,
    recognised: "The server's greeting, or a query or prepared statement that begins as SQL does.",
    recognise: |opening: &Opening| {
        let greets = opening.server_leads() && is_greeting(opening.server());
        yes_if(greets || is_query(opening.client()))
    },
    open,
    #[cfg(test)]
    samples: tests::samples,
};

fn open() -> Box<dyn Parser> {
    let statements = Remembered::new(PREPARED_STATEMENTS);
    Box::new(Streams::new(MySql { statements, waiting: None, latest: None, is_compressed: false }))
}

const NAME: &str = "mysql";

const QUERY: u8 = 0x03;
const PREPARE: u8 = 0x16;
const EXECUTE: u8 = 0x17;

const OK: u8 = 0;
const MORE_LOGIN: u8 = 1;
const SWITCH_LOGIN: u8 = 0xfe;
const ERROR: u8 = 0xff;

/// Capabilities of a client.
const COMPRESS: u32 = 0x20;
const TLS: u32 = 0x800;
const COMPRESS_ZSTD: u32 = 1 << 26;

/// Commands by their numbers, and whether they are answered.
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

/// The head of a packet: length of its body, and its number in the command.
fn head(cursor: &mut Cursor<'_>) -> Option<(u32, u8)> {
    let word = cursor.le_u32()?;
    Some((word & 0xff_ffff, (word >> 24) as u8))
}

fn is_greeting(server: &[u8]) -> bool {
    let mut cursor = Cursor(server);
    let Some((30..=512, 0)) = head(&mut cursor) else { return false };
    cursor.u8() == Some(10)
        && cursor.text().is_some_and(|version| {
            let printable = version.iter().all(|byte| byte.is_ascii_graphic());
            version.len() <= 100 && printable && version.contains(&b'.')
        })
}

fn is_query(client: &[u8]) -> bool {
    let mut cursor = Cursor(client);
    let Some((length @ 4.., 0)) = head(&mut cursor) else { return false };
    let is_statement = matches!(cursor.u8(), Some(QUERY | PREPARE));
    let whole = cursor.0.len() as u64 + 1 == u64::from(length);
    is_statement && begins_statement(text_of(cursor.0), whole)
}

/// The text of a query, behind its attributes where a client says that it has none.
fn text_of(body: &[u8]) -> &[u8] {
    body.strip_prefix(&[0, 1]).unwrap_or(body)
}

#[derive(Debug)]
struct MySql {
    statements: Remembered<u32, Summary>,
    waiting: Option<Waiting>,
    /// Number of the latest packet of either side.
    latest: Option<u8>,
    is_compressed: bool,
}

/// A command that the server has not answered.
#[derive(Debug)]
enum Waiting {
    Login,
    Command,
    /// A statement that gets its id.
    Prepare(Summary),
}

impl Messages for MySql {
    const NAME: &'static str = NAME;
    const BOUND: usize = OTHER_MESSAGE_BYTES;
    const QUIET_TURNS: bool = true;

    fn message(&mut self, heard: &Heard<'_>, out: &mut Out<'_>) -> Step {
        let mut cursor = Cursor(heard.bytes);
        let Some((length, number)) = head(&mut cursor) else { return heard.more() };
        let there = cursor.0.len().min(length as usize);
        let whole = there == length as usize;
        let body = cursor.0.get(..there).unwrap_or_default();
        let step = match heard.speaker {
            Speaker::Client => self.asks(number, body, whole, heard, out),
            Speaker::Server => self.answers(number, body, heard, out),
        };
        step.unwrap_or_else(|| {
            self.latest = Some(number);
            Step::Skip(4 + u64::from(length))
        })
    }
}

impl MySql {
    /// A packet of the client; `None` where it has been dealt with.
    fn asks(
        &mut self,
        number: u8,
        body: &[u8],
        whole: bool,
        heard: &Heard<'_>,
        out: &mut Out<'_>,
    ) -> Option<Step> {
        let mut cursor = Cursor(body);
        let request = |name: &str| Operation::new(heard.place(0), Role::Request, NAME).named(name);
        if number == 1 && self.waiting.is_none() && !heard.after_gap {
            let Some(capabilities) = cursor.le_u32() else { return Some(heard.more()) };
            if capabilities & TLS != 0 && body.len() == 32 && whole {
                out.push(Operation { role: Role::OneWay, ..request("TLS") });
                return Some(Step::Leave(Next::Silent));
            }
            self.is_compressed = capabilities & (COMPRESS | COMPRESS_ZSTD) != 0;
            self.waiting = Some(Waiting::Login);
            out.push(request("LOGIN"));
            return None;
        }
        if number != 0 {
            // The rest of a login, or of a file that is sent. Its length is not to be believed
            // where the number does not follow.
            let follows = self.latest.is_some_and(|latest| number == latest.wrapping_add(1));
            return if follows { None } else { Some(Step::Lost) };
        }
        let Some(command) = cursor.u8() else { return Some(heard.more()) };
        match command {
            QUERY | PREPARE => {
                if !whole && !heard.ended {
                    return Some(Step::More);
                }
                let text = text_of(cursor.0);
                if heard.after_gap && !begins_statement(text, whole) {
                    return Some(Step::Lost);
                }
                let summary = statement(text, whole, Dialect::MySql);
                let Summary { name, detail } = summary.clone();
                if command == QUERY {
                    self.waiting = Some(Waiting::Command);
                    out.push(Operation { detail, ..request(&name) });
                } else {
                    self.waiting = Some(Waiting::Prepare(summary));
                    let name = format!("PREPARE {name}");
                    out.push(Operation { detail, ..request(name.trim_end()) });
                }
            }
            EXECUTE => {
                let Some(id) = cursor.le_u32() else { return Some(heard.more()) };
                let Summary { name, detail } =
                    self.statements.get(&id).cloned().unwrap_or_default();
                self.waiting = Some(Waiting::Command);
                out.push(Operation { detail, ..request(&name) });
            }
            _ => {
                let known = COMMANDS.iter().find(|(number, ..)| *number == command);
                let Some((_, name, is_answered)) = known else { return Some(Step::Lost) };
                if *is_answered {
                    self.waiting = Some(Waiting::Command);
                    out.push(request(name));
                } else {
                    out.push(Operation { role: Role::OneWay, ..request(name) });
                }
            }
        }
        None
    }

    /// A packet of the server; `None` where it has been dealt with.
    fn answers(
        &mut self,
        number: u8,
        body: &[u8],
        heard: &Heard<'_>,
        out: &mut Out<'_>,
    ) -> Option<Step> {
        let mut cursor = Cursor(body);
        let Some(kind) = cursor.u8() else { return Some(heard.more()) };
        if number == 0 {
            let is_first = kind == 10 && self.waiting.is_none();
            let greeting = Operation::new(heard.place(0), Role::OneWay, NAME).named("GREETING");
            out.extend(is_first.then_some(greeting));
            return if is_first { None } else { Some(Step::Lost) };
        }
        let response = Operation::new(heard.place(0), Role::Response, NAME);
        match self.waiting.take() {
            // More of an answer.
            None => return None,
            Some(Waiting::Login) if matches!(kind, MORE_LOGIN | SWITCH_LOGIN) => {
                self.waiting = Some(Waiting::Login);
                return None;
            }
            Some(waiting) if kind == ERROR => {
                let Some(code) = cursor.le_u16() else {
                    if heard.ended {
                        out.push(response.ended("", true));
                        return None;
                    }
                    self.waiting = Some(waiting);
                    return Some(Step::More);
                };
                out.push(response.ended(code.to_string(), true));
                return None;
            }
            Some(Waiting::Prepare(summary)) if kind == OK => match cursor.le_u32() {
                Some(id) => self.statements.insert(id, summary),
                None if heard.ended => {}
                None => {
                    self.waiting = Some(Waiting::Prepare(summary));
                    return Some(Step::More);
                }
            },
            Some(Waiting::Login) if kind == OK && self.is_compressed => {
                out.push(response);
                return Some(Step::Leave(Next::Silent));
            }
            Some(_) => {}
        }
        out.push(response);
        None
    }
}

#[cfg(test)]
mod tests {
    use crate::talk::Talk;

    fn packet(number: u8, body: &[u8]) -> Vec<u8> {
        [&(body.len() as u32).to_le_bytes()[..3], &[number], body].concat()
    }

    fn command(code: u8, text: &str) -> Vec<u8> {
        packet(0, &[&[code], text.as_bytes()].concat())
    }

    fn greeting() -> Vec<u8> {
        packet(0, &[b"\x0a8.0.36\0".as_slice(), &[7; 60]].concat())
    }

    fn login(capabilities: u32) -> Vec<u8> {
        packet(1, &[&capabilities.to_le_bytes(), [0; 28].as_slice(), b"alice\0secret"].concat())
    }

    const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];

    pub(crate) fn samples() -> Vec<Talk> {
        let error = [b"\xff\x26\x04#23000Duplicate".as_slice(), b"alice"].concat();
        let rows: Vec<u8> = (1..60).flat_map(|number| packet(number, b"\x05alice")).collect();
        let prepared = packet(1, &[0, 7, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0]);
        vec![
            Talk::other()
                .server(greeting())
                .client(login(0x000f_a685 & !0x20))
                .server(packet(2, &[1, 4]))
                .client(packet(3, b"secret"))
                .server(packet(4, OK))
                .client(command(3, "SELECT * FROM `books` WHERE title = \"alice\""))
                .server(rows)
                .client(command(3, "\0\x01INSERT INTO orders VALUES (1)"))
                .server(packet(1, &error))
                .client(command(0x16, "SELECT a FROM books WHERE b = ?"))
                .server(prepared)
                .client(packet(0, b"\x17\x07\0\0\0\0\x01\0\0\0alice"))
                .server(packet(1, b"\x02"))
                .client([packet(0, b"\x19\x07\0\0\0"), command(0x0e, "")].concat())
                .server(packet(1, OK))
                .client(command(1, "")),
        ]
    }

    #[test]
    fn commands_and_their_answers() {
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
        assert_eq!(samples()[0].told(), expected);
    }

    #[test]
    fn encrypted_and_compressed_connections_say_nothing_more() {
        let tls = packet(1, &[&0x0800_u32.to_le_bytes(), [0; 28].as_slice()].concat());
        let talk = Talk::other().server(greeting()).client(tls).client(command(3, "SELECT 1"));
        assert_eq!(talk.told(), ["< = GREETING", "> = TLS"]);
        let talk = Talk::other().server(greeting()).client(login(0x20)).server(packet(2, OK));
        let told = talk.client(command(3, "SELECT 1")).told();
        assert_eq!(told, ["< = GREETING", "> LOGIN", "<"]);
    }

    #[test]
    fn a_flow_that_is_joined_later() {
        let talk = Talk::other()
            .client(command(3, "SELECT 1 FROM books"))
            .server(packet(1, b"\x01"))
            .client(command(0x0e, ""));
        assert_eq!(talk.told(), ["> SELECT books", "<", "> PING"]);
        assert_eq!(Talk::other().client(command(3, "alice")).told(), [""; 0]);
    }
}
