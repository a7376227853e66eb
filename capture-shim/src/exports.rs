//! Layer 9, exports: symbols that the program finds in place of libc's, and the constructor.

#[cfg(not(feature = "injected"))]
mod buffered;
#[cfg(not(feature = "injected"))]
mod dlopen;
#[cfg(feature = "injected")]
mod injected;
mod load;
#[cfg(not(feature = "injected"))]
mod sanitizer;
#[cfg(not(feature = "injected"))]
mod table;
#[cfg(not(feature = "injected"))]
mod tls;
#[cfg(not(feature = "injected"))]
mod variadic;
#[cfg(not(feature = "injected"))]
mod vfork;
