//! Segmentation offload of UDP: sends that the kernel cuts into datagrams (`UDP_SEGMENT`), and
//! receives of datagrams that it has joined (`UDP_GRO`).
//!
//! The datagrams' size is an option of the socket, or in the control data of a message. Of the
//! control data, strace 6.1 and later print only level and type. The size is used if it is printed;
//! otherwise [`Size::Unknown`] lets reconciliation take it from the other end.

use super::arguments::ArgumentCursor;
use super::call::StraceCall;
use super::lifecycle::call_result;
use super::result::CallResult;
use super::segment_size::Size;
use super::sockets::TracedSocket;
use super::traced_system::TracedSystem;

/// Name and number of a level or type in strace's output.
type Known = (&'static str, i64);

const UDP: Known = ("SOL_UDP", 17);
const SEGMENT: Known = ("UDP_SEGMENT", 103);
const GRO: Known = ("UDP_GRO", 104);

/// Datagram size of a call that sent or received on `socket`, with this control data.
pub(super) fn size(socket: &TracedSocket, control: Option<ArgumentCursor>, is_send: bool) -> Size {
    let kind = if is_send { SEGMENT } else { GRO };
    let stated = control.and_then(|control| in_control(control, kind));
    match stated {
        Some(size) => size,
        None if is_send => socket.segment,
        // The kernel passes the size to programs that ask for it, which is optional.
        None if socket.joins => Size::Unknown,
        None => Size::One,
    }
}

/// `setsockopt(4, SOL_UDP, UDP_SEGMENT, [1200], 4) = 0`, and the result of `getsockopt`.
pub(super) fn option(world: &mut TracedSystem, call: StraceCall) -> Option<()> {
    let arguments = call.arguments();
    let name = arguments.nth_argument(2)?;
    if !is(arguments.nth_argument(1)?, UDP) || !(is(name, SEGMENT) || is(name, GRO)) {
        return Some(());
    }
    let Some(socket) =
        world.socket_of_descriptor(call.caller, arguments.nth_argument(0)?.read_descriptor()?)
    else {
        return Some(());
    };
    if call_result(call)?.0 != CallResult::Returned(0) {
        return Some(());
    }
    let number = number(arguments.nth_argument(3)?);
    if let Some(socket) = world.sockets.get_mut(socket) {
        if is(name, SEGMENT) {
            socket.segment = number.map_or(Size::Unknown, Size::of);
        } else {
            socket.joins = number != Some(0);
        }
    }
    Some(())
}

/// Size in `[{cmsg_len=18, cmsg_level=SOL_UDP, cmsg_type=0x67, cmsg_data=...}]`. The last item
/// counts, as for the kernel.
fn in_control(mut control: ArgumentCursor, kind: Known) -> Option<Size> {
    let mut found = None;
    control.for_each_field(|_, mut item| {
        let (mut level, mut is_kind, mut size) = (false, false, None);
        item.for_each_field(|name, value| match name {
            b"cmsg_level" => level = is(value, UDP),
            b"cmsg_type" => is_kind = is(value, kind),
            b"cmsg_data" | b"" => size = number(value),
            _ => {}
        });
        if level && is_kind {
            found = Some(size.map_or(Size::Unknown, Size::of));
        }
    });
    found
}

/// Whether a value has this name or number.
fn is(mut value: ArgumentCursor, (name, number): Known) -> bool {
    value.read_flags().has_flag(name) || value.read_number() == Some(number)
}

/// Parses a number by itself, in brackets, or as its bytes in a text or a list.
fn number(mut value: ArgumentCursor) -> Option<u64> {
    let mut bytes = Vec::new();
    match value.peek()? {
        b'"' => drop(value.read_text(&mut bytes)?),
        b'[' => {
            let mut numbers = Vec::new();
            value.for_each_field(|_, mut item| numbers.extend(item.read_number()))?;
            if let [number] = numbers.as_slice() {
                return u64::try_from(*number).ok();
            }
            bytes.extend(numbers.into_iter().map(|byte| u8::try_from(byte).unwrap_or(0)));
        }
        _ => return u64::try_from(value.read_number()?).ok(),
    }
    // Sizes of datagrams are below 65,536.
    let low: &[u8; 2] = bytes.first_chunk()?;
    Some(u64::from(u16::from_le_bytes(*low)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn control(text: &str, kind: Known) -> Option<Size> {
        in_control(ArgumentCursor::new(text.as_bytes()), kind)
    }

    #[test]
    fn the_size_in_control_data_in_all_forms() {
        for (item, size) in [
            // strace 6.1.
            ("cmsg_level=SOL_UDP, cmsg_type=0x67", Size::Unknown),
            ("cmsg_level=0x11 /* SOL_UDP */, cmsg_type=0x67", Size::Unknown),
            ("cmsg_level=0x11, cmsg_type=0x67", Size::Unknown),
            ("cmsg_level=17, cmsg_type=103", Size::Unknown),
            // The control data as strace prints other data.
            ("cmsg_level=SOL_UDP, cmsg_type=UDP_SEGMENT, cmsg_data=[1200]", Size::Of(1200)),
            ("cmsg_level=SOL_UDP, cmsg_type=UDP_SEGMENT, cmsg_data=1200", Size::Of(1200)),
            ("cmsg_level=SOL_UDP, cmsg_type=UDP_SEGMENT, cmsg_data=[0x4b0]", Size::Of(1200)),
            (
                "cmsg_level=SOL_UDP, cmsg_type=0x67 /* UDP_SEGMENT */, cmsg_data=[0xb0, 0x4]",
                Size::Of(1200),
            ),
            (r#"cmsg_level=SOL_UDP, cmsg_type=0x67, "\260\4""#, Size::Of(1200)),
            ("cmsg_level=SOL_UDP, cmsg_type=UDP_SEGMENT, cmsg_data=[0]", Size::One),
        ] {
            let text = format!("[{{cmsg_len=18, {item}}}]");
            assert_eq!(control(&text, SEGMENT), Some(size), "{text}");
            assert_eq!(control(&text, GRO), None, "{text}");
        }
        for other in [
            "[{cmsg_len=18, cmsg_level=SOL_IP, cmsg_type=0x67}]",
            "[{cmsg_len=20, cmsg_level=SOL_SOCKET, cmsg_type=SCM_RIGHTS, cmsg_data=[103]}]",
            "0x7ffe",
            "[]",
        ] {
            assert_eq!(control(other, SEGMENT), None, "{other}");
        }
        let both = "[{cmsg_len=20, cmsg_level=SOL_IP, cmsg_type=IP_TOS, cmsg_data=[0x2]}, \
                    {cmsg_len=20, cmsg_level=SOL_UDP, cmsg_type=0x68}]";
        assert_eq!(control(both, GRO), Some(Size::Unknown));
    }
}
