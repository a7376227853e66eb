//! Ids: numbers of things in lists in memory, each with a type of its own, so that the number of
//! one thing cannot be taken for the number of another.

/// Declares types of ids. Each has 32 bits, and the number plus 1 inside, so that an `Option` needs
/// no more space.
///
/// ```
/// out_of_core::id_types! {
///     /// Number of a request among those that a node received.
///     pub struct ReceivedRequestId;
/// }
///
/// let first = ReceivedRequestId::from_index(0);
/// assert_eq!((first.index(), size_of_val(&Some(first))), (0, size_of::<u32>()));
/// assert_eq!(ReceivedRequestId::ids().next(), Some(first));
/// ```
#[macro_export]
macro_rules! id_types {
    ($($(#[$attribute:meta])* $visibility:vis struct $name:ident;)*) => {
        $(
            $(#[$attribute])*
            #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
            #[repr(transparent)]
            $visibility struct $name(std::num::NonZeroU32);

            const _: () = assert!(size_of::<Option<$name>>() == size_of::<u32>());

            impl $name {
                /// Creates the id with this index, which has at most 31 bits.
                #[inline]
                $visibility const fn from_index(index: usize) -> $name {
                    $name(std::num::NonZeroU32::MIN.saturating_add(index as u32))
                }

                /// Returns the index.
                #[inline]
                $visibility const fn index(self) -> usize {
                    self.0.get() as usize - 1
                }

                /// Returns all ids in order, from the first on.
                $visibility fn ids() -> impl Iterator<Item = $name> + Clone {
                    (0..i32::MAX as usize).map($name::from_index)
                }
            }

            /// Hashes the index as a `u32`.
            impl std::hash::Hash for $name {
                fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
                    state.write_u32(self.0.get() - 1);
                }
            }

            impl std::fmt::Debug for $name {
                fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                    self.index().fmt(formatter)
                }
            }
        )*
    };
}
