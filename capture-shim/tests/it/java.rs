//! Class files of Java: the added classes, and the changed call.

#[path = "../../src/runtimes/java/class_file.rs"]
mod class_file;

use class_file::{Length, Output, write_called_class, write_native_class, write_redirected_class};
use proptest::prelude::*;

/// A class file in memory.
#[derive(Default)]
struct File(Vec<u8>);

impl Output for File {
    fn append(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }
}

/// A text as a constant.
fn text(text: &str) -> Vec<u8> {
    [&[1], &(text.len() as u16).to_be_bytes()[..], text.as_bytes()].concat()
}

/// Number of constants of [`virtual_thread`] and one more.
const CONSTANTS: u8 = 13;

/// A class with a field and two methods; the one called `start` has this code.
fn virtual_thread(code: &[u8]) -> Vec<u8> {
    let length = code.len() as u8;
    let constants = [
        text("Code"),
        text("start"),
        text("(Ljdk/internal/vm/ThreadContainer;)V"),
        text("setThreadContainer"),
        // A number of eight bytes has two indices.
        vec![5, 0, 0, 0, 0, 0, 0, 0, 1],
        // The name and type of the called method, its class, and the method.
        vec![12, 0, 4, 0, 3],
        text("java/lang/VirtualThread"),
        vec![7, 0, 8],
        vec![10, 0, 9, 0, 7],
        text("state"),
        text("I"),
    ]
    .concat();
    let members = [
        // Flags, own name, superclass, one interface.
        vec![0, 0x30, 0, 9, 0, 9, 0, 1, 0, 9],
        // A field without attributes; two methods.
        vec![0, 1, 0, 2, 0, 11, 0, 12, 0, 0, 0, 2],
        // Another method, with code that looks alike.
        vec![0, 0, 0, 11, 0, 3, 0, 1, 0, 1, 0, 0, 0, 15, 0, 2, 0, 2, 0, 0, 0, 3, 0xb6, 0, 10],
        vec![0, 0, 0, 0],
        vec![0, 0, 0, 2, 0, 3, 0, 1, 0, 1, 0, 0, 0, 12 + length, 0, 2, 0, 2, 0, 0, 0, length],
        code.to_vec(),
        // No handlers, no attributes; the class has none either.
        vec![0, 0, 0, 0, 0, 0],
    ]
    .concat();
    [vec![0xca, 0xfe, 0xba, 0xbe, 0, 0, 0, 65, 0, CONSTANTS], constants, members].concat()
}

/// aload_0, aload_1, invokevirtual setThreadContainer, return.
const CODE: [u8; 6] = [0x2a, 0x2b, 0xb6, 0, 10, 0xb1];

fn redirected(class: &[u8]) -> Option<Vec<u8>> {
    let mut file = File::default();
    let result = write_redirected_class(class, &mut file);
    assert_eq!(result.is_none(), file.0.is_empty());
    let mut length = Length::default();
    write_redirected_class(class, &mut length);
    assert_eq!(length.0, file.0.len());
    result.map(|()| file.0)
}

#[test]
fn the_call_leads_to_the_added_class() {
    let class = virtual_thread(&CODE);
    let changed = redirected(&class).expect("the expected form");
    let added = [
        text("java/lang/SockcapStarts"),
        vec![7, 0, 13],
        text("start"),
        text("(Ljava/lang/Thread;Ljdk/internal/vm/ThreadContainer;)V"),
        vec![12, 0, 15, 0, 16],
        vec![10, 0, 14, 0, 17],
    ]
    .concat();
    let of_members = class.len() - changed_part(&class);
    let mut expected = class.clone();
    expected[9] = CONSTANTS + 6;
    let call = expected.len() - 6 - CODE.len() + 2;
    expected[call..call + 3].copy_from_slice(&[0xb8, 0, 18]);
    expected.splice(of_members..of_members, added);
    assert_eq!(changed, expected);
}

/// Length of what follows the constants.
fn changed_part(class: &[u8]) -> usize {
    let last = text("I");
    let end = class.windows(last.len()).position(|bytes| bytes == last).expect("the last constant");
    class.len() - end - last.len()
}

#[test]
fn a_class_of_another_form_is_not_changed() {
    // No call, another method, two calls, and a call that goes beyond the end of the code.
    let twice = [CODE, CODE].concat();
    let codes: [&[u8]; 4] = [&[0xb1], &[0x2a, 0x2b, 0xb6, 0, 9, 0xb1], &twice, &CODE[..4]];
    for code in codes {
        assert_eq!(redirected(&virtual_thread(code)), None, "{code:?}");
    }
    let mut added = File::default();
    write_called_class(&mut added);
    assert_eq!(redirected(&added.0), None);
}

#[test]
fn the_added_classes_are_whole() {
    let (mut called, mut native) = (File::default(), File::default());
    write_called_class(&mut called);
    write_native_class(&mut native);
    assert!(called.0.len() < 512 && native.0.len() < 512, "they fit into the library's memory");
    for file in [called.0, native.0] {
        assert_eq!(file[..8], [0xca, 0xfe, 0xba, 0xbe, 0, 0, 0, 61]);
    }
}

proptest! {
    #[test]
    fn damaged_classes_are_read_without_harm(
        places in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        length in any::<prop::sample::Index>(),
    ) {
        let mut class = virtual_thread(&CODE);
        for (place, byte) in places {
            let place = place.index(class.len());
            class[place] = byte;
        }
        class.truncate(length.index(class.len() + 1));
        redirected(&class);
    }
}
