//! Kinds of statements, by their first words.

use super::tokens::StatementToken;

/// Kind of a statement.
#[derive(Clone, Copy, Debug)]
pub(super) struct StatementKind {
    pub(super) name: &'static str,
    /// Whether the statement's tables are part of the name.
    pub(super) has_tables: bool,
    /// Whether all words of the statement come from a program, so that it can be recorded with `?`
    /// for literals.
    pub(super) has_detail: bool,
}

/// Kinds with words that all come from a program: tables, columns, functions.
const OF_ROWS: &[&str] =
    &["SELECT", "INSERT", "UPDATE", "DELETE", "MERGE", "REPLACE", "VALUES", "TABLE"];

/// Kinds that have tables; their other words may be literals.
const OF_TABLES: &[&str] = &["COPY", "TRUNCATE", "LOCK", "ANALYZE", "VACUUM", "DESCRIBE", "DESC"];

/// Kinds that are named by their first word alone: what follows may be a literal.
const OTHERS: &[&str] = &[
    "BEGIN",
    "START",
    "COMMIT",
    "ROLLBACK",
    "SAVEPOINT",
    "RELEASE",
    "SET",
    "SHOW",
    "USE",
    "UNLOCK",
    "GRANT",
    "REVOKE",
    "LISTEN",
    "UNLISTEN",
    "NOTIFY",
    "PREPARE",
    "EXECUTE",
    "DEALLOCATE",
    "DECLARE",
    "FETCH",
    "MOVE",
    "CLOSE",
    "KILL",
    "LOAD",
    "HANDLER",
    "DO",
    "CALL",
    "RESET",
    "DISCARD",
    "CHECKPOINT",
    "REINDEX",
    "COMMENT",
    "SECURITY",
    "REFRESH",
    "IMPORT",
    "CLUSTER",
    "REASSIGN",
    "XA",
    "FLUSH",
    "OPTIMIZE",
    "CHECK",
    "REPAIR",
    "RENAME",
    "INSTALL",
    "CHANGE",
    "PURGE",
    "STOP",
    "ABORT",
    "END",
    "SHUTDOWN",
    "BINLOG",
    "CACHE",
];

/// Kinds that are named with the object that they are about.
const OF_OBJECTS: &[(&str, &[(&str, &str)])] = &[
    (
        "CREATE",
        &[
            ("TABLE", "CREATE TABLE"),
            ("INDEX", "CREATE INDEX"),
            ("VIEW", "CREATE VIEW"),
            ("DATABASE", "CREATE DATABASE"),
            ("SCHEMA", "CREATE SCHEMA"),
            ("FUNCTION", "CREATE FUNCTION"),
            ("PROCEDURE", "CREATE PROCEDURE"),
            ("TRIGGER", "CREATE TRIGGER"),
            ("SEQUENCE", "CREATE SEQUENCE"),
            ("TYPE", "CREATE TYPE"),
            ("EXTENSION", "CREATE EXTENSION"),
            ("USER", "CREATE USER"),
            ("ROLE", "CREATE ROLE"),
        ],
    ),
    (
        "ALTER",
        &[
            ("TABLE", "ALTER TABLE"),
            ("INDEX", "ALTER INDEX"),
            ("VIEW", "ALTER VIEW"),
            ("DATABASE", "ALTER DATABASE"),
            ("SCHEMA", "ALTER SCHEMA"),
            ("FUNCTION", "ALTER FUNCTION"),
            ("SEQUENCE", "ALTER SEQUENCE"),
            ("TYPE", "ALTER TYPE"),
            ("SYSTEM", "ALTER SYSTEM"),
            ("USER", "ALTER USER"),
            ("ROLE", "ALTER ROLE"),
        ],
    ),
    (
        "DROP",
        &[
            ("TABLE", "DROP TABLE"),
            ("INDEX", "DROP INDEX"),
            ("VIEW", "DROP VIEW"),
            ("DATABASE", "DROP DATABASE"),
            ("SCHEMA", "DROP SCHEMA"),
            ("FUNCTION", "DROP FUNCTION"),
            ("PROCEDURE", "DROP PROCEDURE"),
            ("TRIGGER", "DROP TRIGGER"),
            ("SEQUENCE", "DROP SEQUENCE"),
            ("TYPE", "DROP TYPE"),
            ("USER", "DROP USER"),
            ("ROLE", "DROP ROLE"),
        ],
    ),
];

/// Maximum distance of the object from `CREATE`, in words: `CREATE OR REPLACE TEMPORARY TABLE`.
const MAX_OBJECT_DISTANCE: usize = 5;

/// Whether a statement can begin with a word in capital letters.
pub(super) fn is_first_word(word: &str) -> bool {
    let objects = OF_OBJECTS.iter().any(|(kind, _)| *kind == word);
    objects || matches!(word, "WITH" | "EXPLAIN") || find_kind(word).is_some()
}

/// Finds the kind of a word in capital letters.
fn find_kind(word: &str) -> Option<StatementKind> {
    let among = |list: &[&'static str]| list.iter().copied().find(|kind| *kind == word);
    let kind = |name, has_tables, has_detail| StatementKind { name, has_tables, has_detail };
    among(OF_ROWS)
        .map(|name| kind(name, true, true))
        .or_else(|| among(OF_TABLES).map(|name| kind(name, true, false)))
        .or_else(|| among(OTHERS).map(|name| kind(name, false, false)))
}

/// Determines the kind of a statement; `None` if its first word is not known.
pub(super) fn kind_of_statement(parts: &[StatementToken]) -> Option<StatementKind> {
    let begin = parts.iter().position(|part| !part.is_sign("(") && !part.is_sign(";"))?;
    let rest = parts.get(begin..)?;
    let StatementToken::Word(first, false) = rest.first()? else { return None };
    let first = first.to_ascii_uppercase();
    if let Some((name, objects)) = OF_OBJECTS.iter().find(|(kind, _)| *kind == first) {
        let within = rest.iter().skip(1).take(MAX_OBJECT_DISTANCE);
        let object = within
            .filter_map(|part| objects.iter().find(|(object, _)| part.has_keyword(object)))
            .map(|(object, kind)| (*object, *kind))
            .next();
        let (object, name) = object.unwrap_or(("", name));
        return Some(StatementKind { name, has_tables: object == "TABLE", has_detail: false });
    }
    if first == "EXPLAIN" {
        return Some(StatementKind { name: "EXPLAIN", has_tables: true, has_detail: false });
    }
    if first != "WITH" {
        return find_kind(&first);
    }
    // The statement after the named queries determines the kind.
    let mut depth = 0_usize;
    for part in rest.iter().skip(1) {
        if part.is_sign("(") {
            depth += 1;
        } else if part.is_sign(")") {
            depth = depth.saturating_sub(1);
        } else if depth == 0
            && let StatementToken::Word(word, false) = part
            && let Some(kind) = find_kind(&word.to_ascii_uppercase()).filter(|kind| kind.has_detail)
        {
            return Some(kind);
        }
    }
    Some(StatementKind { name: "WITH", has_tables: false, has_detail: true })
}
