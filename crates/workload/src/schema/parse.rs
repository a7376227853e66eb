//! Parses the lines of a schema to statements.

use std::path::Path;

use crate::schema::error::SchemaError;
use crate::schema::rule_lines::parse_rule_line;
use crate::schema::rule_words::RuleWords;
use crate::schema::rules::{EventRule, EventSchema, SyncRule};
use crate::schema::tokens::{SchemaToken, expand_braces, split_tokens};

/// Parses the lines of `text`; errors refer to it as `file`.
pub(super) fn parse_schema(text: &str, file: &Path) -> Result<EventSchema, SchemaError> {
    let mut schema = EventSchema { file: file.to_owned(), ..EventSchema::default() };
    for (number, line) in (1..).zip(text.lines()) {
        let error = |why| SchemaError::new(file, number, why);
        let tokens = split_tokens(line).map_err(error)?;
        let Some((first, rest)) = tokens.split_first() else { continue };
        let SchemaToken::Word(keyword) = first else {
            return Err(error("a line begins with a word, such as EVENT".to_owned()));
        };
        parse_statement(&mut schema, keyword, RuleWords::after_keyword(rest), number)
            .map_err(error)?;
    }
    Ok(schema)
}

fn parse_statement(
    schema: &mut EventSchema,
    keyword: &str,
    mut words: RuleWords<'_>,
    line: u32,
) -> Result<(), String> {
    match keyword {
        "EVENT" => schema.parts.push(parse_event(&mut words, line)?),
        "APART" => schema.apart = true,
        "SYNC" => {
            let mut word = || words.take_word().map(str::to_owned).ok_or(SYNC);
            let (source, attribute, destination) = (word()?, word()?, word()?);
            schema.syncs.push(SyncRule { line, source, attribute, destination });
        }
        "WAIT" if !words.is_empty() => {
            while let Some(word) = words.take_word() {
                schema.waits.extend(expand_braces(word).into_iter().map(|kind| (line, kind)));
            }
        }
        _ => {
            let part = schema.parts.last_mut().ok_or_else(|| {
                format!("{keyword} is before the first EVENT; put it below an EVENT line")
            })?;
            parse_rule_line(part, keyword, &mut words)?;
        }
    }
    words.expect_end()
}

const SYNC: &str = "SYNC takes a source, an attribute and a destination: \
                    SYNC provider/signal attribute provider/resume";

/// `EVENT provider/name ... [AS provider/name]`, or the paper's `EVENT("provider", "name")`.
fn parse_event(words: &mut RuleWords<'_>, line: u32) -> Result<EventRule, String> {
    let mut part = EventRule { line, ..EventRule::default() };
    while !words.is_empty() && !words.take_keyword("AS") {
        let Some(word) = words.take_word() else { return words.expect_end().map(|()| part) };
        part.kinds.extend(expand_braces(word));
    }
    part.renamed = words.take_word().map(str::to_owned);
    if let [provider, name] = part.kinds.as_slice()
        && !provider.contains('/')
        && !name.contains('/')
    {
        part.kinds = vec![format!("{provider}/{name}")];
    }
    match part.kinds.iter().chain(&part.renamed).find(|kind| !kind.contains('/')) {
        Some(kind) => Err(format!("{kind:?} is not a kind; write provider/name")),
        None if part.kinds.is_empty() => Err("EVENT takes a kind: EVENT provider/name".to_owned()),
        None => Ok(part),
    }
}
