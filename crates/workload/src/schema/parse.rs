//! Lines of a schema to its statements.

use std::path::Path;

use crate::schema::error::SchemaError;
use crate::schema::part_lines::part_line;
use crate::schema::statements::{Part, Schema, SyncRule};
use crate::schema::tokens::{Token, expanded, tokens};
use crate::schema::values::Words;

/// Reads the lines of `text`; `file` is what errors call it.
pub(super) fn parse(text: &str, file: &Path) -> Result<Schema, SchemaError> {
    let mut schema = Schema { file: file.to_owned(), ..Schema::default() };
    for (number, line) in (1..).zip(text.lines()) {
        let error = |why| SchemaError::new(file, number, why);
        let tokens = tokens(line).map_err(error)?;
        let Some((first, rest)) = tokens.split_first() else { continue };
        let Token::Word(keyword) = first else {
            return Err(error("a line begins with a word, such as EVENT".to_owned()));
        };
        statement(&mut schema, keyword, Words::behind(rest), number).map_err(error)?;
    }
    Ok(schema)
}

fn statement(
    schema: &mut Schema,
    keyword: &str,
    mut words: Words<'_>,
    line: u32,
) -> Result<(), String> {
    match keyword {
        "EVENT" => schema.parts.push(event(&mut words, line)?),
        "APART" => schema.apart = true,
        "SYNC" => {
            let mut word = || words.word().map(str::to_owned).ok_or(SYNC);
            let (source, attribute, destination) = (word()?, word()?, word()?);
            schema.syncs.push(SyncRule { line, source, attribute, destination });
        }
        "WAIT" if !words.is_empty() => {
            while let Some(word) = words.word() {
                schema.waits.extend(expanded(word).into_iter().map(|kind| (line, kind)));
            }
        }
        _ => {
            let part = schema.parts.last_mut().ok_or_else(|| {
                format!("{keyword} stands before the first EVENT; put it below an EVENT line")
            })?;
            part_line(part, keyword, &mut words)?;
        }
    }
    words.end()
}

const SYNC: &str = "SYNC takes a source, an attribute and a destination: \
                    SYNC provider/signal attribute provider/resume";

/// `EVENT provider/name ... [AS provider/name]`, or the paper's `EVENT("provider", "name")`.
fn event(words: &mut Words<'_>, line: u32) -> Result<Part, String> {
    let mut part = Part { line, ..Part::default() };
    while !words.is_empty() && !words.keyword("AS") {
        let Some(word) = words.word() else { return words.end().map(|()| part) };
        part.kinds.extend(expanded(word));
    }
    part.renamed = words.word().map(str::to_owned);
    if let [provider, name] = part.kinds.as_slice()
        && !provider.contains('/')
        && !name.contains('/')
    {
        part.kinds = vec![format!("{provider}/{name}")];
    }
    match part.kinds.iter().chain(&part.renamed).find(|kind| !kind.contains('/')) {
        Some(kind) => Err(format!("{kind:?} is no kind; write provider/name")),
        None if part.kinds.is_empty() => Err("EVENT takes a kind: EVENT provider/name".to_owned()),
        None => Ok(part),
    }
}
