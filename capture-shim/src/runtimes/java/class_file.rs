//! Class files: the classes that this library adds, and the one call in the class of virtual
//! threads that leads to them.
//!
//! ```text
//!   VirtualThread.start(container)
//!     this.setThreadContainer(container)   becomes   SockcapStarts.start(this, container)
//!
//!   java.lang.SockcapStarts.start(thread, container)
//!     sockcap.Starts.started(thread)                 native, see starts.rs
//!     thread.setThreadContainer(container)
//! ```
//!
//! Both calls have the same length and the same effect on the stack, so nothing else of the method
//! changes. Any other form of the class is left alone. Bytes are those of chapter 4 of the Java
//! Virtual Machine Specification.
//!
//! The method that sets the container can only be called in its own package. The machine prints a
//! warning if a method of a class in one of Java's modules becomes native, so the native one is in
//! another class.

use core::ffi::CStr;

/// Added class in the package of the class that calls it.
pub(crate) const CALLED: &CStr = c"java/lang/SockcapStarts";
/// Method of [`CALLED`] that is called in place of [`CONTAINER_SETTER`].
const START: &[u8] = b"start";
const START_TYPE: &[u8] = b"(Ljava/lang/Thread;Ljdk/internal/vm/ThreadContainer;)V";
/// Added class with a native method.
pub(crate) const NATIVE: &CStr = c"sockcap/Starts";
/// The native method of [`NATIVE`].
pub(crate) const STARTED: &CStr = c"started";
pub(crate) const STARTED_TYPE: &CStr = c"(Ljava/lang/Thread;)V";
/// Method that each start of a virtual thread calls once, before the thread can run.
const CONTAINER_SETTER: &[u8] = b"setThreadContainer";
/// Type of that method, and of the method that calls it, [`START`].
const CONTAINER_TYPE: &[u8] = b"(Ljdk/internal/vm/ThreadContainer;)V";

/// Kinds of constants.
const UTF8: u8 = 1;
const CLASS: u8 = 7;
const METHOD: u8 = 10;
const NAME_AND_TYPE: u8 = 12;

/// Instructions.
const INVOKE_VIRTUAL: u8 = 0xb6;
const INVOKE_STATIC: u8 = 0xb8;
/// Length of each of these instructions, in bytes.
const CALL: usize = 3;

/// Offsets in a class file, and in the attribute with a method's code, in bytes.
const CONSTANT_COUNT: usize = 8;
const CONSTANTS: usize = 10;
const CODE_LENGTH: usize = 4;
const CODE: usize = 8;

/// Bytes of a class file that is being made.
pub(crate) trait Output {
    /// Appends bytes.
    fn append(&mut self, bytes: &[u8]);
}

/// Length of a class file, in bytes.
#[derive(Default)]
pub(crate) struct Length(pub(crate) usize);

impl Output for Length {
    fn append(&mut self, bytes: &[u8]) {
        self.0 += bytes.len();
    }
}

/// Writes a constant that is a text.
fn write_text(to: &mut impl Output, text: &[u8]) {
    to.append(&[UTF8]);
    to.append(&(text.len() as u16).to_be_bytes());
    to.append(text);
}

/// Writes a constant that refers to others.
fn write_reference(to: &mut impl Output, kind: u8, indices: &[u16]) {
    to.append(&[kind]);
    indices.iter().for_each(|index| to.append(&index.to_be_bytes()));
}

/// Writes the beginning of a class for Java 17 or newer, with `count` constants. This writes the
/// first four, which are its name and its superclass.
fn write_head(to: &mut impl Output, count: u16, name: &CStr) {
    to.append(&[0xca, 0xfe, 0xba, 0xbe, 0, 0, 0, 61]);
    to.append(&(count + 1).to_be_bytes());
    write_text(to, name.to_bytes());
    write_reference(to, CLASS, &[1]);
    write_text(to, b"java/lang/Object");
    write_reference(to, CLASS, &[3]);
}

