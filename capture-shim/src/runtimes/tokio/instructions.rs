//! Instructions at the beginning of a function that can be moved unchanged.

/// Length of a near jump, in bytes.
pub(super) const NEAR: usize = 5;

/// Length in bytes of the first instructions that together are as long as a near jump, if all of
/// them can be moved: they neither jump nor depend on their address.
pub(super) fn movable_length(code: &[u8]) -> Option<usize> {
    let mut length = 0;
    while length < NEAR {
        length += match code.get(length..)? {
            // push
            [0x50..=0x57, ..] => 1,
            [0x41, 0x50..=0x57, ..] => 2,
            // xor, between two registers
            [0x31, 0xc0..=0xff, ..] => 2,
            // mov between two registers, of four or eight bytes
            [0x89 | 0x8b, 0xc0..=0xff, ..] => 2,
            [0x40..=0x4f, 0x89 | 0x8b, 0xc0..=0xff, ..] => 3,
            // sub rsp
            [0x48, 0x83, 0xec, _, ..] => 4,
            [0x48, 0x81, 0xec, _, _, _, _, ..] => 7,
            // mov to memory at rsp
            [0x48 | 0x4c, 0x89, modes, 0x24, ..] if modes & 0xc7 == 0x04 => 4,
            [0x48 | 0x4c, 0x89, modes, 0x24, _, ..] if modes & 0xc7 == 0x44 => 5,
            [0x48 | 0x4c, 0x89, modes, 0x24, _, _, _, _, ..] if modes & 0xc7 == 0x84 => 8,
            // endbr64
            [0xf3, 0x0f, 0x1e, 0xfa, ..] => 4,
            _ => return None,
        };
    }
    Some(length)
}
