//! Functions of libc that move bytes unseen: the subject of [`CALL`](crate::layout::kind::CALL)
//! records.
//!
//! Libc's resolver and its buffered files call the kernel internally, past every function that a
//! preloaded library can interpose. For these calls the log has the function, the time, the
//! duration and the result; never an argument, since names of hosts and lines of a system log are
//! payload.

macro_rules! apis {
    ($($name:ident = $number:literal, $text:literal;)*) => {
        /// Function of libc that moves bytes unseen.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u16)]
        #[allow(missing_docs, reason = "each is named as libc's function is")]
        pub enum Api {
            $($name = $number,)*
        }

        impl Api {
            /// Name of the function in libc; members of a family share the name of the first.
            pub fn libc_name(self) -> &'static str {
                match self {
                    $(Api::$name => $text,)*
                }
            }

            /// Function of this number.
            #[cfg(feature = "reader")]
            pub(crate) fn from_number(number: u16) -> Option<Api> {
                [$(Api::$name),*].into_iter().find(|api| *api as u16 == number)
            }
        }
    };
}

apis! {
    GetAddrInfo = 1, "getaddrinfo";
    GetNameInfo = 2, "getnameinfo";
    GetHostByName = 3, "gethostbyname";
    GetHostByAddr = 4, "gethostbyaddr";
    ResQuery = 5, "res_query";
    ResSearch = 6, "res_search";
    ResQueryDomain = 7, "res_querydomain";
    ResSend = 8, "res_send";
    FdOpen = 9, "fdopen";
    FClose = 10, "fclose";
    POpen = 11, "popen";
    PClose = 12, "pclose";
    DPrintf = 13, "dprintf";
    Syslog = 14, "syslog";
    DlOpenDeepBind = 15, "dlopen(RTLD_DEEPBIND)";
}
