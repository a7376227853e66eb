//! Handwritten PostgreSQL conversations.

use crate::test_conversation::TestConversation;

fn make_message(kind: u8, body: &[u8]) -> Vec<u8> {
    [&[kind], (body.len() as u32 + 4).to_be_bytes().as_slice(), body].concat()
}

fn query_message(text: &str) -> Vec<u8> {
    make_message(b'Q', format!("{text}\0").as_bytes())
}

fn parse_message(name: &str, text: &str) -> Vec<u8> {
    make_message(b'P', format!("{name}\0{text}\0\0\0").as_bytes())
}

fn bind_message(portal: &str, name: &str) -> Vec<u8> {
    make_message(b'B', format!("{portal}\0{name}\0\0\0\0\x01\0\0\0\x05alice\0\0").as_bytes())
}

fn execute_message(portal: &str) -> Vec<u8> {
    make_message(b'E', format!("{portal}\0\0\0\0\0").as_bytes())
}

fn sync_message() -> Vec<u8> {
    make_message(b'S', &[])
}

fn done_message(tag: &str) -> Vec<u8> {
    make_message(b'C', format!("{tag}\0").as_bytes())
}

fn ready_message() -> Vec<u8> {
    make_message(b'Z', b"I")
}

fn error_message(code: &str) -> Vec<u8> {
    make_message(
        b'E',
        format!("SERROR\0VERROR\0C{code}\0MKey (name)=(alice) exists\0\0").as_bytes(),
    )
}

fn startup_message() -> Vec<u8> {
    let parameters = b"user\0alice\0database\0shop\0\0";
    let length = (8 + parameters.len() as u32).to_be_bytes();
    [length.as_slice(), &[0, 3, 0, 0], parameters].concat()
}

fn row_messages(count: usize) -> Vec<u8> {
    let row = make_message(b'D', b"\0\x01\0\0\0\x05alice");
    [make_message(b'T', b"\0\0"), row.repeat(count)].concat()
}

