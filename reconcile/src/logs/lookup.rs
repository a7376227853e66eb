//! A lookup of a name, as its log has it.

use socket_log::api::Api;

/// A call of libc's that looks a name up, as its log has it: in ticks.
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
