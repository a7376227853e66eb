//! The paths that a module uses, made absolute: `crate::`, `super::`, `self::`, or beginning with a
//! name that the module imported or with a module in its own folder.

use std::collections::BTreeSet;

use syn::visit::{self, Visit};
use syn::{Item, ItemUse, Macro};

use crate::source::{SourceModule, is_test};

/// The path from the crate's root for `segments` in the module `at`; `None` if they begin with a
/// name and not with `crate`, `self` or `super`.
pub(crate) fn absolute_path(at: &[String], segments: &[String]) -> Option<Vec<String>> {
    let mut base = at.to_vec();
    let mut rest = segments;
    match rest.first()?.as_str() {
        "crate" => {
            base.clear();
            rest = &rest[1..];
        }
        "self" => rest = &rest[1..],
        "super" => {
            while rest.first().is_some_and(|segment| segment == "super") {
                base.pop();
                rest = &rest[1..];
            }
        }
        _ => return None,
    }
    base.extend_from_slice(rest);
    Some(base)
}

/// The paths that the items of the module `at` use. Its own modules are `children`.
pub(crate) fn used_paths(
    at: &[String],
    module: &SourceModule,
    items: &[Item],
    children: &[(String, Option<String>)],
) -> BTreeSet<Vec<String>> {
    let mut finder = PathFinder { at, module, children, used: BTreeSet::new() };
    for item in items {
        finder.visit_item(item);
    }
    finder.used
}

struct PathFinder<'a> {
    at: &'a [String],
    module: &'a SourceModule,
    children: &'a [(String, Option<String>)],
    used: BTreeSet<Vec<String>>,
}

impl PathFinder<'_> {
    fn note_path(&mut self, segments: &[String]) {
        if let Some(path) = absolute_path(self.at, segments) {
            self.used.insert(path);
            return;
        }
        let Some(first) = segments.first() else { return };
        if let Some(stands_for) = self.module.names.get(first) {
            let mut path = stands_for.clone();
            path.extend_from_slice(&segments[1..]);
            self.used.insert(path);
        } else if segments.len() > 1 && self.children.iter().any(|(name, _)| name == first) {
            let mut path = self.at.to_vec();
            path.extend_from_slice(segments);
            self.used.insert(path);
        }
    }

    /// Notes the paths in a macro's tokens, which are not parsed as code.
    fn note_tokens(&mut self, text: &str) {
        let mut segments: Vec<String> = Vec::new();
        let mut joined = false;
        for word in text.split_whitespace().flat_map(split_word) {
            if word == "::" {
                joined = true;
            } else if word.chars().all(|letter| letter.is_alphanumeric() || letter == '_') {
                if !joined {
                    self.note_path(&std::mem::take(&mut segments));
                }
                segments.push(word.to_owned());
                joined = false;
            } else {
                self.note_path(&std::mem::take(&mut segments));
                joined = false;
            }
        }
        self.note_path(&segments);
    }
}

/// The names and punctuation of `word`.
fn split_word(word: &str) -> Vec<&str> {
    let is_name = |letter: char| letter.is_alphanumeric() || letter == '_';
    let mut parts = Vec::new();
    let mut rest = word;
    while let Some(first) = rest.chars().next() {
        let end = if is_name(first) {
            rest.find(|letter| !is_name(letter)).unwrap_or(rest.len())
        } else if rest.starts_with("::") {
            2
        } else {
            first.len_utf8()
        };
        parts.push(&rest[..end]);
        rest = &rest[end..];
    }
    parts
}

impl<'ast> Visit<'ast> for PathFinder<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        let attributes = match item {
            Item::Mod(item) => &item.attrs,
            Item::Fn(item) => &item.attrs,
            Item::Impl(item) => &item.attrs,
            Item::Struct(item) => &item.attrs,
            Item::Const(item) => &item.attrs,
            Item::Use(item) => &item.attrs,
            _ => return visit::visit_item(self, item),
        };
        if !is_test(attributes) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if !is_test(&item.attrs) {
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_item_use(&mut self, _: &'ast ItemUse) {}

    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {}

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Vec<String> =
            path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.note_path(&segments);
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, item: &'ast Macro) {
        self.note_tokens(&item.tokens.to_string());
        visit::visit_macro(self, item);
    }
}
