//! Tests with literals that a client sends, in all protocols and positions: no literal may appear
//! in the output.

use proptest::prelude::*;

use crate::cases::run_cases;
use crate::flow_snippet::SnippetRule;
use crate::names::{StatementDialect, reduce_label, summarise_statement, target_route};
use crate::test_conversation::{OwnedSnippet, TestConversation, operations_of_snippets};

/// Prefix of each part of a literal. None of our names contains it.
const MARK: &str = "q7";

/// Literals of letters and digits.
fn plain_literals() -> impl Strategy<Value = String> {
    "q7[a-z0-9]{3,12}"
}

/// Literals with characters that begin or end something in SQL.
fn tricky_literals() -> impl Strategy<Value = String> {
    "q7[a-z0-9]{1,4}((['\"`$]|\\\\|--|/\\*|\\*/|;|\\$\\$|,| |\\(|\\)|#|\n)q7[a-z0-9]{1,4}){0,4}"
}

fn assert_none(text: &str, of: &str) {
    assert!(!text.to_ascii_lowercase().contains(MARK), "{text:?} is told of {of:?}");
}

#[test]
fn paths_and_labels() {
    run_cases(2000, (plain_literals(), 0..PATHS.len()), |(literal, form)| {
        let target = PATHS[form].replace("LIT", &literal);
        assert_none(&target_route(&target), &target);
        assert_none(&reduce_label(&format!("orders.{literal}.new")), &literal);
    });
}

const PATHS: &[&str] = &[
    "/LIT",
    "/user/LIT/cart",
    "/cart?name=LIT",
    "/cart#LIT",
    "/cart;id=LIT",
    "/api/v1/products/LIT.html",
    "/a-LIT/b",
    "/LIT_a/LIT.js",
    "http://LIT:LIT@LIT.example/cart",
    "LIT:443",
    "/%LIT/x",
    "/files/a/LIT",
    "/~LIT",
    "/LIT/LIT/LIT",
];

/// Statements in which `'LIT'` and similar tokens are literals.
const STATEMENTS: &[&str] = &[
    "SELECT * FROM books WHERE a = 'LIT' AND b IN ('LIT', 'LIT') LIMIT 10",
    "INSERT INTO books (a, b) VALUES ('LIT', 1), ('x', 'LIT')",
    "UPDATE books SET a = 'LIT' WHERE b LIKE '%LIT%' AND c > 1",
    "DELETE FROM books WHERE a = 'LIT' -- of a",
    "SELECT 'LIT' FROM a JOIN b ON a.x = b.y WHERE 'LIT' = b.z",
    "WITH w AS (SELECT 'LIT' AS a) SELECT * FROM w, books",
    "CALL pay('LIT', 'LIT')",
    "SET x = 'LIT'",
    "CREATE USER x PASSWORD 'LIT'",
    "SELECT f('LIT') FROM books GROUP BY 'LIT' HAVING 'LIT' > 'a'",
    "/* a */ SELECT 'LIT' FROM books -- b",
    "/*!40101 SELECT 'LIT' FROM books */",
    "/*! SET a = 'LIT' */ SELECT 'LIT'",
    "(/*M!100100 SELECT 'LIT' AS a */) UNION SELECT 'LIT'",
];

/// Literals are quoted as a server of this kind reads them, both with and without backslash
/// escapes. None appears in the output, wherever the statement is truncated.
#[test]
fn statements() {
    let forms =
        (tricky_literals(), 0..STATEMENTS.len(), any::<bool>(), any::<prop::sample::Index>());
    run_cases(3000, forms, |(literal, form, escapes, cut)| {
        let mut literal = literal.replace('\'', "''");
        if escapes {
            literal = literal.replace('\\', "\\\\");
        }
        let text = STATEMENTS[form].replace("LIT", &literal);
        let length = cut.index(text.len() + 1);
        let whole = length == text.len();
        let bytes = &text.as_bytes()[..length];
        let mut all = vec![
            summarise_statement(bytes, whole, StatementDialect::PostgreSql),
            summarise_statement(bytes, whole, StatementDialect::MySql),
        ];
        // MySQL accepts the other quotes around literals, too.
        let double = text.replace("''", "\u{1}").replace('"', "\"\"").replace('\'', "\"");
        let double = double.replace('\u{1}', "'");
        all.push(summarise_statement(double.as_bytes(), true, StatementDialect::MySql));
        for summary in all {
            assert_none(&summary.name, &text);
            assert_none(&summary.detail, &text);
        }
    });
}

