//! Scalar: a JSON value of any type that should be a text or a number. What it is instead costs the
//! span that it is of, and not the file.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// A value as it was written down.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Scalar<'t> {
    Null,
    Text(Cow<'t, str>),
    Bool(bool),
    Unsigned(u64),
    Signed(i64),
    Float(f64),
    /// A list or an object.
    Other,
}

impl<'t> Scalar<'t> {
    /// Its text; of a number, its digits.
    pub(super) fn into_text(self) -> Cow<'t, str> {
        match self {
            Scalar::Null | Scalar::Other => Cow::Borrowed(""),
            Scalar::Text(text) => text,
            Scalar::Bool(value) => Cow::Borrowed(if value { "true" } else { "false" }),
            Scalar::Unsigned(number) => Cow::Owned(number.to_string()),
            Scalar::Signed(number) => Cow::Owned(number.to_string()),
            Scalar::Float(number) => Cow::Owned(number.to_string()),
        }
    }

    /// The number that it is or that its text has, if that is whole and not below 0.
    pub(super) fn unsigned(&self) -> Option<u64> {
        match self {
            Scalar::Unsigned(number) => Some(*number),
            Scalar::Text(text) => text.parse().ok(),
            // Some writers have but one type of number.
            Scalar::Float(number) if number.fract() == 0.0 && (0.0..2e19).contains(number) => {
                Some(*number as u64)
            }
            _ => None,
        }
    }

    /// Whether it is nothing: null or an empty text.
    pub(super) fn is_nothing(&self) -> bool {
        match self {
            Scalar::Null => true,
            Scalar::Text(text) => text.is_empty(),
            _ => false,
        }
    }
}

impl<'t, 'de: 't> Deserialize<'de> for Scalar<'t> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Scalar<'t>, D::Error> {
        deserializer.deserialize_any(Any)
    }
}

struct Any;

impl<'de> Visitor<'de> for Any {
    type Value = Scalar<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_unit<E>(self) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Bool(value))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Unsigned(number))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Signed(number))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Float(number))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Scalar<'de>, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Scalar::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Scalar<'de>, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Scalar::Other)
    }
}

/// The name of a member of an object.
pub(super) struct Key<'t>(pub(super) Cow<'t, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Key<'de>, D::Error> {
        struct Text;
        impl<'de> Visitor<'de> for Text {
            type Value = Key<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(Text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_numbers_however_they_are_written() {
        let unsigned = |json: &str| serde_json::from_str::<Scalar<'_>>(json).unwrap().unsigned();
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
        let text = |json| serde_json::from_str::<Scalar<'_>>(json).unwrap().into_text();
        for (json, expected) in
            [("\"a\\n\"", "a\n"), ("null", ""), ("false", "false"), ("-2", "-2"), ("[1]", "")]
        {
            assert_eq!(text(json), expected);
        }
    }
}
