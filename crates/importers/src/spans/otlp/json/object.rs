//! Objects that are read member by member, keeping only the parts that their reader wants.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::scalar::MemberName;

/// Reader of an object.
pub(super) trait JsonObject<'de, S>: Clone {
    /// Reads the value of the member `key`.
    fn read_member<A: MapAccess<'de>>(
        &mut self,
        key: &str,
        map: &mut A,
        state: &mut S,
    ) -> Result<(), A::Error>;

    /// Ends the object after all its members were read.
    fn finish_object<E: Error>(self, _: &mut S) -> Result<(), E> {
        Ok(())
    }
}

/// Reads an object, or a list of objects, each with a new copy of its reader. Null counts as none.
pub(super) struct JsonObjects<'s, S, O>(pub(super) &'s mut S, pub(super) O);

impl<'de, S, O: JsonObject<'de, S>> DeserializeSeed<'de> for JsonObjects<'_, S, O> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, S, O: JsonObject<'de, S>> Visitor<'de> for JsonObjects<'_, S, O> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object or a list of objects")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let JsonObjects(state, object) = self;
        while list.next_element_seed(JsonObjects(&mut *state, object.clone()))?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let JsonObjects(state, mut object) = self;
        while let Some(MemberName(key)) = map.next_key()? {
            object.read_member(&key, &mut map, state)?;
        }
        object.finish_object(state)
    }
}
