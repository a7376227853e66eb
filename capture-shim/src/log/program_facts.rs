//! Facts about the program for the header of a log.

use core::ptr;
use core::sync::atomic::AtomicPtr;
use core::sync::atomic::Ordering::{Acquire, Release};

use socket_log::layout::{CHUNK_BYTES, FileHeader, HEADER_BYTES, KEEPS_NEWEST, VERSION, left_out};

use crate::platform::raw::{self, OwnDescriptor};
use crate::platform::text::fill_field;
use crate::platform::{arguments, clock};
use crate::state::options::{RESOURCES, recording_options};
use crate::state::settings;

/// Facts that were determined before the program lost the rights to ask for them; null if it has
/// not lost them. Children inherit the facts.
static KNOWN: AtomicPtr<FileHeader> = AtomicPtr::new(ptr::null_mut());

/// Determines and remembers the facts, before the program loses the rights to ask for them.
pub(crate) fn remember_facts() {
    if KNOWN.load(Acquire).is_null()
        && let Some(memory) = raw::map_anonymous(size_of::<FileHeader>())
    {
        #[cfg(feature = "injected")]
        crate::platform::mapped_memory::note_mapping(memory, size_of::<FileHeader>());
        let header: *mut FileHeader = memory.cast();
        // SAFETY: the mapping is new, zeroed, aligned to a page and as long as that; zeros are
        // valid.
        find_out(unsafe { &mut *header });
        KNOWN.store(header, Release);
    }
}

/// Fills in the facts of a header that are the same for all processes of the program.
pub(crate) fn fill_header(fields: &mut FileHeader) {
    // SAFETY: null or a mapping that is never removed.
    let Some(known) = (unsafe { KNOWN.load(Acquire).as_ref() }) else { return find_out(fields) };
    macro_rules! copy {
        ($($field:ident)*) => { $(fields.$field = known.$field;)* };
    }
    copy! { version header_bytes chunk_bytes tick_clock tick_shift boot_id host executable arguments }
    copy! { limit keeps_newest source cgroup resources heads recording left_out }
    // The process may have entered another namespace since.
    fields.namespace = raw::inode_of(c"/proc/self/ns/net").unwrap_or(known.namespace);
    // A child may have another pid namespace.
    fields.pid_namespace = raw::inode_of(c"/proc/self/ns/pid").unwrap_or(0);
}

/// Asks the kernel for all facts of a header.
fn find_out(fields: &mut FileHeader) {
    fields.version = VERSION;
    fields.header_bytes = HEADER_BYTES as u32;
    fields.chunk_bytes = CHUNK_BYTES as u32;
    (fields.tick_clock, fields.tick_shift) = clock::tick_description();
    fields.boot_id = boot_id();
    fill_field(&mut fields.host, settings::host_name());
    raw::readlink(c"/proc/self/exe", &mut fields.executable);
    arguments::write_arguments(&mut fields.arguments);
    fields.limit = recording_options().log_limit();
    fields.keeps_newest = if recording_options().keeps_newest { KEEPS_NEWEST } else { 0 };
    fields.resources = u32::from(RESOURCES);
    fields.heads = u32::from(recording_options().keeps_any_snippets());
    fields.recording = settings::recording_id();
    fields.left_out = if recording_options().words == 0 { left_out::WORDS } else { 0 };
    fields.namespace = raw::inode_of(c"/proc/self/ns/net").unwrap_or(0);
    if let Ok(file) = raw::open(c"/proc/self/cgroup", libc::O_RDONLY | libc::O_CLOEXEC, 0) {
        file.read(&mut fields.cgroup);
    }
    fields.pid_namespace = raw::inode_of(c"/proc/self/ns/pid").unwrap_or(0);
}

/// The kernel's random id of this boot.
fn boot_id() -> [u8; 16] {
    let mut text = [0; 40];
    let mut id = [0; 16];
    let Ok(file) =
        raw::open(c"/proc/sys/kernel/random/boot_id", libc::O_RDONLY | libc::O_CLOEXEC, 0)
    else {
        return id;
    };
    let length = OwnDescriptor::read(&file, &mut text);
    let digits = text.iter().take(length).filter_map(|byte| (*byte as char).to_digit(16));
    for (index, digit) in digits.take(32).enumerate() {
        if let Some(place) = id.get_mut(index / 2) {
            *place = *place << 4 | digit as u8;
        }
    }
    id
}
