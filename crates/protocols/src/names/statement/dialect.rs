//! SQL dialect of a statement.

/// SQL dialect of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatementDialect {
    /// PostgreSQL: `"` quotes names.
    PostgreSql,
    /// MySQL: `"` quotes literals.
    MySql,
}
