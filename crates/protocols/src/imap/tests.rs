use super::*;
use crate::test_conversation::TestConversation;

pub(crate) fn sample_conversations() -> Vec<TestConversation> {
    let fetched = format!("* 1 FETCH (BODY[] {{500}}\r\n{})\r\n", "alice".repeat(100));
    vec![
        TestConversation::other_protocol()
            .server_says("* OK ready\r\n")
            .client_says("a1 LOGIN {5}\r\n")
            .server_says("+ go on\r\n")
            .client_says("alice {6}\r\nsecret\r\n")
            .server_says("a1 OK in\r\n")
            .client_says("a2 select INBOX\r\na3 UID SEARCH FROM alice\r\n")
            .server_says("* 3 EXISTS\r\na2 OK done\r\n* SEARCH 1\r\na3 NO sorry\r\n")
            .client_says("a4 FETCH 1 BODY[]\r\n")
            .server_says(fetched + "a4 OK\r\n")
            .client_says("a5 IDLE\r\n")
            .server_says("+ idling\r\n")
            .server_says("* 4 EXISTS\r\n")
            .client_says("DONE\r\n")
            .server_says("a5 OK\r\n"),
    ]
}

#[test]
fn verbs_and_statuses_by_tags() {
    let call = |tag: &str| tag_number(tag.as_bytes());
    let [a, b, c, d, e] = ["a1", "a2", "a3", "a4", "a5"].map(call);
    let expected = [
        "< = greeting".to_owned(),
        format!("> LOGIN #{a}"),
        format!("< #{a}"),
        format!("> LOGIN #{a}"),
        format!("< OK #{a}"),
        format!("> SELECT #{b}"),
        format!("> UID SEARCH #{c}"),
        format!("< OK #{b}"),
        format!("< NO! #{c}"),
        format!("> FETCH #{d}"),
        format!("< #{d}"),
        format!("> IDLE #{e}"),
        format!("< #{e}"),
        "< = untagged".to_owned(),
        format!("> DONE #{e}"),
        format!("< OK #{e}"),
    ];
    assert_eq!(sample_conversations()[0].operation_lines(), expected);
}

/// Lines that are longer than the captured part of a turn.
#[test]
fn truncated_lines() {
    let long = "x".repeat(300);
    let talk = TestConversation::other_protocol()
        .server_says("* OK ready\r\n")
        .client_says("a1 LOGIN a b\r\n")
        .server_says(format!("a1 OK [{long}]\r\n"))
        .client_says(format!("a2 SEARCH SUBJECT {long}\r\n"))
        .server_says(format!("* SEARCH {long}\r\na2 OK\r\n"))
        .client_says("a3 NOOP\r\n")
        .server_says("a3 OK\r\n");
    let [a, b, c] = ["a1", "a2", "a3"].map(|tag| tag_number(tag.as_bytes()));
    let expected = [
        "< = greeting".to_owned(),
        format!("> LOGIN #{a}"),
        format!("< OK #{a}"),
        format!("> SEARCH #{b}"),
        format!("< #{b}"),
        format!("> NOOP #{c}"),
        format!("< OK #{c}"),
    ];
    assert_eq!(talk.operation_lines(), expected);
}

/// An unreadable response: it may request more of the command, or may have answered it.
#[test]
fn an_unreadable_turn_of_the_server() {
    let asked = || {
        TestConversation::other_protocol()
            .server_says("* OK ready\r\n")
            .client_says("a1 LOGIN {5}\r\n")
    };
    let [a, b] = ["a1", "a2"].map(|tag| tag_number(tag.as_bytes()));
    let begin = ["< = greeting".to_owned(), format!("> LOGIN #{a}"), "<".to_owned()];
    let goes_on =
        asked().server_says("frob\r\n").client_says("alice secret\r\n").server_says("a1 OK\r\n");
    let rest = [format!("> #{a}"), format!("< OK #{a}")];
    assert_eq!(goes_on.operation_lines(), [&begin[..], &rest].concat());
    let goes_on =
        asked().server_says("frob\r\n").client_says("alice {6}\r\n").server_says("+ go on\r\n");
    let goes_on = goes_on.client_says("secret\r\n").server_says("a1 OK\r\n");
    let rest = ["> #", "< #", "> #", "< OK #"].map(|of| format!("{of}{a}"));
    assert_eq!(goes_on.operation_lines(), [&begin[..], &rest].concat());
    let unknown =
        asked().server_says("frob\r\n").client_says("a2 XFROB x\r\n").server_says("a2 NO\r\n");
    assert_eq!(
        unknown.operation_lines(),
        [&begin[..], &[">".to_owned(), format!("< NO! #{b}")]].concat()
    );
    let blank =
        asked().server_says("frob\r\n").client_says("** ***** *\r\n").server_says("a2 NO\r\n");
    let rest = [format!("> #{a}"), format!("< NO! #{a}")];
    assert_eq!(blank.operation_lines(), [&begin[..], &rest].concat());
    let next = asked().server_says("frob\r\n").client_says("a2 NOOP\r\n").server_says("a2 OK\r\n");
    let rest = [format!("> NOOP #{b}"), format!("< OK #{b}")];
    assert_eq!(next.operation_lines(), [&begin[..], &rest].concat());
}

/// Untagged responses that the server sends on its own.
#[test]
fn news_are_one_way() {
    let talk = TestConversation::other_protocol()
        .server_says("* OK ready\r\n")
        .client_says("a1 NOOP\r\n")
        .server_says("a1 OK\r\n");
    let lines = talk.server_says("* 5 EXISTS\r\n").server_says("* 6 EXISTS\r\n").operation_lines();
    assert_eq!(lines[3..], ["< = untagged", "< = untagged"]);
}

#[test]
fn pop3_is_not_recognised() {
    let talk = TestConversation::other_protocol()
        .server_says("+OK ready\r\n")
        .client_says("USER alice\r\n");
    assert_eq!(talk.operation_lines(), [""; 0]);
    assert_eq!(
        TestConversation::other_protocol().client_says("alice SELECT x\r\n").operation_lines(),
        [""; 0]
    );
}
