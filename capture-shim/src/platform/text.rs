//! Text of bounded length without allocation: paths and environment strings, each with a
//! terminating zero byte.

use core::ffi::CStr;

use super::raw;

/// Text of up to `N - 1` bytes with a terminating zero. All zeros is the empty text.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct BoundedText<const N: usize> {
    length: usize,
    bytes: [u8; N],
    /// Whether appended bytes did not fit.
    overflown: bool,
}

impl<const N: usize> BoundedText<N> {
    /// Empty text.
    pub(crate) const fn new() -> BoundedText<N> {
        BoundedText { length: 0, bytes: [0; N], overflown: false }
    }

    /// Makes the text empty.
    pub(crate) fn clear(&mut self) {
        if let Some(used) = self.bytes.get_mut(..self.length) {
            used.fill(0);
        }
        (self.length, self.overflown) = (0, false);
    }

    /// Appends `bytes`. Bytes that do not fit are dropped, and then [`BoundedText::is_whole`]
    /// returns false.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> &mut BoundedText<N> {
        for byte in bytes {
            match self.bytes.get_mut(self.length) {
                Some(place) if self.length + 1 < N => {
                    *place = *byte;
                    self.length += 1;
                }
                _ => self.overflown = true,
            }
        }
        self
    }

    /// Appends a number in decimal.
    pub(crate) fn push_number(&mut self, mut number: u64) -> &mut BoundedText<N> {
        let mut digits = [0; 20];
        let mut first = digits.len();
        for place in digits.iter_mut().rev() {
            *place = b'0' + (number % 10) as u8;
            number /= 10;
            first -= 1;
            if number == 0 {
                break;
            }
        }
        self.push(digits.get(first..).unwrap_or(&[]))
    }

    /// Appends the bytes that `fill` writes into the remaining space; `fill` returns how many of
    /// them count. There is no buffer in between, since a path takes too much stack to be on it
    /// twice.
    pub(crate) fn push_with(
        &mut self,
        fill: impl FnOnce(&mut [u8]) -> usize,
    ) -> &mut BoundedText<N> {
        let Some(room) = self.bytes.get_mut(self.length..N - 1) else { return self };
        let kept = fill(room).min(room.len());
        // The text is followed by zeros, like every text from which nothing was removed.
        if let Some(rest) = room.get_mut(kept..) {
            rest.fill(0);
        }
        self.length += kept;
        self
    }

    /// Whether everything that was appended fitted.
    pub(crate) fn is_whole(&self) -> bool {
        !self.overflown
    }

    /// Bytes without the terminating zero.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or(&[])
    }

    /// Text as an argument of a system call.
    pub(crate) fn as_c_str(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.bytes).unwrap_or(c"")
    }
}

/// Copies `bytes` to the beginning of `field`, cut at the field's length.
pub(crate) fn fill_field(field: &mut [u8], bytes: &[u8]) {
    for (to, from) in field.iter_mut().zip(bytes) {
        *to = *from;
    }
}

/// Last part of a path.
pub(crate) fn file_name(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or(path)
}

/// Text of a path's length in a mapping of its own: hooks have little stack.
pub(crate) struct PathScratch(*mut u8);

/// Size of the longest path of a log, in bytes.
pub(crate) const PATH: usize = 4352;

impl PathScratch {
    /// Maps the memory. `None` if memory is lacking.
    pub(crate) fn new() -> Option<PathScratch> {
        raw::map_anonymous(size_of::<BoundedText<PATH>>()).map(PathScratch)
    }

    /// The memory as `count` plain values, which are zeros at first.
    pub(crate) fn zeroed_words<T: Copy>(&mut self, count: usize) -> &mut [T] {
        let count = count.min(size_of::<BoundedText<PATH>>() / size_of::<T>());
        // SAFETY: the mapping is large enough; used for plain numbers alone, and zeros are valid
        // numbers.
        unsafe { core::slice::from_raw_parts_mut(self.0.cast(), count) }
    }

    /// The memory as a text, empty at first.
    pub(crate) fn as_text(&mut self) -> &mut BoundedText<PATH> {
        // SAFETY: the mapping is large enough, and its zeros are the empty text.
        unsafe { &mut *self.0.cast() }
    }
}

impl Drop for PathScratch {
    fn drop(&mut self) {
        // SAFETY: nothing else uses it.
        unsafe { raw::unmap_memory(self.0, size_of::<BoundedText<PATH>>()) };
    }
}