/// Writes the added class of the name [`CALLED`].
pub(crate) fn write_called_class(to: &mut impl Output) {
    write_head(to, 19, CALLED);
    write_text(to, b"Code");
    write_text(to, START);
    write_text(to, START_TYPE);
    write_text(to, STARTED.to_bytes());
    write_text(to, STARTED_TYPE.to_bytes());
    write_reference(to, NAME_AND_TYPE, &[8, 9]);
    write_text(to, NATIVE.to_bytes());
    write_reference(to, CLASS, &[11]);
    write_reference(to, METHOD, &[12, 10]);
    write_text(to, b"java/lang/Thread");
    write_reference(to, CLASS, &[14]);
    write_text(to, CONTAINER_SETTER);
    write_text(to, CONTAINER_TYPE);
    write_reference(to, NAME_AND_TYPE, &[16, 17]);
    write_reference(to, METHOD, &[15, 18]);
    // A final class with its name and its superclass, without interfaces and fields.
    to.append(&[0, 0x30, 0, 2, 0, 4, 0, 0, 0, 0]);
    // Static `start` with an attribute: two values on the stack, two variables.
    to.append(&[0, 1, 0, 8, 0, 6, 0, 7, 0, 1, 0, 5, 0, 0, 0, 22, 0, 2, 0, 2, 0, 0, 0, 10]);
    // aload_0, invokestatic, aload_0, aload_1, invokevirtual, return. No handlers or attributes.
    to.append(&[0x2a, INVOKE_STATIC, 0, 13, 0x2a, 0x2b, INVOKE_VIRTUAL, 0, 19, 0xb1, 0, 0, 0, 0]);
    // The class has no attributes.
    to.append(&[0, 0]);
}

/// Writes the added class of the name [`NATIVE`].
pub(crate) fn write_native_class(to: &mut impl Output) {
    write_head(to, 6, NATIVE);
    write_text(to, STARTED.to_bytes());
    write_text(to, STARTED_TYPE.to_bytes());
    // A public final class, with one method, which is public, static and native.
    to.append(&[0, 0x31, 0, 2, 0, 4, 0, 0, 0, 0, 0, 1, 1, 9, 0, 5, 0, 6, 0, 0, 0, 0]);
}

/// Writes the class of virtual threads, in which one call now leads to the class [`CALLED`]. Writes
/// nothing and returns `None` if the class has another form.
pub(crate) fn write_redirected_class(class: &[u8], to: &mut impl Output) -> Option<()> {
    let mut constants = Constants::of_class(class)?;
    let count = constants.count;
    let last = count.checked_add(6)?;
    constants.by_ref().for_each(drop);
    let end = constants.end()?;
    let call = find_call(class, end)?;
    let before = class.get(CONSTANTS..end)?;
    let (head, between) = (class.get(..CONSTANT_COUNT)?, class.get(end..call)?);
    let after = class.get(call + CALL..)?;
    to.append(head);
    to.append(&last.to_be_bytes());
    to.append(before);
    write_text(to, CALLED.to_bytes());
    write_reference(to, CLASS, &[count]);
    write_text(to, START);
    write_text(to, START_TYPE);
    write_reference(to, NAME_AND_TYPE, &[count + 2, count + 3]);
    write_reference(to, METHOD, &[count + 1, count + 4]);
    to.append(between);
    to.append(&[INVOKE_STATIC]);
    to.append(&(count + 5).to_be_bytes());
    to.append(after);
    Some(())
}

