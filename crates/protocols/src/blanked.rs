//! Tests on samples in the form that the library records, with secrets and values blanked: the
//! operations are the same as without blanking.

use snippets::{TurnContext, blank_datagram, blank_turn};

use crate::flow_snippet::{FlowSpeaker, SnippetRule};
use crate::kinds::PROTOCOLS;
use crate::test_conversation::{OwnedSnippet, TestConversation, operations_of_snippets};

/// Snippets of a conversation as the library writes them.
pub(crate) fn blank_snippets(talk: &TestConversation) -> Vec<OwnedSnippet> {
    let mut pieces = talk.snippets();
    let mut context = TurnContext::default();
    let mut turn: Vec<u8> = Vec::new();
    for piece in &mut pieces {
        if piece.of.class != SnippetRule::Other {
            continue;
        }
        if piece.of.datagram {
            blank_datagram(&mut piece.bytes);
            continue;
        }
        if piece.of.begins_turn {
            turn.clear();
        }
        let before = turn.len();
        turn.extend(&piece.bytes);
        let mut kept = turn.clone();
        let direction = u8::from(piece.of.speaker == FlowSpeaker::Server);
        blank_turn(&mut kept, &mut context, direction);
        piece.bytes = kept.split_off(before);
    }
    pieces
}

#[test]
fn blanking_does_not_change_operations() {
    for protocol in PROTOCOLS {
        // The library has separate code for Redis messages.
        for talk in (protocol.samples)().iter().filter(|_| protocol.about.name != "redis") {
            let pieces = blank_snippets(talk);
            let text: Vec<String> = pieces
                .iter()
                .map(|of| String::from_utf8_lossy(&of.bytes).escape_debug().to_string())
                .collect();
            assert_eq!(operations_of_snippets(&pieces), talk.parse_operations(), "{text:#?}");
        }
    }
}

/// Lengths in bytes of the headers that receivers read first, before the rest of a message.
const HEADS: [(&str, usize); 7] = [
    ("dns", 2),
    ("fastcgi", 8),
    ("kafka", 4),
    ("memcached", 24),
    ("mongodb", 16),
    ("mysql", 4),
    ("postgresql", 4),
];

#[test]
fn blanking_does_not_change_operations_of_separate_headers() {
    for (name, length) in HEADS {
        let protocol = PROTOCOLS.iter().find(|protocol| protocol.about.name == name).unwrap();
        for talk in (protocol.samples)() {
            let parts = talk.in_fragments(length);
            assert_eq!(
                operations_of_snippets(&blank_snippets(&parts)),
                parts.parse_operations(),
                "{name}"
            );
        }
    }
}

/// The message after one that is longer than its snippet is recognised by itself alone.
#[test]
fn a_statement_is_recognised_after_a_truncated_one() {
    let long = format!("SELECT a FROM books WHERE b IN ({})", "1, ".repeat(200));
    let mysql = |text: &str| {
        let head = (text.len() as u32 + 1).to_le_bytes();
        [&head[..], &[3], text.as_bytes()].concat()
    };
    let answer = [7, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0];
    for text in ["SHOW TABLES", "SET a = 1", "COMMIT", "BEGIN", "USE books", "SELECT a FROM b"] {
        let talk = TestConversation::other_protocol().client_says(mysql(&long)).server_says(answer);
        let talk = talk.client_says(mysql(text)).server_says(answer);
        assert_eq!(operations_of_snippets(&blank_snippets(&talk)).len(), 4, "{text}");
        assert_eq!(
            operations_of_snippets(&blank_snippets(&talk)),
            talk.parse_operations(),
            "{text}"
        );
    }
}

/// Text before a statement changes neither what is kept nor its name. A request has no name if the
/// comment before it is longer than the snippet, or if its word is in no list.
#[test]
fn a_statement_is_recognised_after_comments() {
    let packet = |number: u8, body: &[u8]| {
        [&(body.len() as u32).to_le_bytes()[..3], &[number], body].concat()
    };
    let query = |text: &str| {
        [b"Q", &(text.len() as u32 + 5).to_be_bytes()[..], text.as_bytes(), b"\0"].concat()
    };
    let long = format!("/* alice {} */ SELECT a FROM books", "x".repeat(400));
    for (text, name) in [
        ("/* alice */ SELECT a FROM books", " SELECT books"),
        ("/* alice */ -- alice\n # alice\n SELECT a FROM books", " SELECT books"),
        ("-- alice\r\nUPDATE books SET a = 'alice'", " UPDATE books"),
        (" \n;;((SELECT a FROM books) UNION SELECT 2)", " SELECT books"),
        ("/**/SELECT/**/a FROM books", " SELECT books"),
        ("WITH w AS (SELECT 'alice') SELECT a FROM books", " SELECT books"),
        ("/*!40101 SET NAMES 'alice' */", " SET"),
        ("/*M!100100 SELECT a FROM books */", " SELECT books"),
        ("FROBNICATE alice", ""),
        ("--alice\nSELECT a FROM books", " SELECT books"),
        ("-- alice", ""),
        ("", ""),
        (&long, ""),
    ] {
        let answer = packet(1, b"\0\0\0\x02\0\0\0");
        let talk = TestConversation::other_protocol()
            .client_says(packet(0, b"\x03COMMIT"))
            .server_says(&answer);
        let talk =
            talk.client_says(packet(0, &[b"\x03", text.as_bytes()].concat())).server_says(&answer);
        let talk = talk.client_says(packet(0, b"\x03BEGIN")).server_says(&answer);
        // MySQL requires a space after the dashes; without it, the statement is an error.
        let expected_name = if text.starts_with("--alice") { "" } else { name };
        let expected = ["> COMMIT", "<", &format!(">{expected_name}"), "<", "> BEGIN", "<"];
        assert_eq!(
            crate::test_conversation::lines_of_snippets(&blank_snippets(&talk)),
            expected,
            "{text}"
        );
        let answer = b"C\0\0\0\x0dSELECT 1\0Z\0\0\0\x05I";
        let talk =
            TestConversation::other_protocol().client_says(query("COMMIT")).server_says(answer);
        let talk = talk.client_says(query(text)).server_says(answer);
        let talk = talk.client_says(query("BEGIN")).server_says(answer);
        let is_of_mysql = ["/*!", "/*M!", "#"].iter().any(|of| text.contains(of));
        let name = if is_of_mysql { "" } else { name };
        let expected = ["> COMMIT", "<", &format!(">{name}"), "<", "> BEGIN", "<"];
        assert_eq!(
            crate::test_conversation::lines_of_snippets(&blank_snippets(&talk)),
            expected,
            "{text}"
        );
        for piece in blank_snippets(&talk) {
            assert!(!String::from_utf8_lossy(&piece.bytes).contains("alice"), "{text}");
        }
    }
}

#[test]
fn no_value_of_a_client_is_kept() {
    for protocol in PROTOCOLS {
        for talk in (protocol.samples)().iter().filter(|_| protocol.about.name != "redis") {
            for piece in
                blank_snippets(talk).iter().filter(|piece| piece.of.class == SnippetRule::Other)
            {
                let text = String::from_utf8_lossy(&piece.bytes).to_lowercase();
                // Topics and routes are names; parts that may identify a person are left out later.
                let text = text.replace("user.alice", "");
                let own = ["alice", "secret"].into_iter().find(|own| text.contains(own));
                assert_eq!(own, None, "{}: {text:?}", protocol.about.name);
            }
        }
    }
}
