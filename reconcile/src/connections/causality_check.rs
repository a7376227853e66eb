//! Causality check: whether the calls of two sockets can belong to the two ends of one connection.

use crate::calls::StreamTransfer;

/// Whether `receives` can have got their bytes from `sends`: at no time more bytes were received
/// than sent. Both sides' times are of one clock, up to `slack` nanoseconds.
pub(crate) fn is_causally_possible(
    sends: impl Iterator<Item = StreamTransfer>,
    receives: impl Iterator<Item = StreamTransfer>,
    slack: i64,
) -> bool {
    let mut sends = sends.peekable();
    let (mut sent, mut received) = (0u64, 0u64);
    for receive in receives.filter(|receive| receive.bytes > 0) {
        let end = receive.time.saturating_add(slack);
        while let Some(send) = sends.next_if(|send| send.time <= end) {
            sent = sent.saturating_add(send.bytes);
        }
        received = received.saturating_add(receive.bytes);
        if received > sent {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::TransferOrigin;

    fn call(time: i64, bytes: u64) -> StreamTransfer {
        StreamTransfer {
            time,
            bytes,
            origin: TransferOrigin::default(),
            tid: time as i32,
            elsewhere: false,
            begins: false,
        }
    }

    fn is_possible(sends: &[StreamTransfer], receives: &[StreamTransfer], slack: i64) -> bool {
        is_causally_possible(sends.iter().copied(), receives.iter().copied(), slack)
    }

    #[test]
    fn a_receive_before_its_send_is_impossible() {
        assert!(is_possible(&[call(1, 5), call(3, 5)], &[call(2, 5), call(4, 5)], 0));
        assert!(!is_possible(&[call(1, 5), call(3, 5)], &[call(2, 6), call(4, 4)], 0));
        assert!(is_possible(&[call(1, 5), call(3, 5)], &[call(2, 6), call(4, 4)], 1));
    }
}
