use super::*;
use proptest::prelude::*;

fn aliases(text: &str) -> Result<Aliases, String> {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("aliases");
    std::fs::write(&file, text).unwrap();
    Aliases::read(&file).map_err(|error| error.to_string())
}

const FILE: &str = r#"
# Who is who.
address 10.0.0.5         = web1      # the first
address 10.0.0.6=web1
address ::ffff:10.0.0.7  = mapped
address 10.1.0.0/16      = cache
address 10.1.2.3         = never said, as the net comes first
address 10.2.*           = "far away"
address fd00::/8         = inside
host    ip-10-0-0-?      = db
host    *.example.org    = "out \"there\" = #1"
command java             = shop
command "a b=c"          = odd
endpoint 10.0.0.9:443    = frontend
endpoint unix:/run/*     = local
"#;

#[test]
fn rules_of_every_kind() {
    let aliases = aliases(FILE).unwrap();
    let address = |text: &str| aliases.address(text.parse().unwrap());
    assert_eq!((address("10.0.0.5"), address("10.0.0.6")), (Some("web1"), Some("web1")));
    assert_eq!((address("10.0.0.7"), address("::ffff:10.0.0.7")), (Some("mapped"), Some("mapped")));
    assert_eq!((address("10.1.255.1"), address("10.1.2.3")), (Some("cache"), Some("cache")));
    assert_eq!((address("10.2.0.1"), address("110.2.0.1")), (Some("far away"), None));
    assert_eq!((address("fdff::1"), address("fe00::1")), (Some("inside"), None));
    assert_eq!((aliases.host("ip-10-0-0-7"), aliases.host("ip-10-0-0-77")), (Some("db"), None));
    assert_eq!(aliases.host("a.b.example.org"), Some("out \"there\" = #1"));
    assert_eq!(
        (aliases.host("java"), aliases.command("java"), aliases.command("javac")),
        (None, Some("shop"), None)
    );
    assert_eq!(aliases.command("a b=c"), Some("odd"));
    assert_eq!(aliases.endpoint("10.0.0.9:443"), Some("frontend"));
    assert_eq!(aliases.endpoint("unix:/run/x.sock"), Some("local"));
}

#[test]
fn nets_of_every_length() {
    let within = |address: &str, net: &str, length| {
        is_within(address.parse().unwrap(), (net.parse().unwrap(), length))
    };
    assert!(within("10.0.0.1", "0.0.0.0", 0) && within("::1", "::", 0));
    assert!(!within("10.0.0.1", "::", 0), "another family");
    assert!(within("10.0.0.1", "10.0.0.1", 32) && !within("10.0.0.2", "10.0.0.3", 32));
    assert!(within("10.0.0.2", "10.0.0.3", 31));
    assert!(within("fd00::1", "fd00::1", 128) && !within("fd00::2", "fd00::3", 128));
    assert!(within("172.31.9.9", "172.16.0.0", 12) && !within("172.32.0.1", "172.16.0.0", 12));
}

#[test]
fn the_error_for_a_wrong_line_says_what_to_do() {
    for (text, words) in [
        (
            "address 10.0.0.5 = a\n\nadress 10.0.0.6 = b",
            vec!["aliases:3:", "unknown kind of rule 'adress'", "address|host"],
        ),
        ("host web1", vec!["aliases:1:", "missing '='", "WHICH = NAME"]),
        ("host = web1", vec!["nothing before"]),
        ("host a = # none", vec!["nothing after"]),
        ("host \"a = b", vec!["quote is not closed"]),
        ("host \"a\\n\" = b", vec!["backslash"]),
        ("host a = \"b\" c", vec!["unexpected 'c' after the name", "quotes"]),
        ("address 10.0.0.5:80 = a", vec!["'10.0.0.5:80' is not an address", "without a port"]),
        ("address 10.0.0.0/33 = a", vec!["is not a network", "10.1.0.0/16"]),
        ("address web1 = a", vec!["is not an address"]),
        ("host a = b\nhost a = c", vec!["aliases:2:", "from line 1", "remove one"]),
        ("host a = \u{7}", vec!["printable"]),
    ] {
        let error = aliases(text).unwrap_err();
        for word in words {
            assert!(error.contains(word), "{text}: {error}");
        }
    }
    let error = Aliases::read(std::path::Path::new("/nowhere/aliases")).unwrap_err().to_string();
    assert!(error.contains("/nowhere/aliases") && error.contains("No such file"), "{error}");
}

#[test]
fn rules_survive_json() {
    let aliases = Aliases { named: Some("names".into()), ..aliases(FILE).unwrap() };
    let text = serde_json::to_string(&aliases).unwrap();
    assert_eq!(serde_json::from_str::<Aliases>(&text).unwrap(), aliases);
    assert!(Aliases::default().is_empty() && !aliases.is_empty());
}

/// A slower reference implementation.
fn fits(pattern: &[char], text: &[char]) -> bool {
    match (pattern.split_first(), text.split_first()) {
        (None, rest) => rest.is_none(),
        (Some(('*', pattern)), rest) => {
            fits(pattern, text)
                || rest.is_some_and(|(_, rest)| {
                    fits(&['*'].iter().chain(pattern).copied().collect::<Vec<_>>(), rest)
                })
        }
        (Some((c, pattern)), Some((t, text))) => (*c == '?' || c == t) && fits(pattern, text),
        (Some(_), None) => false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn patterns_match_like_the_reference(pattern in "[ab*?]{0,7}", text in "[ab]{0,8}") {
        let (p, t): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
        prop_assert_eq!(matches_pattern(&pattern, &text), fits(&p, &t));
    }

    #[test]
    fn any_text_is_rules_or_an_error(text in "(host|address|command|x)?[ \"=#\\\\a*./0-9\n]{0,30}") {
        let _ = aliases(&text);
    }
}
