//! Value of an attribute of an event.

/// Value of an attribute of an event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'piece> {
    /// A whole number.
    Int(i64),
    /// Any other number.
    Real(f64),
    /// A text.
    Text(&'piece str),
}

impl Value<'_> {
    /// The whole number, where it is one.
    pub fn int(self) -> Option<i64> {
        if let Value::Int(number) = self { Some(number) } else { None }
    }
}
