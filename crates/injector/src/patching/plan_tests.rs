//! Plans for pieces of code, worked out by hand.

use crate::patching::cases::{PADDED_AT, kinds, look, only};
use crate::patching::kind::PatchKind;
use crate::patching::kind::UnpatchedReason::{Live, NoRoom, Reached, Unwanted};
use crate::patching::numbers::SyscallNumber;
use crate::patching::stubs::{StubEntries, assemble_patches};

const SEND: &[u8] = b"\xb8\x2c\0\0\0"; // mov eax,44
const SYSCALL: &[u8] = b"\x0f\x05";
const CHECK: &[u8] = b"\x48\x3d\0\xf0\xff\xff"; // cmp rax,-4096
const RET: &[u8] = b"\xc3";
const ENTRIES: StubEntries = StubEntries {
    before_c: 1,
    after_c: 2,
    before_go: 3,
    before_goroutine: 5,
    after_go: 4,
    ready: None,
};

#[test]
fn room_on_both_sides() {
    let site = only(&[SEND, SYSCALL, CHECK, RET].concat());
    assert_eq!((site.kind, site.numbers), (PatchKind::Sandwich, SyscallNumber::Constant(44)));
    let (before, after) = (site.before.unwrap(), site.after.unwrap());
    assert_eq!((before.address, &*before.displaced), (PADDED_AT, SEND));
    assert_eq!((after.address, &*after.displaced), (PADDED_AT + 7, CHECK));
}

#[test]
fn unwanted_calls_are_not_patched() {
    // getpid
    let site = only(&[b"\xb8\x27\0\0\0", SYSCALL, CHECK, RET].concat());
    assert_eq!(
        (site.kind, site.numbers),
        (PatchKind::Unpatched(Unwanted), SyscallNumber::Constant(39))
    );
}

#[test]
fn a_number_comes_from_where_the_register_was_set() {
    let number = |code: &[u8]| only(&[code, SYSCALL, CHECK, RET].concat()).numbers;
    // xor eax,eax; mov edi,5
    assert_eq!(number(b"\x31\xc0\xbf\x05\0\0\0"), SyscallNumber::Constant(0));
    // mov r9d,44; mov rax,r9
    assert_eq!(number(b"\x41\xb9\x2c\0\0\0\x4c\x89\xc8"), SyscallNumber::Constant(44));
    // mov rax,44; mov al,45
    assert_eq!(number(b"\x48\xc7\xc0\x2c\0\0\0\xb0\x2d"), SyscallNumber::Variable);
    // mov eax,44; call; mov edi,5
    assert_eq!(
        number(b"\xb8\x2c\0\0\0\xe8\xc0\xff\xff\xff\xbf\x05\0\0\0"),
        SyscallNumber::Variable
    );
    // mov ebx,44; call; mov eax,ebx; mov edi,5
    assert_eq!(
        number(b"\xbb\x2c\0\0\0\xe8\xc0\xff\xff\xff\x89\xd8\xbf\x05\0\0\0"),
        SyscallNumber::Constant(44)
    );
    // mov eax,44; a jump past it from elsewhere; mov edi,5
    assert_eq!(number(b"\x75\x05\xb8\x2c\0\0\0\xbf\x05\0\0\0"), SyscallNumber::Variable);
}

#[test]
fn a_jump_in_between_moves_the_call() {
    // jne to the call itself: only instructions after it may move.
    let code = [b"\x75\x05", SEND, SYSCALL, CHECK, RET].concat();
    let site = only(&code);
    assert_eq!((site.kind, site.numbers), (PatchKind::Over, SyscallNumber::Variable));
    assert_eq!(site.before.unwrap().displaced, b"");
    assert_eq!(site.after.unwrap().displaced, CHECK);
    // And jne to just after it: nothing may move.
    let code = [b"\x75\x09\x75\x05", SEND, SYSCALL, CHECK, RET].concat();
    assert_eq!(kinds(&code), [PatchKind::Unpatched(Reached)]);
}

#[test]
fn tables_of_jumps_count() {
    let call = [SEND, SYSCALL, CHECK, RET].concat();
    let site = PADDED_AT + 5;
    let kind = |table: &[u8]| {
        // The table begins at the next multiple of 8.
        let code = [&call[..], &[0xcc; 10], table].concat();
        kinds(&code)[0]
    };
    assert_eq!(kind(&[]), PatchKind::Sandwich);
    // Addresses.
    assert_eq!(kind(&[0x40_0000, site].map(u64::to_le_bytes).concat()), PatchKind::Over);
    assert_eq!(kind(&[0x40_0000, site + 1].map(u64::to_le_bytes).concat()), PatchKind::Sandwich);
    // Distances from the table; its address is taken just before the call: lea rdx,[rip+30]
    let call = [b"\x48\x8d\x15\x1e\0\0\0", &call[..]].concat();
    let (table, site) = (PADDED_AT + 7 + 30, PADDED_AT + 7 + 5);
    let distance = |to: u64| (to.wrapping_sub(table) as u32).to_le_bytes();
    let kind = |entries: [u64; 2]| {
        let table = entries.map(distance).concat();
        kinds(&[&call[..], &[0xcc; 16], &table].concat())[0]
    };
    assert_eq!(kind([PADDED_AT, site]), PatchKind::Over);
    assert_eq!(kind([PADDED_AT, PADDED_AT]), PatchKind::Sandwich);
}

