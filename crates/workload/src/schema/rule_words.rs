//! Reads the words and lists of values after a keyword of a schema line.

use crate::schema::rules::AttributeValues;
use crate::schema::tokens::SchemaToken;

/// The tokens after a keyword, taken from the beginning.
pub(super) struct RuleWords<'line> {
    rest: &'line [SchemaToken],
}

impl<'line> RuleWords<'line> {
    /// Words of the tokens after a keyword. Brackets around all tokens, and the final semicolon,
    /// are removed: the paper (Magpie) writes them.
    pub(super) fn after_keyword(tokens: &'line [SchemaToken]) -> RuleWords<'line> {
        let mut rest = tokens;
        if let [inside @ .., SchemaToken::Sign(";")] = rest {
            rest = inside;
        }
        if let [SchemaToken::Sign("("), inside @ .., SchemaToken::Sign(")")] = rest {
            rest = inside;
        }
        RuleWords { rest }
    }

    /// Whether no tokens are left.
    pub(super) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next word; commas before it are skipped. `None` if the next token is no word.
    pub(super) fn take_word(&mut self) -> Option<&'line str> {
        while self.take_sign(",") {}
        let [SchemaToken::Word(word), rest @ ..] = self.rest else { return None };
        self.rest = rest;
        Some(word)
    }

    /// Takes the next token if it is the word `word`. Returns whether it was taken.
    pub(super) fn take_keyword(&mut self, word: &str) -> bool {
        let before = self.rest;
        let found = self.take_word() == Some(word);
        if !found {
            self.rest = before;
        }
        found
    }

    /// Takes the next token if it is the sign `sign`. Returns whether it was taken.
    pub(super) fn take_sign(&mut self, sign: &str) -> bool {
        match self.rest {
            [SchemaToken::Sign(next), rest @ ..] if *next == sign => {
                self.rest = rest;
                true
            }
            _ => false,
        }
    }

    /// The next sign; `None` if the next token is no sign.
    pub(super) fn take_any_sign(&mut self) -> Option<&'static str> {
        let [SchemaToken::Sign(sign), rest @ ..] = self.rest else { return None };
        self.rest = rest;
        Some(sign)
    }

    /// `name(a, b)`, or `name` alone, which stands for `name(name)`.
    pub(super) fn take_values(&mut self) -> Result<AttributeValues, String> {
        let name = self.take_word().ok_or("a name is missing")?.to_owned();
        if !self.take_sign("(") {
            return Ok(AttributeValues { of: vec![name.clone()], name });
        }
        let mut of = Vec::new();
        while !self.take_sign(")") {
            let word = self.take_word().ok_or_else(|| {
                format!("the list after {name} is not closed; write {name}(attribute, attribute)")
            })?;
            of.push(word.to_owned());
            self.take_sign(",");
        }
        Ok(AttributeValues { name, of })
    }

    /// Fails if tokens are left.
    pub(super) fn expect_end(&self) -> Result<(), String> {
        match self.rest {
            [] => Ok(()),
            [SchemaToken::Word(word), ..] => Err(format!("{word:?} is unexpected; remove it")),
            [SchemaToken::Sign(sign), ..] => Err(format!("{sign:?} is unexpected; remove it")),
        }
    }
}
