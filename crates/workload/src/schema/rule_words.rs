//! Words and lists of values behind a keyword.

use crate::schema::rules::AttributeValues;
use crate::schema::tokens::SchemaToken;

/// What stands behind a keyword, taken from its begin.
pub(super) struct RuleWords<'line> {
    rest: &'line [SchemaToken],
}

impl<'line> RuleWords<'line> {
    /// Of the tokens behind a keyword. Brackets around all of it, and the semicolon at its end, are
    /// left away: the paper has them.
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

    /// Whether nothing is left.
    pub(super) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next word; commas before it are skipped.
    pub(super) fn take_word(&mut self) -> Option<&'line str> {
        while self.take_sign(",") {}
        let [SchemaToken::Word(word), rest @ ..] = self.rest else { return None };
        self.rest = rest;
        Some(word)
    }

    /// Whether the next token is that word, which is taken then.
    pub(super) fn take_keyword(&mut self, word: &str) -> bool {
        let before = self.rest;
        let found = self.take_word() == Some(word);
        if !found {
            self.rest = before;
        }
        found
    }

    /// Whether the next token is that sign, which is taken then.
    pub(super) fn take_sign(&mut self, sign: &str) -> bool {
        match self.rest {
            [SchemaToken::Sign(next), rest @ ..] if *next == sign => {
                self.rest = rest;
                true
            }
            _ => false,
        }
    }

    /// The next sign.
    pub(super) fn take_any_sign(&mut self) -> Option<&'static str> {
        let [SchemaToken::Sign(sign), rest @ ..] = self.rest else { return None };
        self.rest = rest;
        Some(sign)
    }

    /// `name(a, b)`, or `name` alone, which has its values where it has its name.
    pub(super) fn take_values(&mut self) -> Result<AttributeValues, String> {
        let name = self.take_word().ok_or("a name is missing")?.to_owned();
        if !self.take_sign("(") {
            return Ok(AttributeValues { of: vec![name.clone()], name });
        }
        let mut of = Vec::new();
        while !self.take_sign(")") {
            let word = self.take_word().ok_or_else(|| {
                format!("the list behind {name} has no end; write {name}(attribute, attribute)")
            })?;
            of.push(word.to_owned());
            self.take_sign(",");
        }
        Ok(AttributeValues { name, of })
    }

    /// Nothing must be left.
    pub(super) fn expect_end(&self) -> Result<(), String> {
        match self.rest {
            [] => Ok(()),
            [SchemaToken::Word(word), ..] => Err(format!("{word:?} is too much; remove it")),
            [SchemaToken::Sign(sign), ..] => Err(format!("{sign:?} is too much; remove it")),
        }
    }
}
