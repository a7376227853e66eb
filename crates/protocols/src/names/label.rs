//! Names of queues, topics, collections and similar objects: configured words that may contain ids.

use super::PLACEHOLDER;
use super::actions::is_action;
use super::followers::is_value_prefix;
use super::words::{is_letters, is_word};

/// Maximum length of a label, in bytes.
const LABEL_BYTES: usize = 80;

/// Maximum number of parts of a label.
const LABEL_SEGMENTS: usize = 8;

/// Reduces a configured name to the parts that cannot be literals: parts that look like ids become
/// `{}`, and so do digits after a word (`orders2024`) and parts after a word for persons
/// (`user.alice`).
pub fn reduce_label(name: &str) -> String {
    reduce_name(name, |part, before| {
        is_word(part) && (!before.is_some_and(is_value_prefix) || is_action(part))
    })
}

/// Reduces the name of a table or collection. The name comes from a schema, so any letters are
/// kept.
pub(super) fn table_name(name: &str) -> String {
    reduce_name(name, |part, _| is_letters(part) && part.len() <= 40)
}

/// Replaces the parts of a name by `{}` unless `keep` accepts them; it receives a part and the part
/// before it.
fn reduce_name(name: &str, keep: impl Fn(&str, Option<&str>) -> bool) -> String {
    let is_between = |of: char| matches!(of, '.' | '_' | '-' | ':' | '/');
    let plain = |of: char| of.is_ascii_alphanumeric() || is_between(of) || matches!(of, '*' | '#');
    if name.len() > LABEL_BYTES
        || !name.chars().all(plain)
        || name.split(is_between).count() > LABEL_SEGMENTS
    {
        return PLACEHOLDER.to_owned();
    }
    let (mut label, mut before) = (String::new(), None);
    for part in name.split_inclusive(is_between) {
        let end = part.trim_end_matches(is_between);
        let word = end.trim_end_matches(|of: char| of.is_ascii_digit());
        // Wildcards of bindings.
        if matches!(end, "" | "*" | "#") || keep(end, before) {
            label.push_str(part);
        } else if word.len() < end.len() && !is_hexadecimal(word) && keep(word, before) {
            label.push_str(word);
            label.push_str(PLACEHOLDER);
            label.push_str(part.get(end.len()..).unwrap_or_default());
        } else {
            label.push_str(PLACEHOLDER);
            label.push_str(part.get(end.len()..).unwrap_or_default());
        }
        before = Some(end);
    }
    label
}

/// Whether a word could be the beginning of a hexadecimal number.
fn is_hexadecimal(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_keep_words_only() {
        for (name, expected) in [
            ("orders", "orders"),
            ("order.created", "order.created"),
            ("user.alice.created", "user.{}.created"),
            ("amq.gen-JzTY20BRgKO-HjmUJj0wLg", "amq.gen-{}-{}"),
            ("orders2024", "orders{}"),
            ("reply-550e8400-e29b-41d4-a716-446655440000", "reply-{}-{}-{}-{}-{}"),
            ("stock.#", "stock.#"),
            ("alice@example.org", "{}"),
            ("", ""),
            ("a b", "{}"),
        ] {
            assert_eq!(reduce_label(name), expected, "{name}");
        }
        assert_eq!(table_name("wp_pstmt"), "wp_pstmt");
        assert_eq!(table_name("sbtest1"), "sbtest{}");
        assert_eq!(table_name("t_550e84"), "t_{}");
    }
}
