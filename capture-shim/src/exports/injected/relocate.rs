//! Relocates the library to the address at which it was mapped, as a dynamic linker would.
//!
//! The library is linked for address 0. Its words that are addresses within it are listed after its
//! dynamic section; the library's address is added to each. There are no other relocations
//! (`scripts/build` checks that).

/// Entry of the dynamic section: kind and value.
type DynamicWords = [usize; 2];
/// Entry of the relocation list: place, kind, and the word to add the library's address to.
type RelocationWords = [usize; 3];

/// Kind of the entry that ends the dynamic section.
const NULL: usize = 0;
/// Kind of the entry with the address of the list (`DT_RELA`).
const LIST: usize = 7;
/// Kind of the entry with the length of the list (`DT_RELASZ`).
const LENGTH: usize = 8;
/// Kind of a relocation by the library's address (`R_X86_64_RELATIVE`).
const RELATIVE: usize = 8;

/// Relocates the library, which begins at `base`.
///
/// # Safety
/// To be called once, before all else, with the addresses that the linker gives the library and its
/// dynamic section.
pub(super) unsafe extern "C" fn relocate(base: usize, dynamic: *const DynamicWords) {
    let (mut list, mut length) = (0, 0);
    let mut entry = dynamic;
    // SAFETY: the section ends with an entry `NULL`, which the linker writes.
    unsafe {
        while (*entry)[0] != NULL {
            match (*entry)[0] {
                LIST => list = (*entry)[1],
                LENGTH => length = (*entry)[1],
                _ => {}
            }
            entry = entry.add(1);
        }
    }
    let list = core::ptr::with_exposed_provenance::<RelocationWords>(base.wrapping_add(list));
    for place in 0..length / size_of::<RelocationWords>() {
        // SAFETY: within the linker's list, which names words of the library's data.
        unsafe {
            let [offset, kind, word] = *list.add(place);
            if kind == RELATIVE {
                let at = core::ptr::with_exposed_provenance_mut::<usize>(base.wrapping_add(offset));
                at.write(base.wrapping_add(word));
            }
        }
    }
}
