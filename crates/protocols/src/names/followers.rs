//! Words that precede a user's value: `/users/alice`, `/search/shoes`, `user.alice.created`.

/// Words that a value follows, most often one that identifies a person.
const VALUE_FOLLOWS: &[&str] = &[
    "user",
    "u",
    "usr",
    "account",
    "acct",
    "profile",
    "person",
    "people",
    "customer",
    "client",
    "member",
    "author",
    "owner",
    "employee",
    "staff",
    "patient",
    "student",
    "teacher",
    "doctor",
    "contact",
    "friend",
    "follower",
    "team",
    "group",
    "org",
    "organization",
    "organisation",
    "company",
    "tenant",
    "workspace",
    "project",
    "repo",
    "repository",
    "name",
    "username",
    "login",
    "nick",
    "nickname",
    "email",
    "mail",
    "phone",
    "address",
    "id",
    "by",
    "search",
    "query",
    "q",
    "find",
    "lookup",
    "tag",
    "topic",
    "category",
    "title",
    "wiki",
    "host",
    "domain",
    "key",
    "token",
    "session",
    "invite",
    "invitation",
    "reset",
    "confirm",
    "verify",
    "unsubscribe",
    "activate",
    "code",
    "coupon",
    "city",
    "country",
    "region",
    "location",
    "place",
    "room",
    "channel",
    "chat",
    "conversation",
    "thread",
    "in",
    "for",
    "of",
    "to",
    "from",
    "with",
    "as",
    "me",
    "blog",
    "page",
    "slug",
    "label",
    "value",
    "family",
    "child",
    "parent",
    "device",
    "calendar",
    "inbox",
    "bucket",
    "database",
    "schema",
    "data",
    "customer-id",
    "user-id",
    "feed",
    "children",
];

/// Words that end in s and do not precede a value.
const NO_COLLECTIONS: &[&str] = &[
    "news",
    "docs",
    "assets",
    "settings",
    "analytics",
    "statistics",
    "stats",
    "metrics",
    "utils",
    "tools",
    "graphics",
    "fonts",
    "styles",
    "scripts",
    "css",
    "js",
    "ts",
    "rss",
    "gps",
    "sms",
    "dns",
    "ws",
    "https",
    "aws",
    "cms",
    "ads",
    "apis",
    "options",
    "preferences",
    "credentials",
    "includes",
    "modules",
    "libs",
    "plugins",
    "themes",
    "static",
    "yes",
    "ops",
    "os",
    "pos",
];

/// Folders of files that people name: the rest of a path after these is not kept.
const TREES: &[&str] = &[
    "files",
    "file",
    "uploads",
    "upload",
    "downloads",
    "download",
    "images",
    "photos",
    "pictures",
    "documents",
    "folders",
    "folder",
    "dav",
    "webdav",
    "carddav",
    "caldav",
    "home",
    "blob",
    "raw",
    "tree",
    "browse",
    "share",
    "shares",
    "shared",
    "storage",
    "backup",
    "backups",
    "attachments",
    "attachment",
    "mailbox",
    "mailboxes",
    "media",
    "videos",
    "recordings",
    "wp-content",
    "public",
    "private",
    "objects",
    "paths",
    "path",
    "dir",
    "dirs",
    "directory",
];

/// Last word of a segment, in lower case: `authors` for both `bookAuthors` and `book-authors`.
fn last_word(segment: &str) -> String {
    let begin = segment.rfind(|of: char| !of.is_ascii_lowercase()).unwrap_or(0);
    let tail = segment.get(begin..).unwrap_or(segment);
    tail.trim_start_matches(|of: char| !of.is_ascii_alphabetic()).to_ascii_lowercase()
}

/// Whether a value follows a segment that was kept.
pub(super) fn is_value_prefix(segment: &str) -> bool {
    let whole = segment.to_ascii_lowercase();
    let last = last_word(segment);
    let listed = |list: &[&str]| list.contains(&whole.as_str()) || list.contains(&last.as_str());
    let plural = last.len() >= 4
        && last.ends_with('s')
        && !["ss", "us", "is"].iter().any(|end| last.ends_with(end));
    listed(VALUE_FOLLOWS) || plural && !listed(NO_COLLECTIONS)
}

/// Whether everything after a segment is named by people.
pub(super) fn is_tree_prefix(segment: &str) -> bool {
    TREES.contains(&segment.to_ascii_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_follow_collections_and_persons() {
        for segment in ["users", "user", "products", "bookAuthors", "by-name", "search", "byEmail"]
        {
            assert!(is_value_prefix(segment), "{segment}");
        }
        for segment in ["cart", "api", "status", "address-less", "assets", "css", "v1", "analysis"]
        {
            assert!(!is_value_prefix(segment), "{segment}");
        }
    }
}
