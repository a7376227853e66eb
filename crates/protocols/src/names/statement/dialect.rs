//! Whose SQL a statement is.

/// Whose SQL a statement is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// PostgreSQL's: `"` is around names.
    PostgreSql,
    /// MySQL's: `"` is around literals.
    MySql,
}
