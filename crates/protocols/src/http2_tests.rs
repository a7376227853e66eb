//! Handwritten HTTP/2 conversations.

use crate::flow_snippet::SnippetRule;
use crate::test_conversation::{OwnedSnippet, TestConversation, operations_of_snippets};

/// Header fields of a block.
pub(crate) type FieldList<'a> = &'a [(&'a str, &'a str)];

pub(crate) fn http2_conversation() -> TestConversation {
    TestConversation::new(SnippetRule::Http2)
}

fn make_frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

pub(crate) fn settings_frame() -> Vec<u8> {
    make_frame(4, 0, 0, &[])
}

/// Header of a DATA frame that ends a stream, with 100 bytes that are missing.
pub(crate) fn data_end(stream: u32) -> Vec<u8> {
    [b"\0\0\x64\0\x01".as_slice(), &stream.to_be_bytes()].concat()
}

fn literal_field(first: u8, text: &str) -> Vec<u8> {
    [&[first, text.len() as u8], text.as_bytes()].concat()
}

/// Builds a block of literal fields, with indexing if `indexed`.
fn make_block(fields: FieldList<'_>, indexed: bool) -> Vec<u8> {
    let field = |(name, value): &(&str, &str)| {
        let name = literal_field(if indexed { 0x40 } else { 0 }, name);
        [name, vec![value.len() as u8], value.as_bytes().to_vec()].concat()
    };
    fields.iter().flat_map(field).collect()
}

pub(crate) fn headers_frame(stream: u32, fields: FieldList<'_>, ends: bool) -> Vec<u8> {
    make_frame(1, 4 | u8::from(ends), stream, &make_block(fields, false))
}

const GET: FieldList<'static> =
    &[(":method", "GET"), (":path", "/user/12/cart?x=alice"), ("cookie", "a")];
const OK: FieldList<'static> = &[(":status", "200")];

pub(crate) fn sample_conversations() -> Vec<TestConversation> {
    let preface = [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(), settings_frame()].concat();
    vec![
        http2_conversation()
            .client_says(
                [preface, headers_frame(1, GET, true), headers_frame(3, GET, false)].concat(),
            )
            .server_says(
                [settings_frame(), headers_frame(3, &[(":status", "100")], false)].concat(),
            )
            .client_says(data_end(3))
            .server_says(
                [headers_frame(3, OK, false), headers_frame(1, &[(":status", "500")], true)]
                    .concat(),
            )
            .server_says(data_end(3))
            .server_says(make_frame(7, 0, 0, &[0, 0, 0, 3, 0, 0, 0, 0])),
    ]
}

#[test]
fn streams_pair_requests_with_responses() {
    let expected = [
        "> GET /user/{}/cart #1",
        "> GET /user/{}/cart #3",
        "< 200 #3",
        "< 500! #1",
        "< = GOAWAY NO_ERROR",
    ];
    assert_eq!(sample_conversations()[0].operation_lines(), expected);
}

#[test]
fn operations_have_the_places_of_their_frames() {
    let operations = sample_conversations()[0].parse_operations();
    let first = 24 + 9;
    let second = first + headers_frame(1, GET, true).len() as u32;
    let at: Vec<u32> = operations.iter().take(2).map(|of| of.place.at).collect();
    assert_eq!(at, [first, second]);
}

#[test]
fn continuations_padding_and_priority() {
    let whole = make_block(GET, false);
    let (begin, rest) = whole.split_at(7);
    // Three bytes of padding, and a priority of five.
    let padded = [&[3, 0, 0, 0, 0, 9], begin, &[0; 3]].concat();
    let first = make_frame(1, 0x28, 1, &padded);
    let talk = http2_conversation()
        .client_says([settings_frame(), first, make_frame(9, 4, 1, rest)].concat());
    assert_eq!(talk.operation_lines(), ["> GET /user/{}/cart #1"]);
}

#[test]
fn both_directions_have_separate_tables() {
    let indexed = make_frame(1, 5, 1, &make_block(&[(":method", "GET"), (":path", "/a")], true));
    let again = make_frame(1, 5, 3, &[0xbe, 0xbf]);
    let ok = make_frame(1, 5, 1, &make_block(OK, true));
    let talk = http2_conversation()
        .client_says([settings_frame(), indexed, again].concat())
        .server_says([settings_frame(), ok, make_frame(1, 5, 3, &[0xbe])].concat());
    assert_eq!(talk.operation_lines(), ["> GET /a #1", "> GET /a #3", "< 200 #1", "< 200 #3"]);
}

