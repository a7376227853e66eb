//! Paths of URLs as routes: `/user/1234/cart?x=y` is `/user/{}/cart`.

use super::PLACEHOLDER;
use super::actions::is_action;
use super::followers::{is_tree_prefix, is_value_prefix};
use super::words::is_word;
use crate::tuning::{NAME_BYTES, PATH_SEGMENTS};

/// Maximum length of a segment that is kept, in bytes.
const SEGMENT_BYTES: usize = 40;

/// Maximum number of words in a segment; titles of articles have more.
const SEGMENT_WORDS: usize = 3;

/// File extensions, which are kept even if the file name is not.
const ENDINGS: &[&str] = &[
    "html", "htm", "xhtml", "php", "jsp", "asp", "aspx", "do", "action", "cgi", "js", "mjs", "css",
    "map", "json", "xml", "txt", "csv", "md", "pdf", "png", "jpg", "jpeg", "gif", "svg", "webp",
    "ico", "bmp", "woff", "woff2", "ttf", "eot", "mp3", "mp4", "webm", "ogg", "wav", "zip", "gz",
    "tar", "wasm", "yaml", "yml", "rss", "atom",
];

/// Name of a request: its method and the route of its target, or the method alone without a target.
pub(crate) fn request_route(method: &str, target: Option<&str>) -> String {
    match target.map(target_route) {
        Some(route) if !route.is_empty() => format!("{method} {route}"),
        _ => method.to_owned(),
    }
}

/// Route of a request's target, without possible literals: the query, ids, and segments that may be
/// a person's name, as in `/users/alice`. Empty for a target that is not a path.
pub fn target_route(target: &str) -> String {
    if target == "*" {
        return "*".to_owned();
    }
    let path = match target.split_once("://") {
        // The authority may contain a person's name.
        Some((scheme, rest)) if !scheme.contains('/') => match rest.find(['/', '?', '#']) {
            Some(at) if rest.get(at..).is_some_and(|rest| rest.starts_with('/')) => {
                rest.get(at..).unwrap_or_default()
            }
            _ => "/",
        },
        _ if target.starts_with('/') => target,
        _ => return String::new(),
    };
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let mut route = String::new();
    let mut before: Option<String> = None;
    for (number, segment) in path.split('/').skip(1).enumerate() {
        let in_tree = before.as_deref().is_some_and(is_tree_prefix) && !is_action(segment);
        if number >= PATH_SEGMENTS || in_tree && !segment.is_empty() || route.len() > NAME_BYTES / 2
        {
            route.push('/');
            route.push_str(PLACEHOLDER);
            return route;
        }
        let kept = self::reduce_segment(segment, before.as_deref());
        route.push('/');
        route.push_str(&kept);
        before = Some(kept);
    }
    route
}

/// Reduces a segment, given the kept segment before it.
fn reduce_segment(segment: &str, before: Option<&str>) -> String {
    // Parameters of a segment (RFC 3986, 3.3) are dropped.
    let segment = segment.split(';').next().unwrap_or_default();
    if segment.is_empty() {
        return String::new();
    }
    let could_be_value = before.is_some_and(is_value_prefix) && !is_action(segment);
    if !could_be_value && consists_of_words(segment) {
        return segment.to_owned();
    }
    match segment.rsplit_once('.') {
        Some((_, ending)) if ENDINGS.contains(&ending) => format!("{PLACEHOLDER}.{ending}"),
        _ => PLACEHOLDER.to_owned(),
    }
}

/// Whether a segment consists of words.
fn consists_of_words(segment: &str) -> bool {
    if segment.len() > SEGMENT_BYTES {
        return false;
    }
    let (stem, ending) = match segment.rsplit_once('.') {
        Some((stem, ending)) if ENDINGS.contains(&ending) => (stem, true),
        _ => (segment, false),
    };
    // `.well-known`, `_search`, `__debug__`.
    let inner = stem.trim_start_matches(['.', '_']).trim_end_matches('_');
    let words = inner.split(['-', '_', '.']).count();
    let plain = words <= SEGMENT_WORDS && inner.split(['-', '_', '.']).all(is_word);
    plain || ending && stem.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_queries_are_removed() {
        for (target, route) in [
            ("/user/1234/cart?x=y", "/user/{}/cart"),
            ("/", "/"),
            ("/cart/", "/cart/"),
            ("/cart#top", "/cart"),
            ("/api/v1/products/OLJCESPC7Z", "/api/v1/products/{}"),
            ("/orders/550e8400-e29b-41d4-a716-446655440000/items", "/orders/{}/items"),
            ("/users/alice/settings", "/users/{}/settings"),
            ("/users/login", "/users/login"),
            ("/u/alice", "/u/{}"),
            ("/mail/alice@example.org", "/mail/{}"),
            ("/confirm/dGhpcyBpcyBhIHRva2Vu", "/confirm/{}"),
            ("/search/red+shoes", "/search/{}"),
            ("/search/shoes", "/search/{}"),
            ("/files/alice/taxes/2024.pdf", "/files/{}"),
            ("/static/main.js", "/static/main.js"),
            ("/static/main.3f2a1b.js", "/static/{}.js"),
            ("/invoice-2024-17.pdf", "/{}.pdf"),
            ("/cart;jsessionid=0A1B", "/cart"),
            ("/%61lice", "/{}"),
            ("/@alice", "/{}"),
            ("/~alice/home", "/{}/home"),
            ("/how-to-cook-good-rice", "/{}"),
            ("/api/home-timeline/read", "/api/home-timeline/read"),
            ("/setCurrency", "/setCurrency"),
            ("/.well-known/openid-configuration", "/.well-known/openid-configuration"),
            ("/index.php", "/index.php"),
            ("http://alice:secret@shop.test/cart?x", "/cart"),
            ("http://shop.test?x=/a", "/"),
            ("alice.test:443", ""),
            ("*", "*"),
            ("/a//b", "/a//b"),
            ("/caf\u{e9}", "/{}"),
            ("/a/b/c/d/e/f/g/h/i/j/k/l", "/a/b/c/d/e/f/g/h/i/j/{}"),
        ] {
            assert_eq!(target_route(target), route, "{target}");
        }
    }

    #[test]
    fn routes_are_short() {
        assert!(target_route(&"/abcdefghijklmnopqrstuvw".repeat(100)).len() <= NAME_BYTES);
        assert!(request_route("PROPPATCH", Some(&"/a-b-c".repeat(100))).len() <= NAME_BYTES);
    }
}
