//! Dependencies between modules.

use std::collections::BTreeSet;

use crate::source::CrateSources;

/// One module uses an item that another defines.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ModuleDependency {
    /// Path of the module that uses the item.
    pub from: Vec<String>,
    /// Path of the module that defines the item.
    pub to: Vec<String>,
    /// Name of the item.
    pub name: String,
}

/// Maximum number of re-exports between a name and its definition.
const MAX_RE_EXPORTS: usize = 16;

impl CrateSources {
    /// All dependencies, one for each used name.
    pub fn module_dependencies(&self) -> Vec<ModuleDependency> {
        let mut dependencies = BTreeSet::new();
        for (from, module) in &self.modules {
            for path in &module.used {
                if let Some((to, name)) = self.find_definition(path, MAX_RE_EXPORTS)
                    && to != *from
                {
                    dependencies.insert(ModuleDependency { from: from.clone(), to, name });
                }
            }
        }
        dependencies.into_iter().collect()
    }

    /// The module that defines the item of `path`, and its name there; `None` for a module itself
    /// and for items of other crates.
    fn find_definition(&self, path: &[String], left: usize) -> Option<(Vec<String>, String)> {
        let depth =
            (0..=path.len()).rev().find(|depth| self.modules.contains_key(&path[..*depth]))?;
        let (at, rest) = path.split_at(depth);
        let (name, after) = rest.split_first()?;
        let module = self.modules.get(at)?;
        if module.items.contains(name) {
            return Some((at.to_vec(), name.clone()));
        }
        let left = left.checked_sub(1)?;
        if let Some(stands_for) = module.names.get(name) {
            let mut path = stands_for.clone();
            path.extend_from_slice(after);
            return self.find_definition(&path, left);
        }
        module.globs.iter().find_map(|glob| {
            let mut path = glob.clone();
            path.extend_from_slice(rest);
            self.find_definition(&path, left)
        })
    }
}
