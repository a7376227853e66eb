//! JSON values as tracers write them: texts that may be numbers, times, and maps with a significant
//! order.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use crate::tuning::{MAX_ENTRIES, MAX_EPOCH_DISTANCE_NS};

/// Any value as a text: a text unchanged, another value as JSON, and null as an empty text.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct AnyText<'a>(pub(super) Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for AnyText<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<AnyText<'a>, D::Error> {
        deserializer.deserialize_any(AnyTextVisitor(PhantomData))
    }
}

struct AnyTextVisitor<'a>(PhantomData<&'a ()>);

impl<'de: 'a, 'a> Visitor<'de> for AnyTextVisitor<'a> {
    type Value = AnyText<'a>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<AnyText<'a>, E> {
        Ok(AnyText(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<AnyText<'a>, E> {
        Ok(AnyText(Cow::Owned(text.to_owned())))
    }

    fn visit_bool<E>(self, value: bool) -> Result<AnyText<'a>, E> {
        Ok(AnyText(Cow::Borrowed(if value { "true" } else { "false" })))
    }

    fn visit_i64<E>(self, value: i64) -> Result<AnyText<'a>, E> {
        Ok(AnyText(Cow::Owned(value.to_string())))
    }

    fn visit_u64<E>(self, value: u64) -> Result<AnyText<'a>, E> {
        Ok(AnyText(Cow::Owned(value.to_string())))
    }

    fn visit_f64<E>(self, value: f64) -> Result<AnyText<'a>, E> {
        Ok(AnyText(Cow::Owned(value.to_string())))
    }

    fn visit_unit<E>(self) -> Result<AnyText<'a>, E> {
        Ok(AnyText::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, values: A) -> Result<AnyText<'a>, A::Error> {
        let mut text = String::new();
        JsonText(&mut text).visit_seq(values)?;
        Ok(AnyText(Cow::Owned(text)))
    }

    fn visit_map<A: MapAccess<'de>>(self, values: A) -> Result<AnyText<'a>, A::Error> {
        let mut text = String::new();
        JsonText(&mut text).visit_map(values)?;
        Ok(AnyText(Cow::Owned(text)))
    }
}

/// A time or a duration that is written in microseconds, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MicrosecondTime(pub(super) i64);

impl<'de> Deserialize<'de> for MicrosecondTime {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<MicrosecondTime, D::Error> {
        deserializer.deserialize_any(MicrosecondTimeVisitor)
    }
}

struct MicrosecondTimeVisitor;

impl Visitor<'_> for MicrosecondTimeVisitor {
    type Value = MicrosecondTime;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number of microseconds")
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<MicrosecondTime, E> {
        let time = value
            .checked_mul(1_000)
            .filter(|time| time.unsigned_abs() <= MAX_EPOCH_DISTANCE_NS as u64);
        time.map(MicrosecondTime).ok_or_else(|| too_far(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<MicrosecondTime, E> {
        self.visit_i64(i64::try_from(value).map_err(|_| too_far(value))?)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<MicrosecondTime, E> {
        let time = (value * 1e3).round();
        match time.abs() <= MAX_EPOCH_DISTANCE_NS as f64 {
            true => Ok(MicrosecondTime(time as i64)),
            false => Err(too_far(value)),
        }
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<MicrosecondTime, E> {
        match (text.parse::<i64>(), text.parse::<f64>()) {
            (Ok(value), _) => self.visit_i64(value),
            (_, Ok(value)) => self.visit_f64(value),
            _ => Err(E::custom(format_args!("{text:.40?} is not a number of microseconds"))),
        }
    }
}

fn too_far<E: Error>(value: impl fmt::Display) -> E {
    E::custom(format_args!("{value} us is farther from 1970 than 146 years"))
}

/// Writes a value as JSON while it is parsed. A tree of the value would take 32 bytes for each two.
struct JsonText<'t>(&'t mut String);

impl JsonText<'_> {
    fn write_value<E: Error>(self, value: &impl serde::Serialize) -> Result<(), E> {
        self.0.push_str(&serde_json::to_string(value).map_err(E::custom)?);
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for JsonText<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for JsonText<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        self.write_value(&text)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        self.write_value(&value)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        self.write_value(&value)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        self.write_value(&value)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        self.write_value(&value)
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.write_value(&())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let mut between = '[';
        loop {
            let length = self.0.len();
            self.0.push(between);
            if list.next_element_seed(JsonText(self.0))?.is_none() {
                self.0.truncate(length);
                break;
            }
            between = ',';
        }
        self.0.push_str(if between == '[' { "[]" } else { "]" });
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut between = '{';
        while let Some(AnyText(key)) = map.next_key()? {
            self.0.push(between);
            JsonText(self.0).write_value::<A::Error>(&key)?;
            self.0.push(':');
            map.next_value_seed(JsonText(self.0))?;
            between = ',';
        }
        self.0.push_str(if between == '{' { "{}" } else { "}" });
        Ok(())
    }
}

pub(in crate::spans) fn too_many<E: Error>(most: usize) -> E {
    E::custom(format_args!("it has more than {most} entries"))
}

/// A list with at most `MAX_LENGTH` entries. A longer one is damage: a short text could take a
/// thousand times its size in memory.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::spans) struct BoundedList<T, const MAX_LENGTH: usize = MAX_ENTRIES>(
    pub(in crate::spans) Vec<T>,
);

impl<'de, T: Deserialize<'de>, const MAX_LENGTH: usize> Deserialize<'de>
    for BoundedList<T, MAX_LENGTH>
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(BoundedListVisitor(PhantomData))
    }
}