/// Offset of the call of [`CONTAINER_SETTER`] in the method that starts a virtual thread, if there
/// is one. `members` is the offset after the constants.
fn find_call(class: &[u8], members: usize) -> Option<usize> {
    let text = |text| find_constant(class, |entry| entry.get(3..) == Some(text), UTF8);
    let code_name = text(b"Code")?;
    let (start, setter, setter_type) =
        (text(START)?, text(CONTAINER_SETTER)?, text(CONTAINER_TYPE)?);
    let ([a, b], [c, d]) = (setter.to_be_bytes(), setter_type.to_be_bytes());
    let described =
        find_constant(class, |entry| entry.get(1..) == Some(&[a, b, c, d]), NAME_AND_TYPE)?;
    let described = described.to_be_bytes();
    let method = find_constant(class, |entry| entry.get(3..) == Some(&described), METHOD)?;
    let [high, low] = method.to_be_bytes();
    let code = find_code(class, members, [start, setter_type], code_name)?;
    let mut calls = code.clone().filter(|place| {
        class.get(*place..place + CALL) == Some(&[INVOKE_VIRTUAL, high, low])
            && place + CALL <= code.end
    });
    let call = calls.next()?;
    calls.next().is_none().then_some(call)
}

/// Index of the first constant of a kind for whose bytes `is_wanted` returns true.
fn find_constant(class: &[u8], is_wanted: impl Fn(&[u8]) -> bool, kind: u8) -> Option<u16> {
    let mut constants = Constants::of_class(class)?;
    constants
        .find(|(_, entry)| entry.first() == Some(&kind) && is_wanted(entry))
        .map(|(index, _)| index)
}

/// Range of the instructions of the method with this name and type. `members` is the offset after
/// the constants, and `code_name` the constant with the name of the attribute with code.
fn find_code(
    class: &[u8],
    members: usize,
    method: [u16; 2],
    code_name: u16,
) -> Option<core::ops::Range<usize>> {
    // Flags, own name and superclass.
    let mut at = members + 6;
    at += 2 + 2 * usize::from(word(class, at)?);
    for is_method in [false, true] {
        let count = word(class, at)?;
        at += 2;
        for _ in 0..count {
            let is_wanted = is_method && [word(class, at + 2)?, word(class, at + 4)?] == method;
            let attributes = word(class, at + 6)?;
            at += 8;
            for _ in 0..attributes {
                let (name, length) = (word(class, at)?, double_word(class, at + 2)?);
                at += 6;
                if is_wanted && name == code_name {
                    let start = at + CODE;
                    return Some(start..start + double_word(class, at + CODE_LENGTH)?);
                }
                at = at.checked_add(length)?;
            }
        }
    }
    None
}

/// Number of two bytes at an offset.
fn word(class: &[u8], at: usize) -> Option<u16> {
    let bytes = class.get(at..at.checked_add(2)?)?;
    Some(u16::from_be_bytes(bytes.try_into().ok()?))
}

/// Number of four bytes at an offset.
fn double_word(class: &[u8], at: usize) -> Option<usize> {
    let bytes = class.get(at..at.checked_add(4)?)?;
    Some(u32::from_be_bytes(bytes.try_into().ok()?) as usize)
}

/// Constants of a class with their indices. Ends early where they are damaged.
struct Constants<'class> {
    class: &'class [u8],
    /// Offset of the next constant.
    at: usize,
    /// Index of the next constant.
    index: u16,
    /// Number of constants and one more.
    count: u16,
}

impl<'class> Constants<'class> {
    fn of_class(class: &'class [u8]) -> Option<Constants<'class>> {
        Some(Constants { class, at: CONSTANTS, index: 1, count: word(class, CONSTANT_COUNT)? })
    }

    /// Offset after the last constant, once all were returned.
    fn end(&self) -> Option<usize> {
        (self.index == self.count).then_some(self.at)
    }
}

impl<'class> Iterator for Constants<'class> {
    type Item = (u16, &'class [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        if self.index >= self.count {
            return None;
        }
        let kind = self.class.get(self.at)?;
        // Numbers of eight bytes have two indices.
        let (length, indices) = match kind {
            1 => (3 + usize::from(word(self.class, self.at + 1)?), 1),
            3 | 4 | 9..=12 | 17 | 18 => (5, 1),
            5 | 6 => (9, 2),
            7 | 8 | 16 | 19 | 20 => (3, 1),
            15 => (4, 1),
            _ => return None,
        };
        let found = (self.index, self.class.get(self.at..self.at + length)?);
        self.at += length;
        self.index += indices;
        Some(found)
    }
}
