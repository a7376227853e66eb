//! What both programs share: the types of the service, and how they are told their ports.

tonic::include_proto!("shop");

/// A setting, which the system gives by the environment.
pub fn setting(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set"))
}
