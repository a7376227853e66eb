//! Value of an attribute of an event.

/// Value of an attribute of an event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AttributeValue<'piece> {
    /// A whole number.
    Int(i64),
    /// Any other number.
    Real(f64),
    /// A text.
    Text(&'piece str),
}

impl AttributeValue<'_> {
    /// Returns the number if the value is a whole number.
    pub fn int_value(self) -> Option<i64> {
        if let AttributeValue::Int(number) = self { Some(number) } else { None }
    }
}
