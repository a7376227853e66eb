//! Enums that a record stores as a number, with the conversion back.

/// Defines enums with a number for each variant.
macro_rules! numbered {
    ($(
        $(#[$about:meta])*
        pub enum $name:ident {
            $($(#[$of_choice:meta])* $choice:ident = $number:literal,)*
        }
    )*) => {$(
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum $name {
            $($(#[$of_choice])* $choice = $number,)*
        }

        impl $name {
            /// Returns the variant with this number.
            #[cfg(feature = "reader")]
            pub fn from_number(number: u16) -> Option<$name> {
                [$($name::$choice),*].into_iter().find(|choice| *choice as u16 == number)
            }
        }
    )*};
}

pub(super) use numbered;