struct BoundedListVisitor<T, const MAX_LENGTH: usize>(PhantomData<T>);

impl<'de, T: Deserialize<'de>, const MAX_LENGTH: usize> Visitor<'de>
    for BoundedListVisitor<T, MAX_LENGTH>
{
    type Value = BoundedList<T, MAX_LENGTH>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = list.next_element()? {
            if entries.len() >= MAX_LENGTH {
                return Err(too_many(MAX_LENGTH));
            }
            entries.push(entry);
        }
        Ok(BoundedList(entries))
    }
}

/// Entries of a map, in their order.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct MapEntries<'a, T>(pub(super) Vec<(Cow<'a, str>, T)>);

impl<T> Default for MapEntries<'_, T> {
    fn default() -> Self {
        MapEntries(Vec::new())
    }
}

impl<'de: 'a, 'a, T: Deserialize<'de>> Deserialize<'de> for MapEntries<'a, T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MapEntriesVisitor(PhantomData))
    }
}

struct MapEntriesVisitor<'a, T>(PhantomData<(&'a (), T)>);

impl<'de: 'a, 'a, T: Deserialize<'de>> Visitor<'de> for MapEntriesVisitor<'a, T> {
    type Value = MapEntries<'a, T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut pairs = Vec::new();
        while let Some((AnyText(name), value)) = map.next_entry()? {
            if pairs.len() >= MAX_ENTRIES {
                return Err(too_many(MAX_ENTRIES));
            }
            pairs.push((name, value));
        }
        Ok(MapEntries(pairs))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_any_value() {
        let json = r#"{"a":"x","b":"\n","c":-1,"d":1.5,"e":true,"f":null,"g":[1,"y"],"h":{"i":0}}"#;
        let pairs: MapEntries<AnyText> = serde_json::from_str(json).unwrap();
        let texts: Vec<(&str, &str)> =
            pairs.0.iter().map(|(name, value)| (name.as_ref(), value.0.as_ref())).collect();
        let expected = [
            ("a", "x"),
            ("b", "\n"),
            ("c", "-1"),
            ("d", "1.5"),
            ("e", "true"),
            ("f", ""),
            ("g", "[1,\"y\"]"),
            ("h", "{\"i\":0}"),
        ];
        assert_eq!(texts, expected);
    }

    #[test]
    fn times_are_microseconds() {
        let time = |json: &str| serde_json::from_str::<MicrosecondTime>(json).map(|time| time.0);
        assert_eq!(time("1500000000000001").unwrap(), 1_500_000_000_000_001_000);
        assert_eq!((time("1.5").unwrap(), time("\"7\"").unwrap()), (1_500, 7_000));
        assert_eq!(time("\"2.5\"").unwrap(), 2_500);
        for wrong in ["9223372036854775807", "4611686018427388", "18446744073709551615", "1e300"] {
            assert!(time(wrong).unwrap_err().to_string().contains("146 years"), "{wrong}");
        }
        assert!(time("\"soon\"").is_err() && time("true").is_err() && time("null").is_err());
    }
}
