//! Tests of the kept parts of turns.

use super::*;

/// Blanks a turn and returns it as text.
fn kept(turn: &[u8]) -> String {
    let mut turn = turn.to_vec();
    blank_turn(&mut turn, &mut TurnContext::default(), 0);
    turn.escape_ascii().to_string()
}

#[test]
fn a_statement_that_is_bound() {
    let bind = b"B\0\0\0\x17\0s1\0\0\0\0\x01\0\0\0\x05alice\0\0E\0\0\0\t\0\0\0\0\0S\0\0\0\x04";
    assert_eq!(
        kept(bind),
        "B\\x00\\x00\\x00\\x17\\x00s1\\x00***************E\\x00\\x00\\x00\\t\\x00****S\\x00\\x00\\x00\\x04"
    );
}

#[test]
fn spans_of_a_datagram_match_its_blanked_bytes() {
    let mut query = b"\x12\x34\x01\0\0\x01\0\0\0\0\0\0\x05alice\x03box\0\0\x01\0\x01more".to_vec();
    let pieces: Vec<u8> = DatagramQuestion::parse(&query)
        .unwrap()
        .spans()
        .flat_map(|piece| match piece {
            DatagramSpan::Bytes(bytes) => bytes.to_vec(),
            DatagramSpan::Blank(count) => vec![BLANK; count],
        })
        .collect();
    blank_datagram(&mut query);
    assert_eq!([&pieces[..], b"****"].concat(), query);
    assert!(!query.windows(5).any(|of| of == b"alice"));
    assert!(DatagramQuestion::parse(b"<13>alice: hello, this is a line of a log").is_none());
}

#[test]
fn statements_keep_their_tables_alone() {
    let kept = |text: &str| {
        let body = [text.as_bytes(), &[0]].concat();
        let query = [b"Q", &(body.len() as u32 + 4).to_be_bytes()[..], &body].concat();
        let mut turn = query.clone();
        blank_turn(&mut turn, &mut TurnContext::default(), 0);
        String::from_utf8(turn[5..turn.len() - 1].to_vec()).unwrap()
    };
    for (said, expected) in [
        ("SELECT a FROM books WHERE b = 'it''s'", "SELECT a FROM books WHERE b = '**''*'"),
        ("SELECT 12, 0x1f FROM shop.books b", "SELECT 00, 0000 FROM xxxx.books x"),
        ("SELECT a AS secret FROM \"Books\" -- x", "SELECT a AS xxxxxx FROM \"Books\" --**"),
        ("UPDATE t SET a = $$x$$ WHERE b", "UPDATE t SET a = $$***********"),
        ("UPDATE t SET a = E'\\x' WHERE b", "UPDATE t SET a = E'\\**********"),
        ("CREATE USER x PASSWORD 'y'", "CREATE USER **************"),
        ("CREATE TABLE books (a int)", "CREATE TABLE books (a xxx)"),
        ("BEGIN; SET x = 1; SELECT a FROM b", "BEGIN;***************************"),
        ("SELECT 1; SET x = secret", "SELECT 0; SET **********"),
        ("hunter hunter", "*************"),
    ] {
        assert_eq!(kept(said), expected, "{said}");
    }
}

#[test]
fn turns_of_unknown_protocols_are_blank() {
    for said in
        ["USER alice\r\n", "secret", "\x10\x1f\0\x04MQTT", "\0\0\0\x0esecretsecretse", "{}\n"]
    {
        let all: String = kept(said.as_bytes()).replace("\\r", "").replace("\\n", "");
        assert!(all.bytes().all(|byte| byte == BLANK), "{said:?}: {all}");
    }
}

#[test]
fn a_statement_longer_than_its_snippet_keeps_its_table() {
    for length in [380_u32, 649, 70_000] {
        let mut turn = length.to_le_bytes().to_vec();
        turn.extend(b"\x03CREATE TABLE wp_options (id int, name varchar(191) DEFAULT 'secret',");
        let kept = kept(&turn);
        assert!(kept.contains("CREATE TABLE wp_options (") && !kept.contains("secret"), "{kept}");
    }
}

#[test]
fn separate_mysql_packet_headers_are_kept() {
    for length in 1..u16::MAX {
        let mut head = length.to_le_bytes().to_vec();
        head.extend([0, 0]);
        let mut turn = head.clone();
        blank_turn(&mut turn, &mut TurnContext::default(), 0);
        assert_eq!(turn, head);
    }
}