pub(crate) fn sample_conversations() -> Vec<TestConversation> {
    vec![
        TestConversation::other_protocol()
            .client_says([0, 0, 0, 8, 4, 210, 22, 47])
            .server_says("N")
            .client_says(startup_message())
            .server_says(make_message(b'R', b"\0\0\0\x03"))
            .client_says(make_message(b'p', b"secret\0"))
            .server_says(
                [make_message(b'R', &[0; 4]), make_message(b'S', b"a\0b\0"), ready_message()]
                    .concat(),
            )
            .client_says(query_message("SELECT * FROM books WHERE title = 'alice'"))
            .server_says([row_messages(2), done_message("SELECT 2"), ready_message()].concat())
            .client_says(query_message("INSERT INTO orders VALUES (1, 'alice')"))
            .server_says([error_message("23505"), ready_message()].concat()),
        TestConversation::other_protocol()
            .client_says(
                [parse_message("s1", "SELECT b FROM books WHERE a = $1"), sync_message()].concat(),
            )
            .server_says([make_message(b'1', &[]), ready_message()].concat())
            .client_says([bind_message("", "s1"), execute_message(""), sync_message()].concat())
            .server_says(
                [
                    make_message(b'2', &[]),
                    row_messages(100),
                    done_message("SELECT 100"),
                    ready_message(),
                ]
                .concat(),
            )
            .client_says(
                [
                    parse_message("", "UPDATE books SET a = $1"),
                    bind_message("", ""),
                    execute_message(""),
                    sync_message(),
                ]
                .concat(),
            )
            .server_says(
                [
                    make_message(b'1', &[]),
                    make_message(b'2', &[]),
                    done_message("UPDATE 1"),
                    ready_message(),
                ]
                .concat(),
            ),
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
    assert_eq!(sample_conversations()[0].operation_lines(), expected);
    let operations = sample_conversations()[0].parse_operations();
    assert!(operations.iter().any(|of| of.detail == "SELECT * FROM books WHERE title = ?"));
}

#[test]
fn extended_queries_by_prepared_statements() {
    let expected = ["> PREPARE SELECT books", "<", "> SELECT books", "<", "> UPDATE books", "<"];
    assert_eq!(sample_conversations()[1].operation_lines(), expected);
}

#[test]
fn a_pipeline_has_a_response_for_each_execution() {
    let one =
        [parse_message("", "DELETE FROM a"), bind_message("", ""), execute_message("")].concat();
    let two = [
        parse_message("", "DELETE FROM b"),
        bind_message("", ""),
        execute_message(""),
        sync_message(),
    ]
    .concat();
    let parsed = [make_message(b'1', &[]), make_message(b'2', &[])].concat();
    let talk = TestConversation::other_protocol().client_says([one, two].concat()).server_says(
        [parsed.clone(), done_message("DELETE 1"), parsed, error_message("40001"), ready_message()]
            .concat(),
    );
    assert_eq!(talk.operation_lines(), ["> DELETE a", "> DELETE b", "<", "< 40001!"]);
}

/// A long statement and its rows are truncated; the following ones are recognised all the same.
#[test]
fn turns_that_are_cut_off() {
    let long = format!("SELECT a FROM books WHERE a IN ({})", "'alice', ".repeat(50));
    let talk = TestConversation::other_protocol()
        .client_says(query_message(&long))
        .server_says([row_messages(100), done_message("SELECT 100"), ready_message()].concat())
        .client_says(query_message("COMMIT"))
        .server_says([done_message("COMMIT"), ready_message()].concat());
    assert_eq!(talk.operation_lines(), ["> SELECT books", "<", "> COMMIT", "<"]);
}

#[test]
fn a_long_statement_without_a_name_is_executed_at_once() {
    let long = format!("SELECT a FROM books WHERE b = $1 {}", "AND a = 1 ".repeat(50));
    let messages = |name| {
        [parse_message(name, &long), bind_message("", name), execute_message(""), sync_message()]
            .concat()
    };
    let talk = TestConversation::other_protocol()
        .client_says(messages(""))
        .server_says(ready_message())
        .client_says(messages("s1"))
        .server_says(ready_message())
        .client_says([bind_message("", "s1"), execute_message(""), sync_message()].concat());
    assert_eq!(talk.operation_lines(), ["> SELECT books", "<", ">", "<", "> SELECT books"]);
}

#[test]
fn encrypted_connections_yield_nothing_more() {
    let talk = TestConversation::other_protocol()
        .client_says([0, 0, 0, 8, 4, 210, 22, 47])
        .server_says("S")
        .client_says(b"\x16\x03\x01\x02\x00\x01")
        .server_says(query_message("SELECT 1"));
    assert_eq!(talk.operation_lines(), ["> TLS", "<"]);
}

#[test]
fn a_flow_that_is_joined_later() {
    let talk = TestConversation::other_protocol()
        .server_says(row_messages(1))
        .client_says([bind_message("", "s7"), execute_message(""), sync_message()].concat())
        .server_says(ready_message())
        .client_says(query_message("SELECT 1 FROM books"))
        .server_says([row_messages(1), done_message("SELECT 1"), ready_message()].concat());
    assert_eq!(talk.operation_lines()[talk.operation_lines().len() - 2..], ["> SELECT books", "<"]);
}

#[test]
fn an_error_that_answers_nothing() {
    let asked = || TestConversation::other_protocol().client_says(query_message("SELECT 1"));
    let answered = || asked().server_says([done_message("SELECT 1"), ready_message()].concat());
    let expected = ["> SELECT", "<", "< = ERROR 57P01!"];
    assert_eq!(answered().server_says(error_message("57P01")).operation_lines(), expected);
    // The first of two queries was answered, and the second was not.
    let second =
        answered().client_says(query_message("COMMIT")).server_says(error_message("57P01"));
    assert_eq!(second.operation_lines(), ["> SELECT", "<", "> COMMIT", "< 57P01!"]);
}