/// Conversations in all protocols, with a literal wherever a client can send one.
fn literal_conversations(literal: &str) -> Vec<TestConversation> {
    let fill = |text: &str| text.replace("LIT", literal);
    let mut talks = vec![
        TestConversation::new(SnippetRule::Http1)
            .client_says(fill(
                "GET /user/LIT?LIT HTTP/1.1\r\nHost: LIT\r\nX-Request-Id: LIT\r\n\r\n",
            ))
            .server_says(fill("HTTP/1.1 404 LIT\r\nContent-Type: LIT\r\n\r\n")),
        TestConversation::new(SnippetRule::Http1)
            .client_says(fill("CONNECT LIT:443 HTTP/1.1\r\n\r\n")),
        TestConversation::other_protocol()
            .client_says(fill("get LIT\r\nset LIT 0 0 5\r\nq7abc\r\nmg LIT OLIT k\r\n"))
            .server_says(fill(
                "VALUE LIT 0 5\r\nq7abc\r\nEND\r\nCLIENT_ERROR LIT\r\nVERSION LIT\r\n",
            )),
        TestConversation::other_protocol()
            .server_says(fill("220 LIT\r\n"))
            .client_says(fill("EHLO LIT\r\nMAIL FROM:<LIT>\r\nRCPT TO:<LIT>\r\nAUTH PLAIN LIT\r\n"))
            .server_says(fill("250 LIT\r\n550 LIT\r\n334 LIT\r\n"))
            .client_says(fill("LIT\r\nDATA\r\n"))
            .server_says("354 \r\n")
            .client_says(fill("Subject: LIT\r\n\r\nRSET\r\n.\r\nVRFY LIT\r\n")),
        TestConversation::other_protocol()
            .server_says(fill("* OK LIT\r\n"))
            .client_says(fill(
                "a1 LOGIN LIT \"LIT\"\r\na2 SELECT LIT\r\na3 UID SEARCH FROM LIT\r\n",
            ))
            .server_says(fill("a1 NO LIT\r\n* LIST LIT\r\na2 OK LIT\r\n")),
    ];
    let arguments = [literal, "GET", literal];
    let text = |word: &&str| format!("${}\r\n{word}\r\n", word.len());
    let array = |words: &[&str]| {
        format!("*{}\r\n{}", words.len(), words.iter().map(text).collect::<String>())
    };
    let commands =
        [array(&["SET", literal, literal]), array(&arguments), array(&["EVAL", literal])];
    talks.push(
        TestConversation::other_protocol()
            .client_says(commands.concat())
            .server_says(fill("+LIT\r\n-LIT LIT\r\n-ERR LIT\r\n").into_bytes()),
    );
    // Samples of all protocols contain "alice" in place of a client's own values.
    for protocol in crate::PROTOCOLS {
        talks.extend((protocol.samples)());
    }
    talks
}

#[test]
fn conversations() {
    let cuts = proptest::collection::vec(any::<prop::sample::Index>(), 40);
    run_cases(60, (plain_literals(), cuts), |(literal, cuts)| {
        for talk in literal_conversations(&literal) {
            let mut pieces: Vec<OwnedSnippet> = talk.snippets();
            check_snippets(&pieces);
            // Truncated snippets that are marked as such.
            for (piece, cut) in pieces.iter_mut().zip(&cuts) {
                let length = cut.index(piece.bytes.len() + 1);
                piece.of.cut |= length < piece.bytes.len();
                piece.bytes.truncate(length);
            }
            check_snippets(&pieces);
        }
    });
}

fn check_snippets(pieces: &[OwnedSnippet]) {
    for operation in operations_of_snippets(pieces) {
        for text in [&operation.name, &operation.detail, &operation.status] {
            let lower = text.to_ascii_lowercase();
            assert!(!lower.contains(MARK) && !lower.contains("alice"), "{operation:?}");
            assert!(!lower.contains("secret"), "{operation:?}");
        }
    }
}
