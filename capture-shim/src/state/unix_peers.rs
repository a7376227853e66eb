//! The other ends of unix sockets that the process had before the library was injected. The kernel
//! reports them only by netlink, so the recorder queries them, and passes them to the library.

use crate::platform::InitOnce;
use crate::platform::environment::{find_variable, present_environment};

/// Variable with pairs of kernel ids: of a socket, and of its other end. Each id has 16 hexadecimal
/// digits. The pairs are ordered by the first id.
const VARIABLE: &[u8] = b"SOCKCAP_UNIX_PEERS=";

/// Number of digits of an id.
const DIGITS: usize = 16;

/// Value of the variable.
static PEERS: InitOnce<&[u8]> = InitOnce::new(&[]);

/// Reads the variable. Only a recorder that attaches to a running process sets it; its text stays
/// in place as long as the library does.
///
/// # Safety
/// Only the constructor calls this, before the program has a second thread.
pub(crate) unsafe fn read_variable() {
    if let Some(text) = find_variable(present_environment(), VARIABLE) {
        // SAFETY: as the caller guarantees.
        unsafe { PEERS.set(text) };
    }
}

/// The kernel's id of the socket at the other end of the unix socket `cookie`, if it is known.
pub(crate) fn other_end(cookie: u64) -> Option<u64> {
    let (pairs, _) = PEERS.get().as_chunks::<{ 2 * DIGITS }>();
    let own = |pair: &[u8; 2 * DIGITS]| number(pair.get(..DIGITS)?);
    let place = pairs.partition_point(|pair| own(pair).is_some_and(|own| own < cookie));
    let pair = pairs.get(place).filter(|pair| own(pair) == Some(cookie))?;
    number(pair.get(DIGITS..)?)
}

/// Number with these hexadecimal digits; `None` if a byte is not a digit.
fn number(digits: &[u8]) -> Option<u64> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16).map(u64::from);
    digits.iter().try_fold(0, |number: u64, byte| Some(number << 4 | digit(byte)?))
}
