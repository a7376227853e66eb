//! Host names, restricted to valid characters: the preloaded library and `sockcap` convert any
//! given name in the same way, so that a host has one name, and one directory.

/// Maximum length of a host's name, in bytes. The header of a log has room for no more.
pub const HOST_NAME_LENGTH: usize = 127;

/// Whether a host name may contain this byte.
pub const fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.')
}

/// Bytes of the host name for `given`: a character that is not valid in a host name becomes `_`,
/// and so does a dot at the beginning. Empty if nothing is given.
pub fn plain_bytes(given: &[u8]) -> impl Iterator<Item = u8> {
    // In UTF-8 all bytes of a character except the first have this form.
    let is_first_of_character = |byte: &&u8| !matches!(**byte, 0x80..=0xbf);
    let plain = |(place, byte): (usize, &u8)| match byte {
        b'.' if place == 0 => b'_',
        byte if is_plain(*byte) => *byte,
        _ => b'_',
    };
    given.iter().filter(is_first_of_character).enumerate().map(plain).take(HOST_NAME_LENGTH)
}

#[cfg(all(test, feature = "reader"))]
mod tests {
    use super::*;

    #[test]
    fn invalid_characters_become_underscores() {
        let plain = |given: &str| {
            let bytes = plain_bytes(given.as_bytes()).collect();
            String::from_utf8(bytes).unwrap()
        };
        assert_eq!(plain("web-1.example_A"), "web-1.example_A");
        assert_eq!(plain("a b/c*d"), "a_b_c_d");
        assert_eq!(plain("w\u{e9}b \u{65e5}"), "w_b__");
        assert_eq!([plain("."), plain(".."), plain(".a")], ["_", "_.", "_a"]);
        assert_eq!(plain(""), "");
        assert_eq!(plain(&"x".repeat(200)).len(), HOST_NAME_LENGTH);
    }
}
