//! Name lookup of a log.

use socket_log::api::Api;

/// A call of a libc function that looks a name up, with times in ticks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoggedLookup {
    pub(crate) api: Api,
    pub(crate) tid: u32,
    pub(crate) begin: u64,
    pub(crate) duration: u64,
}

impl LoggedLookup {
    /// Whether `api` looks names up.
    pub(crate) fn is_made_by(api: Api) -> bool {
        use Api::{
            GetAddrInfo, GetHostByAddr, GetHostByName, GetNameInfo, ResQuery, ResQueryDomain,
        };
        use Api::{ResSearch, ResSend};
        matches!(
            api,
            GetAddrInfo
                | GetNameInfo
                | GetHostByName
                | GetHostByAddr
                | ResQuery
                | ResSearch
                | ResQueryDomain
                | ResSend
        )
    }
}