/// After a gap, indexes into the table are unknown; streams, literals and the static table are
/// certain.
#[test]
fn only_certain_fields_are_known_after_a_gap() {
    let indexed = make_frame(1, 5, 1, &make_block(&[(":method", "PUT"), (":path", "/a")], true));
    let again = make_frame(1, 5, 3, &[0xbe, 0xbf]);
    let literal = headers_frame(5, GET, true);
    let of_static = make_frame(1, 5, 7, &[0x82, 0xbe]);
    let talk = http2_conversation()
        .client_says([settings_frame(), indexed].concat())
        .client_says(again)
        .client_says(literal)
        .client_says(of_static)
        .server_says([settings_frame(), headers_frame(3, OK, true)].concat());
    let mut pieces = talk.snippets();
    pieces[0].of.cut = true;
    let mut named: Vec<_> = operations_of_snippets(&pieces);
    named.sort_by_key(|of| of.place);
    let named: Vec<_> = named.iter().map(|of| (of.call.unwrap(), of.name.as_str())).collect();
    assert_eq!(named, [(1, "PUT /a"), (3, ""), (5, "GET /user/{}/cart"), (7, "GET"), (3, "")]);
}

#[test]
fn a_connection_that_is_joined_later_has_no_table() {
    let talk = http2_conversation()
        .client_says(make_frame(1, 5, 9, &[0x82, 0xbe]))
        .server_says(headers_frame(9, OK, true));
    assert_eq!(talk.operation_lines(), ["> GET #9", "< 200 #9"]);
}

#[test]
fn resets_and_promises() {
    let reset = |stream, code| make_frame(3, 0, stream, &[0, 0, 0, code]);
    let promise = make_frame(5, 4, 1, &[&[0, 0, 0, 2], make_block(GET, false).as_slice()].concat());
    let client =
        [settings_frame(), headers_frame(1, GET, true), headers_frame(3, GET, true)].concat();
    let talk = http2_conversation()
        .client_says(client)
        .server_says([settings_frame(), promise, headers_frame(2, OK, true), reset(1, 2)].concat())
        .client_says(reset(3, 8))
        .server_says(reset(3, 0));
    let expected = [
        "> GET /user/{}/cart #1",
        "> GET /user/{}/cart #3",
        "< = GET /user/{}/cart #2",
        "< = 200 #2",
        "< INTERNAL_ERROR! #1",
        "> = RST_STREAM CANCEL #3",
    ];
    assert_eq!(talk.operation_lines(), expected);
}

/// A frame header in one snippet and the rest in the next are one frame; without the rest, the
/// frame is parsed as far as it goes.
#[test]
fn frames_over_several_pieces() {
    let whole = [settings_frame(), headers_frame(1, GET, true)].concat();
    let (begin, rest) = whole.split_at(whole.len() - 3);
    let mut pieces: Vec<OwnedSnippet> =
        http2_conversation().client_says(begin).client_says(rest).snippets();
    pieces[1].of.continues = true;
    assert_eq!(operations_of_snippets(&pieces)[0].name, "GET /user/{}/cart");
    let cut = operations_of_snippets(&pieces[..1]);
    assert_eq!((cut.len(), cut[0].name.as_str()), (1, "GET /user/{}/cart"));
    let early = http2_conversation().client_says(&whole[..9 + 9 + 16]);
    assert_eq!(early.operation_lines(), ["> GET #1"]);
}

#[test]
fn an_invalid_frame_ends_the_conversation() {
    let talk = http2_conversation()
        .client_says([settings_frame(), b"\0\0\x05\x04\0\0\0\0\x01".to_vec()].concat());
    assert_eq!(talk.operation_lines(), [""; 0]);
    assert_eq!(
        self::http2_conversation()
            .client_says("PRI * HTTP/3.0\r\n\r\nSM\r\n\r\n")
            .operation_lines(),
        [""; 0]
    );
}
