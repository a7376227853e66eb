//! Queries in paths of HTTP/2: nothing of them is kept, whatever their encoding and however they
//! arrive.

use super::talk::By::Client;
use super::talk::Talk;

/// Huffman codes of some bytes and their lengths in bits (RFC 7541, appendix B).
const CODES: [(u8, u32, u32); 15] = [
    (b'/', 0x18, 6),
    (b'a', 0x3, 5),
    (b'c', 0x4, 5),
    (b'e', 0x5, 5),
    (b'o', 0x7, 5),
    (b's', 0x8, 5),
    (b't', 0x9, 5),
    (b'r', 0x2c, 6),
    (b'k', 0x75, 7),
    (b'=', 0x20, 6),
    (b'X', 0xfc, 8),
    (b'*', 0xf9, 8),
    (b';', 0xfb, 8),
    (b'?', 0x3fc, 10),
    (b'@', 0x1ffa, 13),
];

fn coded(text: &str) -> Vec<u8> {
    let mut bits = String::new();
    for byte in text.bytes() {
        let (_, code, length) = CODES.iter().find(|(of, ..)| *of == byte).unwrap();
        bits += &format!("{code:0length$b}", length = *length as usize);
    }
    while !bits.len().is_multiple_of(8) {
        bits.push('1');
    }
    let bytes = bits.as_bytes().chunks(8).map(|bits| std::str::from_utf8(bits).unwrap());
    bytes.map(|bits| u8::from_str_radix(bits, 2).unwrap()).collect()
}

fn decoded(bytes: &[u8]) -> String {
    let mut bits: String = bytes.iter().map(|byte| format!("{byte:08b}")).collect();
    let mut text = String::new();
    'next: while !bits.is_empty() {
        for (byte, code, length) in CODES {
            let code = format!("{code:0length$b}", length = length as usize);
            if let Some(rest) = bits.strip_prefix(&code) {
                text.push(char::from(byte));
                bits = rest.to_owned();
                continue 'next;
            }
        }
        // The padding of the last byte is shorter than a byte, and only ones.
        assert!(bits.len() < 8 && bits.chars().all(|bit| bit == '1'), "{bits} after {text}");
        break;
    }
    text
}

/// A request with that path as a literal, with the name of entry 4 of the static table.
fn request(path: &[u8], is_coded: bool) -> Vec<u8> {
    let length = path.len() as u8 | if is_coded { 0x80 } else { 0 };
    let block = [&[0x82, 0x44, length], path].concat();
    let head = [0, 0, block.len() as u8, 1, 5, 0, 0, 0, 1];
    [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".as_slice(), &head, &block].concat()
}

/// Kept bytes of the path, whichever way it arrives.
fn kept(path: &[u8], is_coded: bool) -> Vec<u8> {
    let said = request(path, is_coded);
    let mut first: Option<Vec<u8>> = None;
    for size in 1..=said.len() {
        let mut talk = Talk::new();
        talk.say_parts(Client, &said, size);
        let kept: Vec<u8> = talk.kept.iter().flat_map(|kept| kept.bytes.clone()).collect();
        assert_eq!(first.get_or_insert_with(|| kept.clone()), &kept, "in transfers of {size}");
    }
    let kept = first.unwrap();
    kept[kept.len() - path.len()..].to_vec()
}

#[test]
fn the_query_of_a_path_is_blanked_bit_by_bit() {
    for path in ["/cart", "/cart/a", "/a/rest", "/", "/cart@a"] {
        for query in ["", "k", "token=XXX", "a=c", "a=XXXXXX?X", "e=@@@@@@@", "t", "tt", "ttt"] {
            let query = query.replace('n', "r");
            let plain = format!("{path}?{query}");
            let expected = format!("{path}?{}", "*".repeat(query.len()));
            assert_eq!(kept(plain.as_bytes(), false), expected.as_bytes());
            let text = coded(&plain);
            let blanked = decoded(&kept(&text, true));
            let rest =
                blanked.strip_prefix(&format!("{path}?")).unwrap_or_else(|| panic!("{blanked}"));
            assert!(rest.bytes().all(|byte| byte == b'*'), "{blanked}");
            assert_eq!(kept(path.as_bytes(), false), path.as_bytes());
            assert_eq!(decoded(&kept(&coded(path), true)), path);
        }
    }
}

#[test]
fn parameters_of_a_path_are_blanked() {
    for (said, expected) in [
        ("/cart;", "/cart;"),
        ("/cart;task=XXX", "/cart;********"),
        ("/cart;task=XXX;a=X/rest", "/cart;************/rest"),
        ("/a;XX/rest;XX?a=c;X/a", "/a;**/rest;**?*******"),
        ("/a;XX?;/", "/a;**?**"),
    ] {
        assert_eq!(String::from_utf8(kept(said.as_bytes(), false)).unwrap(), expected);
        // A slash after blank bits could not stay in its place.
        let path = said.split_once(';').unwrap().0;
        let blanked = decoded(&kept(&coded(said), true));
        let rest = blanked.strip_prefix(&format!("{path};")).unwrap_or_else(|| panic!("{blanked}"));
        assert!(rest.bytes().all(|byte| byte == b'*'), "{blanked}");
    }
}
