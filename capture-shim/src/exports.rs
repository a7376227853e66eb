//! Floor 8, exports: symbols that the program finds in place of libc's, and the constructor.

mod dlopen;
mod load;
mod table;
mod tls;
mod variadic;
mod vfork;
