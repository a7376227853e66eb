//! What both programs share: the types of the service, and how they are told their ports.

tonic::include_proto!("shop");

/// Says what was asked and how it ended, in a run that holds names against it.
pub fn note(asked: &str, status: &str) {
    if std::env::var_os("ACCESS_LOG").is_some() {
        println!("access {asked} {status}");
    }
}

/// A setting, which the system gives by the environment.
pub fn setting(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set"))
}
