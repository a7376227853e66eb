//! Result of a call, which follows its arguments.

use super::arguments::ArgumentCursor;

/// Result of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallResult {
    /// The call returned this value.
    Returned(i64),
    /// The call failed with this error (`errno`).
    Failed(i32),
    /// The call did not return, or the kernel will restart it.
    Unknown,
}

/// Errors of a call that only has to be repeated.
pub(super) const AGAIN: &[i32] = &[EAGAIN, EINTR, EINPROGRESS, EALREADY];
pub(super) const EINTR: i32 = 4;
pub(super) const EBADF: i32 = 9;
pub(super) const EAGAIN: i32 = 11;
pub(super) const ENOTSOCK: i32 = 88;
pub(super) const EALREADY: i32 = 114;
pub(super) const EINPROGRESS: i32 = 115;

/// Splits off the duration of a call from its text, in nanoseconds (`<0.000123>`, with `-T`).
pub(super) fn split_duration(text: &[u8]) -> (&[u8], Option<i64>) {
    let whole = (text, None);
    let Some(inside) = text.strip_suffix(b">") else { return whole };
    let Some(begin) = inside.iter().rposition(|byte| !byte.is_ascii_digit() && *byte != b'.')
    else {
        return whole;
    };
    if inside.get(begin) != Some(&b'<') || begin == 0 || inside.get(begin - 1) != Some(&b' ') {
        return whole;
    }
    let digits = inside.get(begin + 1..).unwrap_or(&[]);
    let Some(point) = digits.iter().position(|byte| *byte == b'.') else { return whole };
    let (mut nanoseconds, mut unit) = (0i64, 1_000_000_000i64);
    let (seconds, fraction) = digits.split_at(point);
    for digit in seconds {
        nanoseconds = nanoseconds
            .saturating_mul(10)
            .saturating_add(i64::from(digit.wrapping_sub(b'0')) * 1_000_000_000);
    }
    for digit in fraction.iter().skip(1).take(9) {
        unit /= 10;
        nanoseconds = nanoseconds.saturating_add(unit * i64::from(digit.wrapping_sub(b'0').min(9)));
    }
    (text.get(..begin - 1).unwrap_or(text), Some(nanoseconds))
}

/// Result of a call, if its text (without duration) ends in a plain number: nothing else ends in
/// `) = 123`.
pub(super) fn plain_result(text: &[u8]) -> Option<i64> {
    let digits = text.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let (before, number) = text.split_at_checked(text.len() - digits)?;
    let before = before.strip_suffix(b"= ")?.trim_ascii_end();
    if digits == 0 || digits > 18 || before.last() != Some(&b')') {
        return None;
    }
    Some(number.iter().fold(0, |value, digit| value * 10 + i64::from(digit - b'0')))
}

/// Result of a call, parsed by a cursor among its arguments. The cursor is left after the number,
/// where the decoration begins if the result is a descriptor.
pub(super) fn parse_result(cursor: &mut ArgumentCursor) -> Option<CallResult> {
    while cursor.next_argument().is_some() {}
    if !cursor.eat_token(b")") {
        return None;
    }
    cursor.skip_spaces();
    if !cursor.eat_token(b"= ") {
        return None;
    }
    if cursor.peek() == Some(b'?') {
        return Some(CallResult::Unknown);
    }
    let number = cursor.read_number()?;
    let after = cursor.rest();
    // "-1 EAGAIN (Resource temporarily unavailable)"
    if number == -1 && after.starts_with(b" E") {
        cursor.skip_spaces();
        return Some(CallResult::Failed(errno_of_name(cursor.read_word())));
    }
    Some(CallResult::Returned(number))
}

/// Number of an error by its name; 0 for names that are not Linux errors.
fn errno_of_name(name: &[u8]) -> i32 {
    let place = ERRORS.iter().position(|error| error.as_bytes() == name);
    match (name, place) {
        (b"EWOULDBLOCK", _) => EAGAIN,
        (b"EDEADLOCK", _) => 35,
        (b"ENOTSUP", _) => 95,
        (_, Some(place)) => place as i32 + 1,
        (_, None) => 0,
    }
}

