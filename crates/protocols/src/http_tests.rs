//! Handwritten HTTP/1 conversations.

use crate::flow_snippet::SnippetRule;
use crate::test_conversation::{
    OwnedSnippet, TestConversation, operations_of_snippets, run_conversation,
};
use crate::trace_context::TraceContext;

fn http_conversation() -> TestConversation {
    TestConversation::new(SnippetRule::Http1)
}

pub(crate) fn sample_conversations() -> Vec<TestConversation> {
    vec![
        http_conversation()
            .client_says("GET /user/1234/cart?x=y HTTP/1.1\r\nHost: shop\r\n\r\n")
            .server_says("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
            .client_says("POST /checkout HTTP/1.1\r\nContent-Length: 10\r\n\r\n")
            .server_says("HTTP/1.1 100 Continue\r\n\r\n")
            .server_says("HTTP/1.1 503 Service Unavailable\r\n\r\n"),
        http_conversation()
            .client_says("GET /chat HTTP/1.1\r\nUpgrade: websocket\r\n\r\n")
            .server_says("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n"),
    ]
}

#[test]
fn requests_have_routes_and_responses_have_codes() {
    assert_eq!(
        sample_conversations()[0].operation_lines(),
        ["> GET /user/{}/cart", "< 200", "> POST /checkout", "< 503!"]
    );
}

#[test]
fn pipelined_heads_are_operations_each() {
    let twice = "GET /a HTTP/1.1\r\nHost: x\r\n\r\nDELETE /b/77 HTTP/1.1\r\n\r\n";
    let talk = http_conversation()
        .client_says(twice)
        .server_says("HTTP/1.1 204 \r\n\r\nHTTP/1.1 404 Not Found\r\n\r\n");
    assert_eq!(talk.operation_lines(), ["> GET /a", "> DELETE /b/{}", "< 204", "< 404"]);
    let places: Vec<u32> = talk.parse_operations().iter().map(|of| of.place.at).collect();
    assert_eq!(places, [0, 28, 0, 17]);
}

#[test]
fn forms_of_targets() {
    let name = |line: &str| {
        http_conversation()
            .client_says(format!("{line} HTTP/1.1\r\n\r\n"))
            .operation_lines()
            .join("|")
    };
    assert_eq!(name("GET http://alice@shop.test:80/cart?a=b"), "> GET /cart");
    assert_eq!(name("GET http://shop.test"), "> GET /");
    assert_eq!(name("CONNECT alice.test:443"), "> CONNECT");
    assert_eq!(name("OPTIONS *"), "> OPTIONS *");
    assert_eq!(name("GET cart"), "> GET");
}

#[test]
fn other_bytes_are_not_named_as_http() {
    for line in ["INVITE sip:alice@x SIP/2.0", "OPTIONS rtsp://x/y RTSP/1.0", "get a", "HTTP/2 200"]
    {
        assert_eq!(
            http_conversation().client_says(format!("{line}\r\n\r\n")).operation_lines(),
            [""; 0],
            "{line}"
        );
    }
}

#[test]
fn contexts_of_tracers() {
    let head = "GET / HTTP/1.1\r\n\
        traceparent: 00-0000000000000000000000000000000a-000000000000000b-01\r\n\r\n";
    let context = TraceContext { trace_id: 10, parent_id: 11, sampled: true };
    assert_eq!(http_conversation().client_says(head).parse_operations()[0].trace, Some(context));
}

#[test]
fn upgrades_to_websocket_and_http2() {
    let talk = sample_conversations()[1].clone();
    assert_eq!(talk.operation_lines(), ["> GET /chat", "< 101"]);
    assert!(talk.parse_operations().iter().all(|of| of.protocol == "websocket"));

    let refused = self::http_conversation()
        .client_says("GET /chat HTTP/1.1\r\nUpgrade: websocket\r\n\r\n")
        .server_says("HTTP/1.1 426 Upgrade Required\r\n\r\n")
        .client_says("GET /chat HTTP/1.1\r\n\r\n");
    assert_eq!(refused.operation_lines(), ["> GET /chat", "< 426", "> GET /chat"]);

    let h2c = self::http_conversation()
        .client_says("GET /cart HTTP/1.1\r\nUpgrade: h2c\r\n\r\n")
        .server_says("HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n")
        .then_rule(SnippetRule::Http2)
        .server_says(b"\0\0\0\x04\0\0\0\0\0")
        // HEADERS of stream 1 that end it: `:status: 200`.
        .server_says(b"\0\0\x01\x01\x05\0\0\0\x01\x88");
    assert_eq!(h2c.operation_lines(), ["> GET /cart #1", "< 200 #1"]);
}

#[test]
fn the_protocol_in_a_tunnel_is_recognised() {
    let talk = http_conversation()
        .client_says("CONNECT shop.test:80 HTTP/1.1\r\n\r\n")
        .server_says("HTTP/1.1 200 Connection established\r\n\r\n")
        .client_says("GET /cart HTTP/1.1\r\n\r\n");
    assert_eq!(talk.operation_lines(), ["> CONNECT", "< 200", "> GET /cart"]);
}

/// A truncated head is named as far as the name is certain.
#[test]
fn a_truncated_head_is_named_as_far_as_certain() {
    let cut = |head: &str| {
        let talk = http_conversation().client_says(head).client_says("GET /next HTTP/1.1\r\n\r\n");
        talk.operation_lines()
    };
    assert_eq!(cut("GET /cart HTTP/1.1\r\nHost: sh"), ["> GET /cart", "> GET /next"]);
    // The path may continue.
    assert_eq!(cut("GET /ca"), ["> GET", "> GET /next"]);
    assert_eq!(cut("GE"), ["> GET /next"]);
}

#[test]
fn a_divided_head_waits_until_it_is_complete() {
    let whole = "GET /cart HTTP/1.1\r\nHost: shop\r\n\r\n";
    let mut pieces: Vec<OwnedSnippet> =
        http_conversation().client_says(&whole[..7]).client_says(&whole[7..]).snippets();
    pieces[1].of.continues = true;
    assert!(run_conversation(&pieces[..1]).0.is_empty());
    let operations = operations_of_snippets(&pieces);
    assert_eq!((operations.len(), operations[0].name.as_str()), (1, "GET /cart"));
    assert_eq!(operations[0].place, pieces[0].of.place);
}
