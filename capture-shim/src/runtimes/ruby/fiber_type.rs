//! Type of fibers in the interpreter's data (`rb_data_type_t`, a part of Ruby's interface for
//! extensions), and versions of the interpreter.

/// Name of the type of fibers.
pub(super) const NAME: &[u8] = b"fiber\0";

/// Word of a type that has the function which frees an object.
pub(super) const FREE: usize = 2;

/// Whether this version of Ruby, such as `3.1.2`, has fiber schedulers.
pub(super) fn has_schedulers(version: &[u8]) -> bool {
    let digits = version.iter().take_while(|byte| byte.is_ascii_digit());
    let major = digits.fold(0u32, |number, digit| {
        number.saturating_mul(10).saturating_add(u32::from(digit - b'0'))
    });
    major >= 3
}

/// Index of the word with the function that frees a fiber, among the words of an object. The type
/// begins with its name and the functions that mark, free and measure a fiber. `None` if there is
/// no such type, or several.
pub(super) fn find_free(
    words: &[usize],
    is_code: impl Fn(usize) -> bool,
    is_name: impl Fn(usize) -> bool,
) -> Option<usize> {
    let mut found = words.windows(4).enumerate().filter(|(_, window)| {
        let [name, functions @ ..] = window else { return false };
        // Most words are not addresses of code, so that few names are compared.
        functions.iter().all(|function| is_code(*function)) && is_name(*name)
    });
    let (index, _) = found.next()?;
    found.next().is_none().then_some(index + FREE)
}
