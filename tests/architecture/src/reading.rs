//! Reads a crate: from its root, each file that a `mod` line refers to.

use std::path::{Path, PathBuf};

use syn::{Attribute, Item, ItemMod, UseTree, Visibility};

use crate::paths;
use crate::source::{CrateSources, SourceError, SourceModule, is_test};

impl CrateSources {
    /// Reads the modules of the crate with its sources in `src`.
    ///
    /// # Errors
    /// When a file is missing or cannot be parsed.
    pub fn read_crate(src: &Path) -> Result<CrateSources, SourceError> {
        let root = ["lib.rs", "main.rs"].map(|name| src.join(name));
        let [library, program] = root;
        let file = if library.exists() { library } else { program };
        let mut sources = CrateSources::default();
        sources.read_module(Vec::new(), file, src.to_owned())?;
        Ok(sources)
    }

    /// Reads the module `path`, which is in `file` and has its own modules in `folder`.
    fn read_module(
        &mut self,
        path: Vec<String>,
        file: PathBuf,
        folder: PathBuf,
    ) -> Result<(), SourceError> {
        let failed = |what: String| SourceError { file: file.clone(), what };
        let text = std::fs::read_to_string(&file).map_err(|error| failed(error.to_string()))?;
        let parsed = syn::parse_file(&text).map_err(|error| failed(error.to_string()))?;
        let mut module = SourceModule { file: file.clone(), ..SourceModule::default() };
        let mut children = Vec::new();
        module.note_items(&path, &parsed.items, &mut children);
        module.used.extend(paths::used_paths(&path, &module, &parsed.items, &children));
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
            self.read_module(child, file, below)?;
        }
        Ok(())
    }
}

impl SourceModule {
    /// Notes what `items` of the module `path` define and import, and the modules in files of their
    /// own, with the file that a `path` attribute names.
    fn note_items(
        &mut self,
        path: &[String],
        items: &[Item],
        children: &mut Vec<(String, Option<String>)>,
    ) {
        for item in items {
            match item {
                Item::Mod(inner) if is_test(&inner.attrs) => {}
                Item::Mod(ItemMod { content: None, ident, attrs, .. }) => {
                    children.push((ident.to_string(), path_attribute(attrs)));
                }
                Item::Mod(ItemMod { content: Some((_, inner)), .. }) => {
                    self.note_items(path, inner, children);
                }
                Item::Use(tree) if !is_test(&tree.attrs) => {
                    let re_export = !matches!(tree.vis, Visibility::Inherited);
                    self.add_import(path, &mut Vec::new(), &tree.tree, re_export);
                }
                Item::Const(item) => self.add_definition(&item.ident),
                Item::Enum(item) => self.add_definition(&item.ident),
                Item::Fn(item) => self.add_definition(&item.sig.ident),
                Item::Static(item) => self.add_definition(&item.ident),
                Item::Struct(item) => self.add_definition(&item.ident),
                Item::Trait(item) => self.add_definition(&item.ident),
                Item::Type(item) => self.add_definition(&item.ident),
                Item::Union(item) => self.add_definition(&item.ident),
                Item::Macro(item) => {
                    if let Some(name) = &item.ident {
                        self.add_definition(name);
                    }
                }
                _ => {}
            }
        }
    }

    fn add_definition(&mut self, name: &syn::Ident) {
        self.items.insert(name.to_string());
    }

    /// Notes the names of an import in the module `path`; its first segments are in `before`.
    fn add_import(
        &mut self,
        path: &[String],
        before: &mut Vec<String>,
        tree: &UseTree,
        re_export: bool,
    ) {
        match tree {
            UseTree::Path(part) => {
                before.push(part.ident.to_string());
                self.add_import(path, before, &part.tree, re_export);
                before.pop();
            }
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.add_import(path, before, tree, re_export);
                }
            }
            UseTree::Name(name) => {
                self.add_imported_name(path, before, &name.ident, &name.ident, re_export)
            }
            UseTree::Rename(name) => {
                self.add_imported_name(path, before, &name.ident, &name.rename, re_export)
            }
            UseTree::Glob(_) => {
                let own = || [path, before].concat();
                self.globs.push(paths::absolute_path(path, before).unwrap_or_else(own));
            }
        }
    }

    fn add_imported_name(
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
        // A path that begins with none of `crate`, `self` and `super` may begin with a module of
        // this file's own folder. A path of another crate resolves to nothing.
        let from = paths::absolute_path(path, &whole).unwrap_or_else(|| [path, &whole].concat());
        if !re_export {
            self.used.insert(from.clone());
        }
        self.names.insert(called, from);
    }
}

/// The file that a `path` attribute names.
fn path_attribute(attributes: &[Attribute]) -> Option<String> {
    let named = attributes.iter().find(|attribute| attribute.path().is_ident("path"))?;
    let syn::Meta::NameValue(pair) = &named.meta else { return None };
    let syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) = &pair.value else {
        return None;
    };
    Some(text.value())
}
