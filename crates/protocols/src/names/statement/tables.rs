//! Tables of a statement, in the order in which it names them.

use super::tokens::StatementToken;
use crate::names::label;
use crate::tuning::STATEMENT_TABLES;

/// Functions with `FROM` between their arguments.
const WITH_FROM: &[&str] = &["EXTRACT", "SUBSTRING", "TRIM", "OVERLAY", "POSITION"];

/// Words that may occur between a keyword and the table.
const BETWEEN: &[&str] = &[
    "ONLY",
    "LATERAL",
    "TABLE",
    "IF",
    "NOT",
    "EXISTS",
    "IGNORE",
    "LOW_PRIORITY",
    "DELAYED",
    "HIGH_PRIORITY",
    "QUICK",
    "INTO",
    "FROM",
    "VERBOSE",
    "FULL",
    "FREEZE",
];

/// Words that precede a table.
const IN_FRONT: &[&str] = &["FROM", "JOIN", "INTO", "TABLE", "USING"];

/// Kinds that precede a table if they begin the statement.
const KINDS: &[&str] = &[
    "UPDATE", "INSERT", "REPLACE", "TRUNCATE", "COPY", "LOCK", "ANALYZE", "VACUUM", "DESCRIBE",
    "DESC", "MERGE",
];

/// Tables of a statement, without duplicates.
pub(super) fn tables_of_statement(parts: &[StatementToken]) -> Vec<String> {
    let named = named_queries(parts);
    let mut tables: Vec<String> = Vec::new();
    // For each open parenthesis, whether a FROM within it belongs to a function.
    let mut open: Vec<bool> = Vec::new();
    // Depths at which a comma continues a list of tables.
    let mut lists: Vec<usize> = Vec::new();
    let mut at = 0;
    while let Some(part) = parts.get(at) {
        let before = at.checked_sub(1).and_then(|at| parts.get(at));
        at += 1;
        let is = |words: &[&str]| words.iter().any(|word| part.has_keyword(word));
        if part.is_sign("(") {
            open.push(
                before.is_some_and(|before| WITH_FROM.iter().any(|word| before.has_keyword(word))),
            );
            continue;
        }
        if part.is_sign(")") {
            open.pop();
            lists.retain(|depth| *depth <= open.len());
            continue;
        }
        let depth = open.len();
        let of_function = open.last() == Some(&true)
            || before
                .is_some_and(|before| before.has_keyword("DISTINCT") || before.has_keyword("."));
        // `ON DUPLICATE KEY UPDATE`, `FOR UPDATE` and `ON UPDATE` name no table.
        let begins = before
            .is_none_or(|before| before.is_sign(";") || before.has_keyword("EXPLAIN"))
            || part.has_keyword("UPDATE") && before.is_some_and(|before| before.is_sign(")"))
            || part.has_keyword("INSERT");
        let goes_on = part.is_sign(",") && lists.last() == Some(&depth);
        // USING in a join is followed by a list of columns in parentheses.
        if !(is(IN_FRONT) && !of_function || is(KINDS) && begins || goes_on) {
            if matches!(part, StatementToken::Word(_, false)) && is_end_of_list(part) {
                lists.retain(|other| *other != depth);
            }
            continue;
        }
        while parts.get(at).is_some_and(|part| BETWEEN.iter().any(|word| part.has_keyword(word))) {
            at += 1;
        }
        let (table, after) = table_name_at(parts, at);
        if part.has_keyword("FROM") || part.has_keyword("UPDATE") || part.has_keyword("USING") {
            lists.push(depth);
        }
        let is_function = parts.get(after).is_some_and(|part| part.is_sign("("))
            && !part.has_keyword("INTO")
            && !is(KINDS)
            && !part.has_keyword("TABLE");
        if let Some(table) = table.filter(|_| !is_function) {
            if !named.contains(&table.to_ascii_lowercase()) && !tables.contains(&table) {
                tables.push(table);
            }
            at = after;
        }
        if tables.len() == STATEMENT_TABLES {
            break;
        }
    }
    tables
}

/// Whether a word ends a list of tables.
fn is_end_of_list(part: &StatementToken) -> bool {
    ["WHERE", "SET", "ON", "GROUP", "ORDER", "HAVING", "LIMIT", "VALUES", "SELECT", "UNION"]
        .iter()
        .any(|word| part.has_keyword(word))
}

/// Last part of a name such as `public.books`, and the index after it. The parts before it name a
/// database or a schema, which may be a tenant's.
fn table_name_at(parts: &[StatementToken], mut at: usize) -> (Option<String>, usize) {
    let mut name = None;
    loop {
        match parts.get(at) {
            // Quoted names have been reduced already.
            Some(StatementToken::Word(word, true)) => name = Some(word.clone()),
            Some(StatementToken::Word(word, false)) if !is_keyword(word) => {
                name = Some(label::table_name(word))
            }
            _ => return (name, at),
        }
        at += 1;
        match parts.get(at) {
            Some(sign) if sign.is_sign(".") => at += 1,
            _ => return (name, at),
        }
    }
}

/// Whether a word in the position of a table is a keyword.
fn is_keyword(word: &str) -> bool {
    [
        "SELECT", "VALUES", "SET", "WHERE", "OF", "NOWAIT", "SKIP", "DUAL", "STDIN", "STDOUT",
        "OUTFILE",
    ]
    .iter()
    .any(|keyword| word.eq_ignore_ascii_case(keyword))
}

/// Names of queries that a WITH defines, in lower case; they are not tables.
fn named_queries(parts: &[StatementToken]) -> Vec<String> {
    let is_with = parts.iter().any(|part| part.has_keyword("WITH"));
    let windows = parts.windows(3).filter(|_| is_with);
    let name = |window: &[StatementToken]| match window {
        [StatementToken::Word(name, _), as_word, after]
            if as_word.has_keyword("AS")
                && (after.is_sign("(")
                    || after.has_keyword("MATERIALIZED")
                    || after.has_keyword("NOT")) =>
        {
            Some(name.to_ascii_lowercase())
        }
        _ => None,
    };
    windows.filter_map(name).collect()
}