#[test]
fn a_jump_into_an_instruction_keeps_it_in_place() {
    // jne past the prefix of: lock cmpxchg [rdi],edx; and after that, displaced instructions.
    let locked = b"\xf0\x0f\xb1\x17";
    let code = |jump: &[u8]| [jump, SEND, SYSCALL, b"\x31\xc0", locked, RET].concat();
    assert_eq!(kinds(&code(b"\x90\x90")), [PatchKind::Sandwich]);
    assert_eq!(kinds(&code(b"\x75\x0a")), [PatchKind::Over]);
    // The bytes that the jump overwrites contain no part of the call.
    let plan = look(&code(b"\x75\x0a"));
    let made = assemble_patches(&plan, 0x1000, 0x50_0000, &ENTRIES).unwrap();
    let [patch] = &made.patches[..] else { panic!("{made:?}") };
    assert_eq!((&*patch.old, patch.call), (SEND, plan.sites[0].address + 0x1000));
}

#[test]
fn values_needed_after_a_call_are_not_destroyed() {
    // jc
    assert_eq!(
        kinds(&[SEND, SYSCALL, b"\x72\x06", CHECK, RET].concat()),
        [PatchKind::Unpatched(Live)]
    );
    // mov rdx,rcx; ...
    assert_eq!(
        kinds(&[SEND, SYSCALL, b"\x48\x89\xca", CHECK, RET].concat()),
        [PatchKind::Unpatched(Live)]
    );
    // xor ecx,ecx reads nothing; mov rdx,rcx
    let code = [SEND, SYSCALL, b"\x31\xc9\x48\x89\xca", CHECK, RET].concat();
    assert_eq!(kinds(&code), [PatchKind::Sandwich]);
}

#[test]
fn a_return_without_room() {
    let next = b"\xe9\0\0\0\0";
    let site = only(&[SEND, SYSCALL, RET, next].concat());
    assert_eq!((site.kind, site.after), (PatchKind::Return, None));
    // mov [rsp-8],rdi: the red zone holds something.
    assert_eq!(
        kinds(&[b"\x48\x89\x7c\x24\xf8", SEND, SYSCALL, RET, next].concat()),
        [PatchKind::Unpatched(NoRoom)]
    );
    // clone returns twice.
    assert_eq!(
        kinds(&[b"\xb8\x38\0\0\0", SYSCALL, RET, next].concat()),
        [PatchKind::Unpatched(NoRoom)]
    );
    // Padding before the next function is room.
    let site = only(&[SEND, SYSCALL, RET, b"\x0f\x1f\x84\0\0\0\0\0"].concat());
    assert_eq!((site.kind, site.after.unwrap().displaced), (PatchKind::Sandwich, RET.to_vec()));
}

#[test]
fn calls_that_never_return_need_no_window_after_them() {
    let site = only(&[b"\xb8\xe7\0\0\0", SYSCALL, b"\xf4"].concat());
    assert_eq!((site.kind, site.after), (PatchKind::Sandwich, None));
}

#[test]
fn neighbours_share_a_window() {
    // As musl's socketpair: movslq rdi,[rbp+4]; mov rax,r8 between two calls of fcntl.
    let between = b"\x48\x63\x7d\x04\x4c\x89\xc0";
    let first = b"\x41\xb8\x48\0\0\0\x4c\x89\xc0";
    let sites = look(&[first, SYSCALL, between, SYSCALL, CHECK, RET].concat()).sites;
    assert!(sites.iter().all(
        |site| site.kind == PatchKind::Sandwich && site.numbers == SyscallNumber::Constant(72)
    ));
    assert_eq!(sites[0].after, sites[1].before);
    assert_eq!(sites[0].after.as_ref().unwrap().displaced, between);
    // With less than five bytes, one of them stays unpatched.
    let sites = look(&[first, SYSCALL, &between[4..], SYSCALL, CHECK, RET].concat()).sites;
    assert_eq!(sites.iter().filter(|site| site.kind == PatchKind::Sandwich).count(), 0);
    assert_eq!(sites[1].kind, PatchKind::Over);
}

#[test]
fn two_bytes_inside_an_instruction_are_not_a_call() {
    // mov edx,0x050f
    assert_eq!(kinds(b"\xba\x0f\x05\0\0\xc3"), []);
}
