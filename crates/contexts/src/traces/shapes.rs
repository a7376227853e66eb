//! Shapes: trees of operations, each distinct subtree stored once (hash-consing). Two subtrees are
//! equal if and only if they have the same number, so comparing or looking up a tree costs one hash
//! of its root and the numbers of its children.

use std::hash::Hasher;
use std::num::NonZeroU32;

use hashbrown::HashTable;
use rustc_hash::FxHasher;

use crate::identity::OperationId;

/// Number of a shape among the shapes of a [`TreeCanonicalizer`](super::TreeCanonicalizer), dense
/// from 0 in the order in which they were first seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct ShapeId(
    /// The number plus 1, so that an `Option` needs no more space.
    NonZeroU32,
);

impl ShapeId {
    /// The id of the shape at this index.
    pub const fn from_index(index: usize) -> ShapeId {
        ShapeId(NonZeroU32::MIN.saturating_add(index as u32))
    }

    /// The index of the shape.
    pub const fn index(self) -> usize {
        self.word() as usize
    }

    /// The number of the shape as a word of a larger shape.
    pub(super) const fn word(self) -> u32 {
        self.0.get() - 1
    }
}

/// All shapes so far. A shape is identified by its words: the operation, and then two for each
/// child, as [`super::canonical`] writes them.
#[derive(Clone, Debug, Default)]
pub(super) struct ShapeInterner {
    table: HashTable<ShapeId>,
    words: Vec<u32>,
    /// End of the words of each shape.
    ends: Vec<usize>,
    /// Number of places of each shape.
    sizes: Vec<u32>,
    /// The shapes of operations without calls, by operation.
    leaves: Vec<Option<ShapeId>>,
}

impl ShapeInterner {
    /// Removes all shapes, and keeps the allocated memory.
    pub(super) fn clear(&mut self) {
        self.table.clear();
        self.words.clear();
        self.ends.clear();
        self.sizes.clear();
        self.leaves.clear();
    }

    /// Number of places in a tree of this shape.
    pub(super) fn shape_size(&self, shape: ShapeId) -> u32 {
        self.sizes.get(shape.index()).copied().unwrap_or(0)
    }

    /// The shape of an operation without calls.
    pub(super) fn intern_leaf(&mut self, operation: OperationId) -> ShapeId {
        let place = operation.index();
        if let Some(Some(known)) = self.leaves.get(place) {
            return *known;
        }
        let shape = self.intern_words(&[operation.word()], 1);
        self.leaves.resize(self.leaves.len().max(place + 1), None);
        if let Some(known) = self.leaves.get_mut(place) {
            *known = Some(shape);
        }
        shape
    }

    /// The shape with the words `words`; its trees have `size` places.
    pub(super) fn intern_words(&mut self, words: &[u32], size: u32) -> ShapeId {
        let hash = hash_words(words);
        let (all, ends) = (&self.words, &self.ends);
        let found = self.table.find(hash, |shape| words_of_shape(all, ends, *shape) == words);
        if let Some(shape) = found {
            return *shape;
        }
        let shape = ShapeId::from_index(self.ends.len());
        self.words.extend_from_slice(words);
        self.ends.push(self.words.len());
        self.sizes.push(size);
        let (all, ends) = (&self.words, &self.ends);
        self.table.insert_unique(hash, shape, |shape| {
            self::hash_words(words_of_shape(all, ends, *shape))
        });
        shape
    }
}

fn words_of_shape<'a>(words: &'a [u32], ends: &[usize], shape: ShapeId) -> &'a [u32] {
    let end = |place: usize| ends.get(place).copied().unwrap_or(0);
    let place = shape.index();
    words.get(place.checked_sub(1).map_or(0, end)..end(place)).unwrap_or_default()
}

fn hash_words(words: &[u32]) -> u64 {
    let mut hasher = FxHasher::default();
    words.iter().for_each(|word| hasher.write_u32(*word));
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_shapes_have_one_number() {
        let mut shapes = ShapeInterner::default();
        let [three, four, seven] = [3, 4, 7].map(OperationId::from_index);
        let leaf = shapes.intern_leaf(seven);
        assert_eq!((shapes.intern_leaf(seven), shapes.intern_words(&[7], 1)), (leaf, leaf));
        let others: Vec<ShapeId> =
            (0..1000).map(|word| shapes.intern_words(&[8, word, 2], word)).collect();
        assert_eq!(others[999], ShapeId::from_index(1000));
        assert!(
            (0..1000).all(|word| shapes.intern_words(&[8, word, 2], word) == others[word as usize])
        );
        assert_eq!((shapes.shape_size(leaf), shapes.shape_size(others[5])), (1, 5));
        assert_ne!(shapes.intern_leaf(three), shapes.intern_leaf(four));
        shapes.clear();
        assert_eq!(shapes.intern_leaf(three), ShapeId::from_index(0));
    }
}
