//! Keys as files: their content, and what is wrong with the refused ones.

use std::fs;
use std::path::Path;

use super::certificate::COLLECTOR;
use super::*;
use socket_log::names::NameError;

const DAY: i64 = 24 * 60 * 60;

/// Creates a directory with an authority.
fn authority() -> (tempfile::TempDir, Authority) {
    let directory = tempfile::tempdir().unwrap();
    let authority = Authority::create(directory.path(), 100).unwrap();
    (directory, authority)
}

/// Writes a key file with this text, readable only for its owner.
fn file(directory: &Path, text: &str) -> std::path::PathBuf {
    let path = directory.join("file.pem");
    files::write_private(&path, text, true).unwrap();
    path
}

#[test]
fn a_key_states_its_owner_and_validity() {
    let (directory, authority) = authority();
    let valid = KeyValidity { from: 1_700_000_000, until: 1_750_000_001 };
    let host = authority.issue_key(KeyRole::Host, &["web1", "web2.example"], valid).unwrap();
    assert_eq!((host.role(), host.validity()), (KeyRole::Host, [1_700_000_000, 1_750_000_001]));
    assert_eq!(host.names(), ["web1", "web2.example"]);

    let before = KeyValidity::for_days(30);
    let collector = authority.issue_collector(30).unwrap();
    let after = KeyValidity::for_days(30);
    assert_eq!(
        (collector.role(), collector.names()),
        (KeyRole::Collector, [COLLECTOR.to_owned()].as_slice())
    );
    let [from, until] = collector.validity();
    assert!(
        (before.from..=after.from).contains(&from) && (before.until..=after.until).contains(&until)
    );
    assert_eq!(until - from, 31 * DAY);

    let contents = inspect_key_file(&directory.path().join(AUTHORITY_FILE)).unwrap();
    assert_eq!((contents.role, contents.names), (None, Vec::new()));
    assert_eq!(contents.valid, authority.validity().unwrap());
    assert_eq!(contents.valid[1] - contents.valid[0], 101 * DAY);
    let path = directory.path().join("web1.pem");
    host.write(&path, false).unwrap();
    let contents = inspect_key_file(&path).unwrap();
    assert_eq!((contents.role, contents.names.as_slice()), (Some(KeyRole::Host), host.names()));
}

#[test]
fn a_time_after_2050_has_another_encoding_and_reads_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let valid = KeyValidity { from: 0, until: 253_402_300_799 };
    let authority = Authority::create_for(directory.path(), valid).unwrap();
    assert_eq!(authority.validity().unwrap(), [0, 253_402_300_799]);
    let host = authority
        .issue_key(KeyRole::Host, &["a"], KeyValidity { until: 2_600_000_000, ..valid })
        .unwrap();
    assert_eq!(host.validity(), [0, 2_600_000_000]);
}

#[test]
fn impossible_validities_are_refused() {
    let (_directory, authority) = authority();
    for (from, until) in [(5, 5), (5, 4), (-1, 5), (i64::MIN, i64::MAX), (i64::MAX - 1, i64::MAX)] {
        let made = authority.issue_key(KeyRole::Host, &["a"], KeyValidity { from, until });
        assert!(matches!(made, Err(KeyError::Validity { .. })), "{from} {until}");
    }
}

#[test]
fn an_authority_is_never_overwritten() {
    let (directory, authority) = authority();
    assert!(matches!(Authority::create(directory.path(), 1), Err(KeyError::Exists(_))));
    assert_eq!(Authority::open(directory.path()).unwrap().certificate(), authority.certificate());
    let none = Authority::open(&directory.path().join("no")).err().unwrap().to_string();
    assert!(none.contains("sockcap keys new"), "{none}");
}

