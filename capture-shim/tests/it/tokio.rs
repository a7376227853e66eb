//! Tokio's functions: found by name, and moved if they can be.

#[path = "../../src/runtimes/tokio/instructions.rs"]
mod instructions;
#[path = "../../src/runtimes/tokio/names.rs"]
mod names;

use instructions::movable_length;
use names::TokioFunctions;

/// Functions found with these names, at 1, 2 and so on: those that poll, those that wake, and those
/// that take up started tasks.
fn found(names: &[&str]) -> [Vec<usize>; 3] {
    let mut found = TokioFunctions::new();
    for (name, address) in names.iter().zip(1..) {
        // In a table of names, a zero byte precedes the next one.
        found.match_name(format!("{name}\0_ZN5other\0").as_bytes(), address);
    }
    [
        found.polls.addresses().to_vec(),
        found.wakes.addresses().to_vec(),
        found.starters.addresses().to_vec(),
    ]
}

#[test]
fn functions_are_found_in_both_mangling_schemes() {
    let names = [
        "_ZN5tokio7runtime4task3raw4poll17h06c9e4131081ecf8E",
        "_ZN5tokio7runtime4task3raw4poll17h3e3ab20ab18bf64cE.llvm.3237912635132822265",
        // Functions nested in it, and others.
        "_ZN5tokio7runtime4task3raw4poll28_$u7b$$u7b$closure$u7d$$u7d$17h06c9e4131081ecf8E",
        "_ZN5tokio7runtime4task5waker11wake_by_val17h0e047e6e698f3f5cE",
        "_ZN5tokio7runtime4task4list19OwnedTasks$LT$S$GT$10bind_inner17hc0b8564fef1118dfE",
        "_ZN5tokio7runtime4task4list24LocalOwnedTasks$LT$S$GT$10bind_inner17hc0b8564fef1118dfE",
        "_ZN5tokio7runtime4task4list19OwnedTasks$LT$S$GT$4bind17hc0b8564fef1118dfE",
        "_RINvNtNtNtCs1aBc_5tokio7runtime4task3raw4pollNtCs2_1a1bNtB2_1cEB2_",
        "_RNCINvNtNtNtCs1aBc_5tokio7runtime4task3raw4pollNtCs2_1a1bNtB2_1cE0B2_",
        "_RNvNtNtNtCs1aBc_5tokio7runtime4task5waker11wake_by_ref",
        "_ZN5tokio7runtime4task5waker10drop_waker17h0e047e6e698f3f5cE",
        "_ZN5tokio7runtime4park11wake_by_ref17h0e047e6e698f3f5cE",
        "_RNvMs_NtNtNtCs1_5tokio7runtime4task4listINtB4_10OwnedTasksNtCs2_1a1bE10bind_inner",
        "_ZN4core3ptr73drop_in_place$LT$tokio..runtime..task..raw..poll$GT$17h0E",
    ];
    assert_eq!(found(&names), [vec![1, 2, 8], vec![4, 10], vec![5, 6, 13]]);
}

#[test]
fn merged_functions_count_once() {
    let mut found = TokioFunctions::new();
    for name in ["_ZN5tokio7runtime4task3raw4poll17h1E", "_ZN5tokio7runtime4task3raw4poll17h2E"] {
        found.match_name(name.as_bytes(), 7);
    }
    assert_eq!(found.polls.addresses(), [7]);
    // Functions beyond the limit are ignored.
    for address in 0..10_000 {
        found.match_name(b"_ZN5tokio7runtime4task3raw4poll17h1E", address);
    }
    assert_eq!(found.polls.addresses().len(), crate::tuning::MAX_TASK_KINDS);
}

#[test]
fn position_dependent_instructions_are_not_moved() {
    let code = |bytes: &[u8]| {
        let mut code = [0x90; 28];
        code[..bytes.len()].copy_from_slice(bytes);
        movable_length(&code)
    };
    // push rbp, r15, r14: as the optimizer begins.
    assert_eq!(code(&[0x55, 0x41, 0x57, 0x41, 0x56, 0x53]), Some(5));
    // sub rsp, 0x58; mov [rsp], rdi: as without the optimizer.
    assert_eq!(code(&[0x48, 0x83, 0xec, 0x58, 0x48, 0x89, 0x3c, 0x24]), Some(8));
    // sub rsp, 0x158
    assert_eq!(code(&[0x48, 0x81, 0xec, 0x58, 1, 0, 0]), Some(7));
    // push rbx; mov rbx, rdi; push rax
    assert_eq!(code(&[0x53, 0x48, 0x89, 0xfb, 0x50]), Some(5));
    // mov [rsp + 0x10], rsi; mov [rsp + 0x110], rdi; mov eax, edx, after endbr64
    assert_eq!(code(&[0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x89, 0x74, 0x24, 0x10]), Some(9));
    assert_eq!(code(&[0x48, 0x89, 0xbc, 0x24, 0x10, 1, 0, 0]), Some(8));
    assert_eq!(code(&[0x89, 0xd0, 0x89, 0xd1, 0x31, 0xc0]), Some(6));
    // A call, a jump, a load relative to the code, and an ambiguous prefix.
    for begins in [&[0xe8, 1, 0, 0, 0][..], &[0x74, 5, 0x90, 0x90, 0x90], &[0x55, 0xff, 0x15]] {
        assert_eq!(code(begins), None, "{begins:x?}");
    }
    assert_eq!(code(&[0x48, 0x8b, 0x05, 1, 0, 0, 0]), None, "mov rax, [rip + 1]");
    assert_eq!(code(&[0x48, 0x89, 0x05, 0x24, 0, 0, 0]), None, "mov [rip + 0x24], rax");
    // The end of the known code.
    assert_eq!(movable_length(&[0x55, 0x41]), None);
}
