//! The modules of a crate: one for each file that its `mod` lines lead to.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use syn::{Attribute, Item, ItemMod, UseTree, Visibility};

use crate::paths;

/// Why the sources of a crate could not be read: the file, and what is wrong with it.
#[derive(Debug)]
pub struct Error {
    /// The file that is missing or cannot be parsed.
    pub file: PathBuf,
    /// What the system or the parser said.
    pub what: String,
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.file.display(), self.what)
    }
}

impl std::error::Error for Error {}

/// A module: one file of a crate, with the modules that are written inside it.
#[derive(Debug, Default)]
pub struct Module {
    /// Its file.
    pub file: PathBuf,
    /// Names that it defines.
    pub(crate) items: BTreeSet<String>,
    /// Names that it imports or re-exports, with what they stand for: a path from the crate's root.
    pub(crate) names: BTreeMap<String, Vec<String>>,
    /// Modules of which it imports or re-exports everything.
    pub(crate) globs: Vec<Vec<String>>,
    /// Paths of what it uses, from the crate's root.
    pub(crate) used: BTreeSet<Vec<String>>,
}

/// The modules of a crate, by their path from the crate's root, which itself is the empty path.
#[derive(Debug, Default)]
pub struct Crate {
    /// The modules.
    pub modules: BTreeMap<Vec<String>, Module>,
}

impl Crate {
    /// Reads the modules of the crate whose sources are in `src`.
    ///
    /// # Errors
    /// When a file is missing or cannot be parsed.
    pub fn read(src: &Path) -> Result<Crate, Error> {
        let root = ["lib.rs", "main.rs"].map(|name| src.join(name));
        let [library, program] = root;
        let file = if library.exists() { library } else { program };
        let mut house = Crate::default();
        house.module(Vec::new(), file, src.to_owned())?;
        Ok(house)
    }

    /// Reads the module `path`, which is in `file` and whose own modules are in `folder`.
    fn module(&mut self, path: Vec<String>, file: PathBuf, folder: PathBuf) -> Result<(), Error> {
        let failed = |what: String| Error { file: file.clone(), what };
        let text = std::fs::read_to_string(&file).map_err(|error| failed(error.to_string()))?;
        let parsed = syn::parse_file(&text).map_err(|error| failed(error.to_string()))?;
        let mut module = Module { file: file.clone(), ..Module::default() };
        let mut children = Vec::new();
        module.items(&path, &parsed.items, &mut children);
        module.used.extend(paths::used(&path, &module, &parsed.items, &children));
        self.modules.insert(path.clone(), module);
        for (name, at) in children {
            let below = folder.join(&name);
            let found = match at {
                Some(at) => file.parent().map(|parent| parent.join(at)).unwrap_or_default(),
                None => folder.join(format!("{name}.rs")),
            };
            let file = if found.exists() { found } else { below.join("mod.rs") };
            let mut child = path.clone();
            child.push(name);
            self.module(child, file, below)?;
        }
        Ok(())
    }
}

impl Module {
    /// Notes what `items` of the module `path` define and import, and the modules that are files
    /// of their own, with the file that a `path` attribute names.
    fn items(
        &mut self,
        path: &[String],
        items: &[Item],
        children: &mut Vec<(String, Option<String>)>,
    ) {
        for item in items {
            match item {
                Item::Mod(inner) if is_test(&inner.attrs) => {}
                Item::Mod(ItemMod { content: None, ident, attrs, .. }) => {
                    children.push((ident.to_string(), file_of(attrs)));
                }
                Item::Mod(ItemMod { content: Some((_, inner)), .. }) => {
                    self.items(path, inner, children);
                }
                Item::Use(tree) if !is_test(&tree.attrs) => {
                    let re_export = !matches!(tree.vis, Visibility::Inherited);
                    self.import(path, &mut Vec::new(), &tree.tree, re_export);
                }
                Item::Const(item) => self.define(&item.ident),
                Item::Enum(item) => self.define(&item.ident),
                Item::Fn(item) => self.define(&item.sig.ident),
                Item::Static(item) => self.define(&item.ident),
                Item::Struct(item) => self.define(&item.ident),
                Item::Trait(item) => self.define(&item.ident),
                Item::Type(item) => self.define(&item.ident),
                Item::Union(item) => self.define(&item.ident),
                Item::Macro(item) => {
                    if let Some(name) = &item.ident {
                        self.define(name);
                    }
                }
                _ => {}
            }
        }
    }

    fn define(&mut self, name: &syn::Ident) {
        self.items.insert(name.to_string());
    }

    /// Notes the names of an import in the module `path`, whose first segments are in `before`.
    fn import(
        &mut self,
        path: &[String],
        before: &mut Vec<String>,
        tree: &UseTree,
        re_export: bool,
    ) {
        match tree {
            UseTree::Path(part) => {
                before.push(part.ident.to_string());
                self.import(path, before, &part.tree, re_export);
                before.pop();
            }
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.import(path, before, tree, re_export);
                }
            }
            UseTree::Name(name) => self.name(path, before, &name.ident, &name.ident, re_export),
            UseTree::Rename(name) => self.name(path, before, &name.ident, &name.rename, re_export),
            UseTree::Glob(_) => {
                if let Some(from) = paths::absolute(path, before) {
                    self.globs.push(from);
                }
            }
        }
    }

    fn name(
        &mut self,
        path: &[String],
        before: &[String],
        name: &syn::Ident,
        called: &syn::Ident,
        re_export: bool,
    ) {
        let mut whole = before.to_vec();
        if name != "self" {
            whole.push(name.to_string());
        }
        let called = if called == "self" {
            whole.last().cloned().unwrap_or_default()
        } else {
            called.to_string()
        };
        // A path that begins with a module of this file's own folder is relative to it.
        let Some(from) = paths::absolute(path, &whole) else {
            if re_export || whole.len() > 1 {
                let mut own = path.to_vec();
                own.extend(whole);
                self.names.insert(called, own);
            }
            return;
        };
        if !re_export {
            self.used.insert(from.clone());
        }
        self.names.insert(called, from);
    }
}

/// Whether an item is compiled for tests only.
pub(crate) fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("test")
            || attribute.path().is_ident("cfg")
                && attribute.meta.require_list().is_ok_and(|list| {
                    let condition = list.tokens.to_string();
                    condition == "test"
                        || condition.starts_with("all (test")
                        || condition.starts_with("any (test")
                })
    })
}

/// The file that a `path` attribute names.
fn file_of(attributes: &[Attribute]) -> Option<String> {
    let named = attributes.iter().find(|attribute| attribute.path().is_ident("path"))?;
    let syn::Meta::NameValue(pair) = &named.meta else { return None };
    let syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) = &pair.value else {
        return None;
    };
    Some(text.value())
}
