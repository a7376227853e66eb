//! Scalar: a JSON value of any type in the place of a text or a number. A wrong type costs only its
//! span, not the file.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// Scalar value, as recorded.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum JsonScalar<'t> {
    Null,
    Text(Cow<'t, str>),
    Bool(bool),
    Unsigned(u64),
    Signed(i64),
    Float(f64),
    /// A list or an object.
    Other,
}

impl<'t> JsonScalar<'t> {
    /// Text of the value; for a number, its digits.
    pub(super) fn into_text(self) -> Cow<'t, str> {
        match self {
            JsonScalar::Null | JsonScalar::Other => Cow::Borrowed(""),
            JsonScalar::Text(text) => text,
            JsonScalar::Bool(value) => Cow::Borrowed(if value { "true" } else { "false" }),
            JsonScalar::Unsigned(number) => Cow::Owned(number.to_string()),
            JsonScalar::Signed(number) => Cow::Owned(number.to_string()),
            JsonScalar::Float(number) => Cow::Owned(number.to_string()),
        }
    }

    /// Number in the value or in its text, if that is whole and not negative.
    pub(super) fn to_unsigned(&self) -> Option<u64> {
        match self {
            JsonScalar::Unsigned(number) => Some(*number),
            JsonScalar::Text(text) => text.parse().ok(),
            // Some writers have only one type of numbers.
            JsonScalar::Float(number) if number.fract() == 0.0 && (0.0..2e19).contains(number) => {
                Some(*number as u64)
            }
            _ => None,
        }
    }

    /// Whether the value is null or an empty text.
    pub(super) fn is_empty_or_null(&self) -> bool {
        match self {
            JsonScalar::Null => true,
            JsonScalar::Text(text) => text.is_empty(),
            _ => false,
        }
    }
}

impl<'t, 'de: 't> Deserialize<'de> for JsonScalar<'t> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<JsonScalar<'t>, D::Error> {
        deserializer.deserialize_any(ScalarVisitor)
    }
}

struct ScalarVisitor;

impl<'de> Visitor<'de> for ScalarVisitor {
    type Value = JsonScalar<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<JsonScalar<'de>, E> {
        Ok(JsonScalar::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<JsonScalar<'de>, E> {
        Ok(JsonScalar::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_unit<E>(self) -> Result<JsonScalar<'de>, E> {
        Ok(JsonScalar::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<JsonScalar<'de>, E> {
        Ok(JsonScalar::Bool(value))
    }

    fn visit_u64<E>(self, number: u64) -> Result<JsonScalar<'de>, E> {
        Ok(JsonScalar::Unsigned(number))
    }

    fn visit_i64<E>(self, number: i64) -> Result<JsonScalar<'de>, E> {
        Ok(JsonScalar::Signed(number))
    }

    fn visit_f64<E>(self, number: f64) -> Result<JsonScalar<'de>, E> {
        Ok(JsonScalar::Float(number))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<JsonScalar<'de>, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(JsonScalar::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<JsonScalar<'de>, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(JsonScalar::Other)
    }
}

/// Name of an object's member.
pub(super) struct MemberName<'t>(pub(super) Cow<'t, str>);

impl<'de> Deserialize<'de> for MemberName<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<MemberName<'de>, D::Error> {
        struct MemberNameVisitor;
        impl<'de> Visitor<'de> for MemberNameVisitor {
            type Value = MemberName<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<MemberName<'de>, E> {
                Ok(MemberName(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<MemberName<'de>, E> {
                Ok(MemberName(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(MemberNameVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_numbers_however_they_are_written() {
        let unsigned =
            |json: &str| serde_json::from_str::<JsonScalar<'_>>(json).unwrap().to_unsigned();
        let time = Some(1_661_273_974_730_641_486);
        assert_eq!(unsigned("\"1661273974730641486\""), time);
        assert_eq!(unsigned("1661273974730641486"), time);
        assert_eq!(unsigned("1.5e3"), Some(1500));
        for none in ["-1", "1.5", "\"x\"", "\"\"", "null", "{\"a\": [1]}", "[{}]", "true", "1e300"]
        {
            assert_eq!(unsigned(none), None, "{none}");
        }
    }

    #[test]
    fn a_scalar_has_a_text() {
        let text = |json| serde_json::from_str::<JsonScalar<'_>>(json).unwrap().into_text();
        for (json, expected) in
            [("\"a\\n\"", "a\n"), ("null", ""), ("false", "false"), ("-2", "-2"), ("[1]", "")]
        {
            assert_eq!(text(json), expected);
        }
    }
}
