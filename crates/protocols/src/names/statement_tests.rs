//! Handwritten statements.

use super::*;

fn summary_name(text: &str) -> String {
    summarise_statement(text.as_bytes(), true, StatementDialect::PostgreSql).name
}

#[test]
fn kinds_and_tables() {
    for (text, expected) in [
        ("SELECT * FROM books WHERE id = 7", "SELECT books"),
        (
            "select b.title from public.books b join authors a on a.id = b.author",
            "SELECT books authors",
        ),
        ("INSERT INTO orders (id, name) VALUES (1, 'alice')", "INSERT orders"),
        ("INSERT INTO shipping SELECT * FROM orders", "INSERT shipping orders"),
        ("UPDATE books SET title = 'x' WHERE id = 1", "UPDATE books"),
        ("DELETE FROM books WHERE id IN (1, 2)", "DELETE books"),
        ("SELECT 1", "SELECT"),
        ("SELECT a, b FROM t1, \"T2\" x WHERE a = b", "SELECT t{} T{}"),
        ("SELECT EXTRACT(year FROM born) FROM people", "SELECT people"),
        ("SELECT * FROM generate_series(1, 10) AS n", "SELECT"),
        ("SELECT * FROM (SELECT id FROM a) x, b", "SELECT a b"),
        ("SELECT a FROM t WHERE a IS DISTINCT FROM b", "SELECT t"),
        ("SELECT * FROM t FOR UPDATE", "SELECT t"),
        ("WITH recent AS (SELECT * FROM orders) SELECT * FROM recent", "SELECT orders"),
        ("WITH x AS (SELECT 1) INSERT INTO t SELECT * FROM x", "INSERT t"),
        ("MERGE INTO t USING s ON t.a = s.a", "MERGE t s"),
        ("BEGIN", "BEGIN"),
        ("COMMIT;", "COMMIT"),
        ("SET search_path TO alice", "SET"),
        ("CREATE TABLE IF NOT EXISTS books (id int)", "CREATE TABLE books"),
        ("CREATE USER alice PASSWORD 'secret'", "CREATE USER"),
        ("create unique index concurrently i on books (id)", "CREATE INDEX"),
        ("GRANT ALL ON books TO alice", "GRANT"),
        ("TRUNCATE TABLE books", "TRUNCATE books"),
        ("EXPLAIN ANALYZE SELECT * FROM books", "EXPLAIN books"),
        ("COPY books FROM STDIN", "COPY books"),
        ("LISTEN alice", "LISTEN"),
        ("CALL pay('alice')", "CALL"),
        ("(SELECT a FROM x) UNION (SELECT a FROM y)", "SELECT x y"),
        ("/* user=alice */ SELECT * FROM books -- alice", "SELECT books"),
        ("alice", ""),
        ("", ""),
        ("'alice'", ""),
    ] {
        assert_eq!(summary_name(text), expected, "{text}");
    }
}

#[test]
fn details_have_no_literals() {
    let detail = |text: &str| {
        summarise_statement(text.as_bytes(), true, StatementDialect::PostgreSql).detail
    };
    for (text, expected) in [
        (
            "SELECT  b.id FROM books b\nWHERE name='alice' AND n IN (1,2,3) LIMIT 10",
            "SELECT id FROM books b WHERE name = ? AND n IN (?) LIMIT ?",
        ),
        // Drops schemas and aliases, which may be anything.
        (
            "WITH w AS (SELECT 1) SELECT a AS alice, f(alice.b) FROM alice.books AS alice",
            "WITH w AS (SELECT ?) SELECT a, f (b) FROM books",
        ),
        ("INSERT INTO t VALUES (1,'a'), (2,'b'), (3,'c')", "INSERT INTO t VALUES (?)"),
        ("SELECT \"books\".\"id\" FROM \"books\" WHERE x = $1", "SELECT id FROM books WHERE x = ?"),
        ("SELECT $$alice$$, E'alice', X'61', 0x61, 1e5, 'it''s'", "SELECT ?"),
        ("SET password = 'alice'", ""),
        ("SELECT a FROM t WHERE b = 'C:\\' AND c = 'alice'", "SELECT a FROM t WHERE b ="),
    ] {
        assert_eq!(detail(text), expected, "{text}");
    }
    let of_mysql = |text: &str| summarise_statement(text.as_bytes(), true, StatementDialect::MySql);
    let detail =
        of_mysql("SELECT `a` FROM `books` WHERE b = \"alice\" # alice\n AND c = 0b0101").detail;
    assert_eq!(detail, "SELECT a FROM books WHERE b = ? AND c = ?");
    assert_eq!(of_mysql("INSERT IGNORE INTO `db1`.`books` VALUES (1)").name, "INSERT books");
    assert_eq!(of_mysql("INSERT INTO b VALUES (1) ON DUPLICATE KEY UPDATE n = 2").name, "INSERT b");
}

/// A truncated statement yields the certain beginning of its name.
#[test]
fn a_truncated_statement_has_the_beginning_of_its_name() {
    let text = "SELECT a FROM books JOIN authors ON x = 'it''s alice' WHERE n = 1 AND m = 'bob'";
    let whole = summary_name(text);
    assert_eq!(whole, "SELECT books authors");
    for length in 0..text.len() {
        let cut =
            summarise_statement(&text.as_bytes()[..length], false, StatementDialect::PostgreSql);
        assert!(whole.starts_with(&cut.name), "{length}: {}", cut.name);
        assert!(!cut.detail.contains("alice") && !cut.detail.contains("bob"), "{}", cut.detail);
        let is_border = whole.len() == cut.name.len()
            || cut.name.is_empty()
            || whole.as_bytes()[cut.name.len()] == b' ';
        assert!(is_border, "{length}: {}", cut.name);
    }
}

#[test]
fn what_begins_a_statement() {
    let begins = |text: &str, whole| begins_statement(text.as_bytes(), whole);
    assert!(begins(" select 1", false) && begins("COMMIT", true) && begins("WITH a", true));
    assert!(!begins("COMMIT", false) && !begins("selection", true) && !begins("hello x", true));
}
