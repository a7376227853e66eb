//! HPACK on the examples of RFC 7541, appendix C, and on broken blocks.

use super::*;

fn parse_hex(hex: &str) -> Vec<u8> {
    let digits: String = hex.split_whitespace().collect();
    let pair = |at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
    (0..digits.len()).step_by(2).map(pair).collect()
}

/// Decodes a block and returns the known fields as lines.
fn decode_hex(decoder: &mut HpackDecoder, hex: &str) -> Result<Vec<String>, BrokenBlock> {
    let mut fields = Vec::new();
    decoder.decode_block(&parse_hex(hex), |field, value| {
        let text = String::from_utf8_lossy(&value.bytes).into_owned();
        fields.push(format!("{field:?} {text} {}", value.length));
    })?;
    Ok(fields)
}

/// Requests without and with Huffman coding (C.3, C.4), and the table size after each.
#[test]
fn requests_of_the_rfc() {
    let plain = [
        "8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
        "8286 84be 5808 6e6f 2d63 6163 6865",
        "8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65",
    ];
    let coded = [
        "8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff",
        "8286 84be 5886 a8eb 1064 9cbf",
        "8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf",
    ];
    for requests in [plain, coded] {
        let mut decoder = HpackDecoder::default();
        let first = decode_hex(&mut decoder, requests[0]).unwrap();
        assert_eq!(first, ["Method GET 3", "Other  4", "Path / 1", "Other  15"]);
        assert_eq!(decoder.size, 57);
        let second = decode_hex(&mut decoder, requests[1]).unwrap();
        assert_eq!(second[3..], ["Other  15", "Other  8"]);
        assert_eq!(decoder.size, 110);
        let third = decode_hex(&mut decoder, requests[2]).unwrap();
        assert_eq!(third[2..], ["Path /index.html 11", "Other  15", "Other  12"]);
        assert_eq!(decoder.size, 164);
    }
}

/// Responses with eviction (C.5, C.6): the table holds 256 bytes.
#[test]
fn responses_of_the_rfc() {
    let plain = [
        "4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a \
         3133 3a32 3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
        "4803 3330 37c1 c0bf",
        "88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0 5a04 \
         677a 6970 7738 666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 5745 4f49 \
         553b 206d 6178 2d61 6765 3d33 3630 303b 2076 6572 7369 6f6e 3d31",
    ];
    let coded = [
        "4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e \
         919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3",
        "4883 640e ffc1 c0bf",
        "88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 \
         821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed \
         4ee5 b106 3d50 07",
    ];
    for responses in [plain, coded] {
        let mut decoder = HpackDecoder { limit: 256, ..HpackDecoder::default() };
        assert_eq!(decode_hex(&mut decoder, responses[0]).unwrap()[0], "Status 302 3");
        assert_eq!(decoder.size, 222);
        assert_eq!(decode_hex(&mut decoder, responses[1]).unwrap()[0], "Status 307 3");
        assert_eq!(decoder.size, 222);
        assert_eq!(decode_hex(&mut decoder, responses[2]).unwrap()[0], "Status 200 3");
        assert_eq!((decoder.size, decoder.table.len()), (215, 3));
    }
}

/// The library blanks values that name nothing: as many asterisks as the value had bytes, without
/// Huffman coding. The table's entries differ in length for that reason, and the decoded fields
/// stay the same.
#[test]
fn values_that_were_blanked() {
    let blank = |length: usize| format!("{length:02x} {}", "2a".repeat(length));
    let [control, date, location] = [blank(5), blank(22), blank(17)];
    let responses = [
        format!("4882 6402 58 {control} 61 {date} 6e {location}"),
        "4883 640e ffc1 c0bf".to_owned(),
        format!("88c1 61 {date} c05a {} 77 {}", blank(3), blank(45)),
        "bebf c0c1 c2c3".to_owned(),
    ];
    let mut decoder = HpackDecoder { limit: 256, ..HpackDecoder::default() };
    let mut status = |response: &String| decode_hex(&mut decoder, response).unwrap()[0].clone();
    let statuses: Vec<String> = responses[..3].iter().map(&mut status).collect();
    assert_eq!(statuses, ["Status 302 3", "Status 307 3", "Status 200 3"]);
    // The earlier status is the fourth newest, as at both ends; 302 has been evicted from the table
    // of the ends.
    let last = decode_hex(&mut decoder, &responses[3]).unwrap();
    assert_eq!(last[3], "Status 307 3");
}

/// Integers of C.1: 10 and 1337 in five bits, 42 in eight.
#[test]
fn integers_of_the_rfc() {
    assert_eq!(integers::read_integer(&mut [0b1110_1010].as_slice(), 5), Ok(10));
    assert_eq!(integers::read_integer(&mut [31, 0b1001_1010, 10].as_slice(), 5), Ok(1337));
    assert_eq!(integers::read_integer(&mut [42].as_slice(), 8), Ok(42));
    assert_eq!(integers::read_integer(&mut [31, 0x9a].as_slice(), 5), Err(BrokenBlock));
    assert_eq!(
        integers::read_integer(&mut [31, 255, 255, 255, 255, 255, 1].as_slice(), 5),
        Err(BrokenBlock)
    );
}

#[test]
fn broken_blocks_are_refused() {
    for hex in ["80", "be", "3f", "40", "0003 61", "4005", "8282be", "00 81 00 00"] {
        assert_eq!(decode_hex(&mut HpackDecoder::default(), hex), Err(BrokenBlock), "{hex}");
    }
}

/// `:path: /a` with indexing, so that it is the newest entry, of index 62.
const PATH: &str = "4402 2f61";

#[test]
fn after_a_gap_new_entries_are_known_and_old_ones_left_out() {
    let mut decoder = HpackDecoder::default();
    assert_eq!(decode_hex(&mut decoder, PATH).unwrap(), ["Path /a 2"]);
    assert_eq!(decode_hex(&mut decoder, "be").unwrap(), ["Path /a 2"]);
    decoder.forget_table();
    assert_eq!(decode_hex(&mut decoder, "82be").unwrap(), ["Method GET 3"]);
    // A literal with an unknown name, with indexing, then one with a known name.
    assert_eq!(decode_hex(&mut decoder, "7e01 62").unwrap(), [""; 0]);
    assert_eq!(decode_hex(&mut decoder, "4402 2f63 be bf c0").unwrap(), ["Path /c 2", "Path /c 2"]);
}

#[test]
fn memory_is_bounded() {
    let mut decoder = HpackDecoder::default();
    // The encoder sets the table size to a megabyte.
    decode_hex(&mut decoder, "3fe1ff3f").unwrap();
    let path = format!("447f 8101 {}", "61".repeat(256));
    for _ in 0..1000 {
        decode_hex(&mut decoder, &path).unwrap();
    }
    assert!(decoder.table.len() <= HPACK_ENTRIES && decoder.kept_bytes <= HPACK_VALUE_BYTES);
    assert!(decoder.incomplete);
    // An index that exceeds our own bound is unknown, not invalid.
    assert_eq!(decode_hex(&mut decoder, "ffff01").unwrap(), [""; 0]);
}
