//! Shared by both programs: the types of the service, and reading the ports from the environment.

tonic::include_proto!("shop");

/// Prints the request and its status, in a run that compares names with them.
pub fn note(asked: &str, status: &str) {
    if std::env::var_os("ACCESS_LOG").is_some() {
        println!("access {asked} {status}");
    }
}

/// A setting from the environment.
pub fn setting(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set"))
}
