//! Conversations of PostgreSQL by hand.

use crate::talk::Talk;

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    [&[kind], (body.len() as u32 + 4).to_be_bytes().as_slice(), body].concat()
}

fn query(text: &str) -> Vec<u8> {
    message(b'Q', format!("{text}\0").as_bytes())
}

fn parse(name: &str, text: &str) -> Vec<u8> {
    message(b'P', format!("{name}\0{text}\0\0\0").as_bytes())
}

fn bind(portal: &str, name: &str) -> Vec<u8> {
    message(b'B', format!("{portal}\0{name}\0\0\0\0\x01\0\0\0\x05alice\0\0").as_bytes())
}

fn execute(portal: &str) -> Vec<u8> {
    message(b'E', format!("{portal}\0\0\0\0\0").as_bytes())
}

fn sync() -> Vec<u8> {
    message(b'S', &[])
}

fn done(tag: &str) -> Vec<u8> {
    message(b'C', format!("{tag}\0").as_bytes())
}

fn ready() -> Vec<u8> {
    message(b'Z', b"I")
}

fn error(code: &str) -> Vec<u8> {
    message(b'E', format!("SERROR\0VERROR\0C{code}\0MKey (name)=(alice) exists\0\0").as_bytes())
}

fn startup() -> Vec<u8> {
    let parameters = b"user\0alice\0database\0shop\0\0";
    let length = (8 + parameters.len() as u32).to_be_bytes();
    [length.as_slice(), &[0, 3, 0, 0], parameters].concat()
}

fn rows(count: usize) -> Vec<u8> {
    let row = message(b'D', b"\0\x01\0\0\0\x05alice");
    [message(b'T', b"\0\0"), row.repeat(count)].concat()
}

pub(crate) fn samples() -> Vec<Talk> {
    vec![
        Talk::other()
            .client([0, 0, 0, 8, 4, 210, 22, 47])
            .server("N")
            .client(startup())
            .server(message(b'R', b"\0\0\0\x03"))
            .client(message(b'p', b"secret\0"))
            .server([message(b'R', &[0; 4]), message(b'S', b"a\0b\0"), ready()].concat())
            .client(query("SELECT * FROM books WHERE title = 'alice'"))
            .server([rows(2), done("SELECT 2"), ready()].concat())
            .client(query("INSERT INTO orders VALUES (1, 'alice')"))
            .server([error("23505"), ready()].concat()),
        Talk::other()
            .client([parse("s1", "SELECT b FROM books WHERE a = $1"), sync()].concat())
            .server([message(b'1', &[]), ready()].concat())
            .client([bind("", "s1"), execute(""), sync()].concat())
            .server([message(b'2', &[]), rows(100), done("SELECT 100"), ready()].concat())
            .client(
                [parse("", "UPDATE books SET a = $1"), bind("", ""), execute(""), sync()].concat(),
            )
            .server([message(b'1', &[]), message(b'2', &[]), done("UPDATE 1"), ready()].concat()),
    ]
}

#[test]
fn simple_queries_and_a_login() {
    let expected = [
        "> TLS",
        "<",
        "> STARTUP",
        "<",
        "> AUTHENTICATE",
        "<",
        "> SELECT books",
        "<",
        "> INSERT orders",
        "< 23505!",
    ];
    assert_eq!(samples()[0].told(), expected);
    let operations = samples()[0].operations();
    assert!(operations.iter().any(|of| of.detail == "SELECT * FROM books WHERE title = ?"));
}

#[test]
fn extended_queries_by_prepared_statements() {
    let expected = ["> PREPARE SELECT books", "<", "> SELECT books", "<", "> UPDATE books", "<"];
    assert_eq!(samples()[1].told(), expected);
}

#[test]
fn a_pipeline_has_a_response_for_each_execution() {
    let one = [parse("", "DELETE FROM a"), bind("", ""), execute("")].concat();
    let two = [parse("", "DELETE FROM b"), bind("", ""), execute(""), sync()].concat();
    let parsed = [message(b'1', &[]), message(b'2', &[])].concat();
    let talk = Talk::other()
        .client([one, two].concat())
        .server([parsed.clone(), done("DELETE 1"), parsed, error("40001"), ready()].concat());
    assert_eq!(talk.told(), ["> DELETE a", "> DELETE b", "<", "< 40001!"]);
}

/// A long statement is cut off, and so are its rows; the next ones are told all the same.
#[test]
fn turns_that_are_cut_off() {
    let long = format!("SELECT a FROM books WHERE a IN ({})", "'alice', ".repeat(50));
    let talk = Talk::other()
        .client(query(&long))
        .server([rows(100), done("SELECT 100"), ready()].concat())
        .client(query("COMMIT"))
        .server([done("COMMIT"), ready()].concat());
    assert_eq!(talk.told(), ["> SELECT books", "<", "> COMMIT", "<"]);
}

#[test]
fn a_long_statement_without_a_name_is_executed_at_once() {
    let long = format!("SELECT a FROM books WHERE b = $1 {}", "AND a = 1 ".repeat(50));
    let messages = |name| [parse(name, &long), bind("", name), execute(""), sync()].concat();
    let talk = Talk::other()
        .client(messages(""))
        .server(ready())
        .client(messages("s1"))
        .server(ready())
        .client([bind("", "s1"), execute(""), sync()].concat());
    assert_eq!(talk.told(), ["> SELECT books", "<", ">", "<", "> SELECT books"]);
}

#[test]
fn encrypted_connections_say_nothing_more() {
    let talk = Talk::other()
        .client([0, 0, 0, 8, 4, 210, 22, 47])
        .server("S")
        .client(b"\x16\x03\x01\x02\x00\x01")
        .server(query("SELECT 1"));
    assert_eq!(talk.told(), ["> TLS", "<"]);
}

#[test]
fn a_flow_that_is_joined_later() {
    let talk = Talk::other()
        .server(rows(1))
        .client([bind("", "s7"), execute(""), sync()].concat())
        .server(ready())
        .client(query("SELECT 1 FROM books"))
        .server([rows(1), done("SELECT 1"), ready()].concat());
    assert_eq!(talk.told()[talk.told().len() - 2..], ["> SELECT books", "<"]);
}

#[test]
fn an_error_that_answers_nothing() {
    let asked = || Talk::other().client(query("SELECT 1"));
    let answered = || asked().server([done("SELECT 1"), ready()].concat());
    let expected = ["> SELECT", "<", "< = ERROR 57P01!"];
    assert_eq!(answered().server(error("57P01")).told(), expected);
    // The first query of two was answered, and the second was not.
    let second = answered().client(query("COMMIT")).server(error("57P01"));
    assert_eq!(second.told(), ["> SELECT", "<", "> COMMIT", "< 57P01!"]);
}
