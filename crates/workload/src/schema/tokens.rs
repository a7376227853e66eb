//! Tokens of a line of a schema.

/// A token of a line: a word or a sign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SchemaToken {
    /// A word or a text in quotes.
    Word(String),
    /// A bracket, a comma, or an operator.
    Sign(&'static str),
}

/// Signs, the longer ones first.
const SIGNS: [&str; 13] = ["!=", "<=", ">=", "=", "<", ">", "&", "|", "*", "(", ")", ",", ";"];

/// The tokens of a line without its comment.
///
/// # Errors
/// A message that states the fault of the line.
pub(super) fn split_tokens(line: &str) -> Result<Vec<SchemaToken>, String> {
    let mut tokens = Vec::new();
    let mut rest = line.trim_start();
    while let Some(first) = rest.chars().next() {
        if first == '#' {
            break;
        }
        if let Some(text) = rest.strip_prefix('"') {
            let (text, after) = text
                .split_once('"')
                .ok_or("a text has no closing quote; add one, as in \"text\"")?;
            tokens.push(SchemaToken::Word(text.to_owned()));
            rest = after.trim_start();
        } else if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            tokens.push(SchemaToken::Sign(sign));
            rest = rest.strip_prefix(sign).unwrap_or_default().trim_start();
        } else {
            let (word, after) = rest.split_at(word_length(rest));
            tokens.push(SchemaToken::Word(word.to_owned()));
            rest = after.trim_start();
        }
    }
    Ok(tokens)
}

/// Number of bytes of the word at the begin of `text`. Everything in braces is part of it.
fn word_length(text: &str) -> usize {
    let mut in_braces = false;
    for (place, letter) in text.char_indices() {
        let ends = letter.is_whitespace() || "=!<>&|*(),;#\"".contains(letter);
        match letter {
            '{' => in_braces = true,
            '}' => in_braces = false,
            _ if ends && !in_braces => return place.max(letter.len_utf8()),
            _ => {}
        }
    }
    text.len()
}

/// The words that a word with alternatives in braces stands for: `a_{x,y}` is `a_x` and `a_y`.
pub(super) fn expand_braces(word: &str) -> Vec<String> {
    let braces = word.split_once('{').and_then(|(before, rest)| {
        rest.split_once('}').map(|(inside, after)| (before, inside, after))
    });
    let Some((before, inside, after)) = braces else { return vec![word.to_owned()] };
    inside.split(',').map(|part| format!("{before}{}{after}", part.trim())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(line: &str) -> Vec<String> {
        let tokens = split_tokens(line).unwrap();
        let text = |token: &SchemaToken| match token {
            SchemaToken::Word(word) => format!("'{word}'"),
            SchemaToken::Sign(sign) => (*sign).to_owned(),
        };
        tokens.iter().map(text).collect()
    }

    #[test]
    fn a_line_of_the_paper_and_one_of_ours_have_words_and_signs() {
        let paper = shown("ATTRIBUTE(\"Tid\", BIND_BASIC, 0); # as in Figure 4");
        let expected = ["'ATTRIBUTE'", "(", "'Tid'", ",", "'BIND_BASIC'", ",", "'0'", ")", ";"];
        assert_eq!(paper, expected);
        assert_eq!(shown("WHERE a!=R+|S"), ["'WHERE'", "'a'", "!=", "'R+'", "|", "'S'"]);
        assert_eq!(shown("  x/{a,b}  "), ["'x/{a,b}'"]);
        assert_eq!(shown("! x"), ["'!'", "'x'"]);
        assert!(split_tokens("NAME \"x").is_err());
    }

    #[test]
    fn braces_stand_for_alternatives() {
        assert_eq!(expand_braces("s/exit_{read, recv}64"), ["s/exit_read64", "s/exit_recv64"]);
        assert_eq!(expand_braces("s/x"), ["s/x"]);
    }
}
