//! Control group of a process: the systemd service, the container or the pod to which it belongs.

/// Number of characters of a container's or a pod's id that are shown.
const SHOWN_ID_CHARACTERS: usize = 12;

/// The unit of a process by the content of `/proc/self/cgroup`, cut or whole; empty if that names
/// no unit of a service, such as a login's session.
pub(crate) fn unit_of_cgroup(text: &str) -> String {
    // Version 2 of control groups has one line, version 1 a line for each controller.
    let paths = text.lines().filter_map(|line| line.splitn(3, ':').nth(2));
    paths.map(unit_of_path).find(|unit| !unit.is_empty()).unwrap_or_default()
}

/// The unit that a path names. The innermost one counts, but a container's pod before the
/// container.
fn unit_of_path(path: &str) -> String {
    let parts = || path.split('/').filter(|part| !part.is_empty());
    parts().find_map(pod_id).or_else(|| parts().rev().find_map(unit_name)).unwrap_or_default()
}

/// The pod that one part of a path names, as `kubepods-burstable-pod1234_abcd.slice` or
/// `pod1234-abcd`.
fn pod_id(part: &str) -> Option<String> {
    let stem = part.strip_suffix(".slice").unwrap_or(part);
    let (before, id) = stem.rsplit_once("pod")?;
    let is_pod = (before.is_empty() || before.starts_with("kubepods")) && id.len() >= 32;
    is_pod.then(|| format!("pod-{}", shorten_id(&id.replace('_', "-"))))
}

/// The service, virtual machine or container that one part of a path names.
fn unit_name(part: &str) -> Option<String> {
    if let Some(service) = part.strip_suffix(".service") {
        return (!service.starts_with("user@")).then(|| unescape_name(service));
    }
    if let Some(name) = part.strip_prefix("lxc.payload.") {
        return Some(name.to_owned());
    }
    let stem = part.strip_suffix(".scope").unwrap_or(part);
    if let Some(machine) = stem.strip_prefix("machine-") {
        return Some(unescape_name(machine));
    }
    // docker-ID.scope, libpod-ID.scope, cri-containerd-ID.scope, or the id alone.
    let id = stem.rsplit('-').next().unwrap_or(stem);
    let is_id = id.len() == 64 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id.then(|| shorten_id(id))
}

fn shorten_id(id: &str) -> String {
    id.chars().take(SHOWN_ID_CHARACTERS).collect()
}

/// Replaces escaped characters in a name: systemd writes `\x2d` for a `-` that is part of it.
fn unescape_name(name: &str) -> String {
    let mut parts = name.split("\\x");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) if byte.is_ascii() => {
                plain.push(char::from(byte));
                plain.push_str(part.get(2..).unwrap_or_default());
            }
            _ => {
                plain.push_str("\\x");
                plain.push_str(part);
            }
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_groups_name_services_containers_and_pods() {
        let id = "3f4e5d6c7b8a99887766554433221100ffeeddccbbaa00112233445566778899";
        let cases = [
            ("0::/system.slice/nginx.service\n".to_owned(), "nginx"),
            (
                "0::/system.slice/system-postgresql.slice/postgresql@15-main.service\n".to_owned(),
                "postgresql@15-main",
            ),
            (
                "0::/user.slice/user-1000.slice/user@1000.service/app.slice/shop.service\n"
                    .to_owned(),
                "shop",
            ),
            ("0::/user.slice/user-1000.slice/user@1000.service/app.slice/a.scope\n".to_owned(), ""),
            ("0::/user.slice/user-0.slice/session-3.scope\n".to_owned(), ""),
            (r"0::/machine.slice/machine-web\x2done.scope".to_owned(), "web-one"),
            ("0::/lxc.payload.db/system.slice\n".to_owned(), "db"),
            (format!("0::/system.slice/docker-{id}.scope\n"), "3f4e5d6c7b8a"),
            (format!("12:pids:/docker/{id}\n11:cpu:/docker/{id}\n"), "3f4e5d6c7b8a"),
            (
                format!(
                    "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-\
                pod8a7b6c5d_0000_1111_2222_333344445555.slice/cri-containerd-{id}.scope"
                ),
                "pod-8a7b6c5d-000",
            ),
            (
                format!("0::/kubepods/besteffort/pod8a7b6c5d-0000-1111-2222-333344445555/{id}"),
                "pod-8a7b6c5d-000",
            ),
            ("0::/\n".to_owned(), ""),
            ("0::/system.slice/ngin".to_owned(), ""),
            (String::new(), ""),
        ];
        for (text, unit) in cases {
            assert_eq!(unit_of_cgroup(&text), unit, "{text}");
        }
    }
}
