//! Words and lists of values behind a keyword.

use crate::schema::statements::Values;
use crate::schema::tokens::Token;

/// What stands behind a keyword, taken from its begin.
pub(super) struct Words<'line> {
    rest: &'line [Token],
}

impl<'line> Words<'line> {
    /// Of the tokens behind a keyword. Brackets around all of it, and the semicolon at its end, are
    /// left away: the paper has them.
    pub(super) fn behind(tokens: &'line [Token]) -> Words<'line> {
        let mut rest = tokens;
        if let [inside @ .., Token::Sign(";")] = rest {
            rest = inside;
        }
        if let [Token::Sign("("), inside @ .., Token::Sign(")")] = rest {
            rest = inside;
        }
        Words { rest }
    }

    /// Whether nothing is left.
    pub(super) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next word; commas before it are skipped.
    pub(super) fn word(&mut self) -> Option<&'line str> {
        while self.sign(",") {}
        let [Token::Word(word), rest @ ..] = self.rest else { return None };
        self.rest = rest;
        Some(word)
    }

    /// Whether the next token is that word, which is taken then.
    pub(super) fn keyword(&mut self, word: &str) -> bool {
        let before = self.rest;
        let found = self.word() == Some(word);
        if !found {
            self.rest = before;
        }
        found
    }

    /// Whether the next token is that sign, which is taken then.
    pub(super) fn sign(&mut self, sign: &str) -> bool {
        match self.rest {
            [Token::Sign(next), rest @ ..] if *next == sign => {
                self.rest = rest;
                true
            }
            _ => false,
        }
    }

    /// The next sign.
    pub(super) fn any_sign(&mut self) -> Option<&'static str> {
        let [Token::Sign(sign), rest @ ..] = self.rest else { return None };
        self.rest = rest;
        Some(sign)
    }

    /// `name(a, b)`, or `name` alone, which has its values where it has its name.
    pub(super) fn values(&mut self) -> Result<Values, String> {
        let name = self.word().ok_or("a name is missing")?.to_owned();
        if !self.sign("(") {
            return Ok(Values { of: vec![name.clone()], name });
        }
        let mut of = Vec::new();
        while !self.sign(")") {
            let word = self.word().ok_or_else(|| {
                format!("the list behind {name} has no end; write {name}(attribute, attribute)")
            })?;
            of.push(word.to_owned());
            self.sign(",");
        }
        Ok(Values { name, of })
    }

    /// Nothing must be left.
    pub(super) fn end(&self) -> Result<(), String> {
        match self.rest {
            [] => Ok(()),
            [Token::Word(word), ..] => Err(format!("{word:?} is too much; remove it")),
            [Token::Sign(sign), ..] => Err(format!("{sign:?} is too much; remove it")),
        }
    }
}