/// Linux's errors from 1 on, as on all machines except a few old ones.
const ERRORS: [&str; 133] = [
    "EPERM",
    "ENOENT",
    "ESRCH",
    "EINTR",
    "EIO",
    "ENXIO",
    "E2BIG",
    "ENOEXEC",
    "EBADF",
    "ECHILD",
    "EAGAIN",
    "ENOMEM",
    "EACCES",
    "EFAULT",
    "ENOTBLK",
    "EBUSY",
    "EEXIST",
    "EXDEV",
    "ENODEV",
    "ENOTDIR",
    "EISDIR",
    "EINVAL",
    "ENFILE",
    "EMFILE",
    "ENOTTY",
    "ETXTBSY",
    "EFBIG",
    "ENOSPC",
    "ESPIPE",
    "EROFS",
    "EMLINK",
    "EPIPE",
    "EDOM",
    "ERANGE",
    "EDEADLK",
    "ENAMETOOLONG",
    "ENOLCK",
    "ENOSYS",
    "ENOTEMPTY",
    "ELOOP",
    "",
    "ENOMSG",
    "EIDRM",
    "ECHRNG",
    "EL2NSYNC",
    "EL3HLT",
    "EL3RST",
    "ELNRNG",
    "EUNATCH",
    "ENOCSI",
    "EL2HLT",
    "EBADE",
    "EBADR",
    "EXFULL",
    "ENOANO",
    "EBADRQC",
    "EBADSLT",
    "",
    "EBFONT",
    "ENOSTR",
    "ENODATA",
    "ETIME",
    "ENOSR",
    "ENONET",
    "ENOPKG",
    "EREMOTE",
    "ENOLINK",
    "EADV",
    "ESRMNT",
    "ECOMM",
    "EPROTO",
    "EMULTIHOP",
    "EDOTDOT",
    "EBADMSG",
    "EOVERFLOW",
    "ENOTUNIQ",
    "EBADFD",
    "EREMCHG",
    "ELIBACC",
    "ELIBBAD",
    "ELIBSCN",
    "ELIBMAX",
    "ELIBEXEC",
    "EILSEQ",
    "ERESTART",
    "ESTRPIPE",
    "EUSERS",
    "ENOTSOCK",
    "EDESTADDRREQ",
    "EMSGSIZE",
    "EPROTOTYPE",
    "ENOPROTOOPT",
    "EPROTONOSUPPORT",
    "ESOCKTNOSUPPORT",
    "EOPNOTSUPP",
    "EPFNOSUPPORT",
    "EAFNOSUPPORT",
    "EADDRINUSE",
    "EADDRNOTAVAIL",
    "ENETDOWN",
    "ENETUNREACH",
    "ENETRESET",
    "ECONNABORTED",
    "ECONNRESET",
    "ENOBUFS",
    "EISCONN",
    "ENOTCONN",
    "ESHUTDOWN",
    "ETOOMANYREFS",
    "ETIMEDOUT",
    "ECONNREFUSED",
    "EHOSTDOWN",
    "EHOSTUNREACH",
    "EALREADY",
    "EINPROGRESS",
    "ESTALE",
    "EUCLEAN",
    "ENOTNAM",
    "ENAVAIL",
    "EISNAM",
    "EREMOTEIO",
    "EDQUOT",
    "ENOMEDIUM",
    "EMEDIUMTYPE",
    "ECANCELED",
    "ENOKEY",
    "EKEYEXPIRED",
    "EKEYREVOKED",
    "EKEYREJECTED",
    "EOWNERDEAD",
    "ENOTRECOVERABLE",
    "ERFKILL",
    "EHWPOISON",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn result(text: &str) -> Option<CallResult> {
        parse_result(&mut ArgumentCursor::new(split_duration(text.as_bytes()).0))
    }

    #[test]
    fn results_of_all_kinds() {
        assert_eq!(result("3, \") = 7\", 5) = 5"), Some(CallResult::Returned(5)));
        assert_eq!(result("3)     = 0 <0.000012>"), Some(CallResult::Returned(0)));
        assert_eq!(result("AF_INET) = 5<TCP:[1]>"), Some(CallResult::Returned(5)));
        assert_eq!(
            result("3) = -1 ECONNREFUSED (Connection refused)"),
            Some(CallResult::Failed(111))
        );
        assert_eq!(
            result("3) = -1 EAGAIN (Resource temporarily unavailable) <0.000010>"),
            Some(CallResult::Failed(EAGAIN))
        );
        assert_eq!(
            result("3) = ? ERESTARTSYS (To be restarted if SA_RESTART is set)"),
            Some(CallResult::Unknown)
        );
        assert_eq!(result("3)   = ?"), Some(CallResult::Unknown));
        assert_eq!(result("3"), None);
        assert_eq!(result("3, \"cut"), None);
    }

    #[test]
    fn errors_have_their_numbers() {
        for (name, number) in [
            ("EINTR", EINTR),
            ("EBADF", EBADF),
            ("EAGAIN", EAGAIN),
            ("ENOTSOCK", ENOTSOCK),
            ("EALREADY", EALREADY),
            ("EINPROGRESS", EINPROGRESS),
            ("EHWPOISON", 133),
            ("EPIPE", 32),
            ("EOWNERDEAD", 130),
            ("EMYSTERY", 0),
        ] {
            assert_eq!(errno_of_name(name.as_bytes()), number, "{name}");
        }
    }

    #[test]
    fn durations() {
        assert_eq!(split_duration(b"3) = 1 <0.000123>"), (&b"3) = 1"[..], Some(123_000)));
        assert_eq!(split_duration(b"3) = 1 <12.5>"), (&b"3) = 1"[..], Some(12_500_000_000)));
        assert_eq!(split_duration(b"3) = 5<socket:[77]>").1, None);
        assert_eq!(split_duration(b"3) = 5<TCP:[1]> <1.000000001>").1, Some(1_000_000_001));
        assert_eq!(split_duration(b"3, <unfinished ...>").1, None);
        assert_eq!(split_duration(b">").1, None);
    }

    #[test]
    fn plain_results_from_the_end() {
        assert_eq!(plain_result(b"3, \"x\", 5) = 5"), Some(5));
        assert_eq!(plain_result(b"3)    = 12"), Some(12));
        for other in
            ["3) = -1 EAGAIN (x)", "3, \") = 5\"", "3) = 5<TCP:[1]>", "3) = ", "3) = 0x12", "= 5"]
        {
            assert_eq!(plain_result(other.as_bytes()), None, "{other}");
        }
    }
}
