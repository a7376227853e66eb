//! Classification of tokens as words of a program or ids.

/// Maximum length of a word, in bytes. Service names written as one word are about as long.
const MAX_WORD_BYTES: usize = 24;

/// Words that contain digits.
const WITH_DIGITS: &[&str] = &[
    "oauth2", "oauth1", "saml2", "s3", "ec2", "i18n", "l10n", "k8s", "http2", "h2", "web3", "a11y",
    "base64", "md5", "sha1", "sha256", "utf8", "ipv4", "ipv6", "mp3", "mp4", "x509", "p2p", "b2b",
    "b2c", "2fa", "3d", "log4j", "neo4j", "auth0",
];

/// Words of four letters or more without a vowel.
const WITHOUT_VOWELS: &[&str] = &[
    "http", "https", "html", "xhtml", "grpc", "json", "smtp", "sftp", "mgmt", "dhcp", "snmp",
    "wsdl", "xmpp", "mqtt", "pgsql", "tmpl", "mstr", "hdfs", "ldap", "vpcs", "xmlrpc", "jsonrpc",
    "src", "svg", "cgi", "nmcp", "hmac", "rsvp", "pdfs", "ftps", "ssml",
];

/// Whether a token of a route looks like a word: letters in plausible sequences, a version, or one
/// of a few words with digits.
pub(super) fn is_word(token: &str) -> bool {
    let lower = token.to_ascii_lowercase();
    if WITH_DIGITS.contains(&lower.as_str()) || is_version(&lower) {
        return true;
    }
    is_letters(token)
        && token.len() <= MAX_WORD_BYTES
        && !is_hexadecimal(&lower)
        && has_plausible_humps(token)
}

/// Whether a token consists of letters only, and of at least one.
pub(super) fn is_letters(token: &str) -> bool {
    !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_alphabetic())
}

/// Whether a token is a version: `v1`, `v12`, `v1beta2`.
fn is_version(lower: &str) -> bool {
    let Some(rest) = lower.strip_prefix('v') else { return false };
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let major = digits(rest);
    let Some(rest) = rest.get(major..) else { return false };
    let stage = ["alpha", "beta", "rc"].iter().find_map(|stage| rest.strip_prefix(stage));
    let minor = stage.unwrap_or(rest);
    (1..=2).contains(&major)
        && minor.len() <= 2
        && digits(minor) == minor.len()
        && (stage.is_some() || minor.is_empty())
}

/// Whether a token could be a hexadecimal number without a decimal digit.
fn is_hexadecimal(lower: &str) -> bool {
    lower.len() >= 6 && lower.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Whether the parts of a camel-case word are few, not short, and pronounceable.
fn has_plausible_humps(token: &str) -> bool {
    let bytes = token.as_bytes();
    let mut parts: Vec<&[u8]> = Vec::new();
    let mut begin = 0;
    for at in 1..bytes.len() {
        let of = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_uppercase);
        // `getCart` has a boundary at `C`, and `HTTPServer` at `S`.
        let is_boundary = of(at) && (!of(at - 1) || at + 1 < bytes.len() && !of(at + 1));
        if is_boundary {
            parts.push(bytes.get(begin..at).unwrap_or_default());
            begin = at;
        }
    }
    parts.push(bytes.get(begin..).unwrap_or_default());
    let short = parts.iter().filter(|part| part.len() < 3).count();
    parts.len() <= 5 && short <= 1 && parts.iter().all(|part| is_pronounceable(part))
}

fn is_pronounceable(part: &[u8]) -> bool {
    let capital = part.len() > 1 && part.iter().all(u8::is_ascii_uppercase);
    if capital && part.len() > 5 {
        return false;
    }
    let lower = part.to_ascii_lowercase();
    let known = std::str::from_utf8(&lower).is_ok_and(|text| WITHOUT_VOWELS.contains(&text));
    if part.len() <= 3 || known || capital && part.len() == 4 {
        return true;
    }
    let (mut run, mut vowels) = (0, 0);
    for byte in &lower {
        if is_vowel(*byte) {
            (run, vowels) = (0, vowels + 1);
        } else {
            run += 1;
        }
        if run > 5 {
            return false;
        }
    }
    let odd = lower.windows(2).any(|pair| matches!(pair, [a, b] if is_odd_pair(*a, *b)));
    vowels * 6 >= lower.len() && !odd
}

fn is_vowel(byte: u8) -> bool {
    matches!(byte, b'a' | b'e' | b'i' | b'o' | b'u' | b'y')
}

/// Whether a pair of letters is rare in words and frequent in random letters.
fn is_odd_pair(a: u8, b: u8) -> bool {
    match a {
        b'q' => !matches!(b, b'u' | b'l'),
        b'j' => !is_vowel(b) && b != b's',
        b'v' => !is_vowel(b) && !matches!(b, b'r' | b'l' | b's' | b'n'),
        b'x' => {
            matches!(b, b'b' | b'd' | b'f' | b'g' | b'j' | b'k' | b'n' | b'q' | b'r' | b'v' | b'z')
        }
        b'z' => !is_vowel(b) && !matches!(b, b'z' | b'l' | b'h' | b'w'),
        _ => {
            let rare = matches!(b, b'q' | b'x' | b'z' | b'j');
            let seldom = match b {
                b'x' => !is_vowel(a) && a != b'n' && a != b'm',
                b'q' => !is_vowel(a) && !matches!(a, b'c' | b's' | b'n' | b'r' | b'd'),
                b'z' => matches!(a, b'b' | b'c' | b'f' | b'g' | b'h' | b'k' | b'm' | b'p' | b'w'),
                _ => {
                    matches!(a, b'c' | b'f' | b'g' | b'h' | b'k' | b'm' | b'p' | b's' | b't' | b'w')
                }
            };
            rare && seldom
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words() {
        for word in [
            "cart",
            "checkout",
            "getCart",
            "setUserId",
            "HTTPServer",
            "api",
            "API",
            "v1",
            "v2beta1",
            "oauth2",
            "css",
            "recommendationservice",
            "ObjectStore",
            "GetObject",
            "https",
            "query",
            "subscription",
            "length",
            "timeline",
            "xml",
            "js",
            "Login",
            "userId",
            "WEB",
            "p",
        ] {
            assert!(is_word(word), "{word}");
        }
    }

    #[test]
    fn ids() {
        for id in [
            "",
            "1234",
            "a1b2c3",
            "deadbeef",
            "facade",
            "OLJCESPC",
            "OLJCESPC7Z",
            "dGhpcyBpcw",
            "AbCdEfGh",
            "qzjxkvwp",
            "xkcdqrst",
            "user1",
            "v123",
            "bcdfghjk",
            "1e5",
            "abcdefghijklmnopqrstuvwxyz",
            "QmFzZTY",
            "zxcvbnm",
            "hGtRwQsZ",
        ] {
            assert!(!is_word(id), "{id}");
        }
    }
}
