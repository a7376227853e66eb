//! Token: the secret in the address of a page. Other users of this machine can reach the page's
//! port as well, and other pages can send the browser there; neither know the token.

use std::fmt;
use std::fs::File;
use std::hint::black_box;
use std::io::{self, Read};

use http_server::HttpRequest;

/// Bytes of a token: too many to guess.
const TOKEN_BYTES: usize = 24;

/// Name of the token in an address.
const TOKEN_PARAMETER: &str = "token";

/// A secret that is new each time.
pub(super) struct PageToken {
    text: String,
    /// Name of the cookie. Pages at other ports of this machine share the same cookies.
    cookie: String,
}

/// The place of the token in a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenPlace {
    InAddress,
    InCookie,
    Nowhere,
}

impl PageToken {
    /// A new token, for a page at a port.
    ///
    /// # Errors
    /// When the system gives no random numbers.
    pub(super) fn new(port: u16) -> io::Result<PageToken> {
        let mut random = [0; TOKEN_BYTES];
        File::open("/dev/urandom")?.read_exact(&mut random)?;
        let text = random.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(PageToken { text, cookie: format!("sockcap-{port}") })
    }

    /// The token as it follows the `?` of an address.
    pub(super) fn query_text(&self) -> impl fmt::Display {
        format!("{TOKEN_PARAMETER}={}", self.text)
    }

    /// Name and value of the cookie with the token.
    pub(super) fn cookie_pair(&self) -> (&str, &str) {
        (&self.cookie, &self.text)
    }

    /// The place of this token in the request.
    pub(super) fn find_in(&self, request: &HttpRequest<'_>) -> TokenPlace {
        let is_in = |fields: &str, separator: char, name: &str| {
            let mut fields =
                fields.split(separator).filter_map(|field| field.trim().split_once('='));
            fields.any(|(of, value)| of == name && self.equals_text(value))
        };
        if is_in(request.query, '&', TOKEN_PARAMETER) {
            TokenPlace::InAddress
        } else if is_in(request.cookie.unwrap_or_default(), ';', &self.cookie) {
            TokenPlace::InCookie
        } else {
            TokenPlace::Nowhere
        }
    }

    /// Whether `other` is this token. The duration does not reveal how much of `other` is right.
    fn equals_text(&self, other: &str) -> bool {
        let (own, other) = (self.text.as_bytes(), other.as_bytes());
        let differences = own.iter().zip(other).fold(0, |all, (one, other)| all | (one ^ other));
        own.len() == other.len() && black_box(differences) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token_place(token: &PageToken, query: &str, cookie: Option<&str>) -> TokenPlace {
        let reached = "127.0.0.1:9714".parse().unwrap();
        let (method, path, host) = ("GET", "/", Some("localhost"));
        token.find_in(&HttpRequest { method, path, query, host, cookie, reached })
    }

    #[test]
    fn only_the_complete_token_is_accepted() {
        let token = PageToken::new(9714).unwrap();
        let right = token.text.clone();
        assert_eq!(right.len(), 2 * TOKEN_BYTES);
        assert_ne!(right, PageToken::new(9714).unwrap().text);
        let cookie = format!("a=b; sockcap-9714={right}; c=d");
        assert_eq!(token_place(&token, "", Some(&cookie)), TokenPlace::InCookie);
        let address = format!("from=3&{}", token.query_text());
        assert_eq!(token_place(&token, &address, None), TokenPlace::InAddress);
        let other_port = format!("sockcap-9715={right}");
        assert_eq!(token_place(&token, "", Some(&other_port)), TokenPlace::Nowhere);
        for wrong in ["", &right[1..], &right[..right.len() - 1], &format!("{right}0"), "0"] {
            assert_eq!(
                token_place(&token, &format!("token={wrong}"), None),
                TokenPlace::Nowhere,
                "{wrong}"
            );
            let cookie = format!("sockcap-9714={wrong}");
            assert_eq!(token_place(&token, "", Some(&cookie)), TokenPlace::Nowhere, "{wrong}");
        }
        for place in 0..right.len() {
            let mut wrong = right.clone().into_bytes();
            wrong[place] = if wrong[place] == b'0' { b'1' } else { b'0' };
            assert!(!token.equals_text(std::str::from_utf8(&wrong).unwrap()), "{place}");
        }
        assert_eq!(token_place(&token, "token", Some("sockcap-9714")), TokenPlace::Nowhere);
    }
}
