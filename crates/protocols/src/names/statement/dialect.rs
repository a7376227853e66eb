//! Whose SQL a statement is.

/// Whose SQL a statement is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatementDialect {
    /// PostgreSQL's: `"` is around names.
    PostgreSql,
    /// MySQL's: `"` is around literals.
    MySql,
}