#[test]
fn invalid_host_names_are_refused() {
    let (_directory, authority) = authority();
    let error = |name: &str| authority.issue_host(&[name], 1).unwrap_err();
    for wrong in ["", "..", "../web1", "a/b", "a b", "*.example", "é", &"a.".repeat(64)] {
        assert!(matches!(error(wrong), KeyError::Name { source: NameError::Host, .. }), "{wrong}");
    }
    for wrong in ["10.0.0.1", "web-", "-web", "a..b", "web.", "7", &"x".repeat(64)] {
        assert!(matches!(error(wrong), KeyError::NotInCertificates(_)), "{wrong}");
    }
    for wrong in ["collector", "Collector", "authority", COLLECTOR, "COLLECTOR.sockcap.internal"] {
        assert!(matches!(error(wrong), KeyError::Reserved(_)), "{wrong}");
    }
    assert!(matches!(authority.issue_host::<&str>(&[], 1), Err(KeyError::NoName)));
    assert!(
        matches!(authority.issue_host(&["web1", "a b"], 1), Err(KeyError::Name { .. })),
        "each of them counts"
    );
    for right in ["a", "web_1", "Web-1.example.org", "1web", "7.x", &"x".repeat(63)] {
        assert_eq!(authority.issue_host(&[right], 1).unwrap().names(), [right]);
    }
}

#[test]
fn missing_parts_are_named() {
    let (directory, authority) = authority();
    let path = directory.path().join("web1.pem");
    authority.issue_host(&["web1"], 1).unwrap().write(&path, false).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    let certificate = "-----BEGIN CERTIFICATE-----";
    let first = text.find(certificate).unwrap();
    let second = text.rfind(certificate).unwrap();
    let (key, own, of_authority) = (&text[..first], &text[first..second], &text[second..]);
    let error = |text: &str| KeyBundle::open(&file(directory.path(), text)).unwrap_err();
    let missing = |text: &str| match error(text) {
        KeyError::Missing { missing, .. } => missing,
        other => panic!("{other}"),
    };
    assert_eq!(missing(&[own, of_authority].concat()), "the private key");
    assert_eq!(missing(key), "the certificate");
    assert_eq!(missing(&[key, own].concat()), "the authority's certificate");
    assert_eq!(missing(&[key, of_authority].concat()), "the machine's certificate");
    assert_eq!(missing(""), "the private key");
    assert!(
        KeyBundle::open(&file(directory.path(), &[own, of_authority, key].concat())).is_ok(),
        "in any place"
    );
    assert!(matches!(
        KeyBundle::open(&directory.path().join(AUTHORITY_FILE)),
        Err(KeyError::IsAuthority(_))
    ));

    let why = |text: &str| match error(text) {
        KeyError::Damaged { why, .. } => why,
        other => panic!("{other}"),
    };
    assert!(why(&text[..second + 300]).contains("not whole"));
    assert!(why(&[&text, own].concat()).contains("3 certificates"));
    assert!(why(&[key, of_authority, own].concat()).contains("not for the private key"));
    let other = authority.issue_host(&["web1"], 1).unwrap();
    other.write(&path, true).unwrap();
    let other = fs::read_to_string(&path).unwrap();
    let of_other = &other[..other.find(certificate).unwrap()];
    assert!(why(&[of_other, own, of_authority].concat()).contains("not for the private key"));
}

#[test]
fn parts_of_two_authorities_do_not_belong_together() {
    let (directory, one) = authority();
    let (elsewhere, _other) = self::authority();
    let path = directory.path().join("web1.pem");
    one.issue_host(&["web1"], 1).unwrap().write(&path, false).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    let foreign = fs::read_to_string(elsewhere.path().join(AUTHORITY_FILE)).unwrap();
    let certificate = "-----BEGIN CERTIFICATE-----";
    let mixed =
        [&text[..text.rfind(certificate).unwrap()], &foreign[foreign.find(certificate).unwrap()..]]
            .concat();
    let error = KeyBundle::open(&file(directory.path(), &mixed)).unwrap_err().to_string();
    assert!(error.contains("has not signed"), "{error}");
    let mine = fs::read_to_string(directory.path().join(AUTHORITY_FILE)).unwrap();
    let swapped =
        [&mine[..mine.find(certificate).unwrap()], &foreign[foreign.find(certificate).unwrap()..]]
            .concat();
    files::write_private(&directory.path().join(AUTHORITY_FILE), &swapped, true).unwrap();
    let error = Authority::open(directory.path()).err().unwrap().to_string();
    assert!(error.contains("not for the private key"), "{error}");
}

