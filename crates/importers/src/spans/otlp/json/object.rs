//! Objects that are read member by member, with nothing kept of what is in them but what their
//! reader keeps.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::scalar::Key;

/// What reads an object.
pub(super) trait Object<'de, S>: Clone {
    /// Reads the value of the member `key`.
    fn member<A: MapAccess<'de>>(
        &mut self,
        key: &str,
        map: &mut A,
        state: &mut S,
    ) -> Result<(), A::Error>;

    /// The object was read to its end.
    fn end<E: Error>(self, _: &mut S) -> Result<(), E> {
        Ok(())
    }
}

/// Reads an object, or a list of objects, each by a new copy of its reader. Null is none.
pub(super) struct Objects<'s, S, O>(pub(super) &'s mut S, pub(super) O);

impl<'de, S, O: Object<'de, S>> DeserializeSeed<'de> for Objects<'_, S, O> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, S, O: Object<'de, S>> Visitor<'de> for Objects<'_, S, O> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object or a list of objects")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let Objects(state, object) = self;
        while list.next_element_seed(Objects(&mut *state, object.clone()))?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Objects(state, mut object) = self;
        while let Some(Key(key)) = map.next_key()? {
            object.member(&key, &mut map, state)?;
        }
        object.end(state)
    }
}