#[test]
fn nothing_of_a_key_is_printed() {
    let (directory, authority) = authority();
    let path = directory.path().join("web1.pem");
    let host = authority.issue_host(&["web1"], 1).unwrap();
    host.write(&path, false).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    let secret = text.lines().nth(2).unwrap();
    assert!(secret.len() == 64 && !format!("{host:?}").contains(secret));
    assert!(format!("{host:?}").contains("elided"));
}

proptest::proptest! {
    #[test]
    fn damaged_files_are_errors(at in 0usize..2000, byte: u8, cut in 0usize..2500) {
        static TEXT: std::sync::LazyLock<String> = std::sync::LazyLock::new(|| {
            let (directory, authority) = authority();
            let path = directory.path().join("web1.pem");
            authority.issue_host(&["web1"], 1).unwrap().write(&path, false).unwrap();
            fs::read_to_string(path).unwrap()
        });
        let mut bytes = TEXT.as_bytes().to_vec();
        if let Some(place) = bytes.get_mut(at) {
            *place = byte;
        }
        bytes.truncate(cut);
        // Any bytes are either read or refused.
        let _ = KeyBundle::from_pem(Path::new("damaged"), String::from_utf8_lossy(&bytes).into_owned());
    }
}

#[test]
fn recorded_keys_are_listed_and_can_be_revoked() {
    let (directory, authority) = authority();
    let (path, collector) =
        (directory.path().join(REVOKED_FILE), authority.issue_collector(10).unwrap());
    let [one, two, three] =
        ["web1", "web2", "web3"].map(|name| authority.issue_host(&[name], 10).unwrap());
    [&collector, &one, &two].iter().for_each(|bundle| authority.record_issued(bundle).unwrap());
    let issued = Authority::open(directory.path()).unwrap().issued_certificates().unwrap();
    let names: Vec<&str> = issued.iter().map(|key| key.names[0].as_str()).collect();
    assert_eq!(names, [COLLECTOR, "web1", "web2"]);

    let followed = RevocationWatcher::open(&path, &collector).unwrap();
    assert!(!followed.reload_if_changed().unwrap() && !followed.is_revoked(&one.certificate));
    // Revoked certificates stay revoked when others are added, also certificates that were never
    // recorded.
    for (of, revoked) in [(&one, [true, false, false]), (&three, [true, false, true])] {
        authority.revoke_certificates(std::slice::from_ref(&of.certificate)).unwrap();
        assert!(followed.reload_if_changed().unwrap() && !followed.reload_if_changed().unwrap());
        let list = authority.revocation_list().unwrap().unwrap();
        assert_eq!([&one, &two, &three].map(|key| list.contains(&key.certificate)), revoked);
        assert_eq!([&one, &two, &three].map(|key| followed.is_revoked(&key.certificate)), revoked);
    }
    // A foreign list, a damaged one and a missing one: each is reported once, and nothing becomes
    // valid again.
    let (_other, other_authority) = self::authority();
    let foreign = other_authority
        .revoke_certificates(&[other_authority.issue_host(&["x"], 1).unwrap().certificate])
        .unwrap();
    fs::copy(foreign, &path).unwrap();
    assert!(followed.reload_if_changed().unwrap_err().to_string().contains("has not signed it"));
    assert!(RevocationWatcher::open(&path, &collector).is_err());
    fs::write(&path, "half").unwrap();
    assert!(followed.reload_if_changed().unwrap_err().to_string().contains("not whole"));
    assert!(authority.revoke_certificates(&[]).is_err(), "its entries would be lost");
    fs::remove_file(&path).unwrap();
    assert!(
        followed.reload_if_changed().unwrap_err().to_string().contains("it is gone")
            && !followed.reload_if_changed().unwrap()
    );
    assert!(followed.is_revoked(&one.certificate) && !followed.is_revoked(&two.certificate));
}
