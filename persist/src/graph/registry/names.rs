//! Names in saves: each leads to one class.

use std::collections::HashMap;

use super::Registry;
use crate::reflect::Class;
use crate::{Error, ErrorKind, Result};

impl Registry {
    /// Refuses an alias that another class has too, as its name or as an alias of its own.
    ///
    /// The order in which the two were registered would decide which of them an old save means.
    pub(super) fn check_aliases(&self) -> Result<()> {
        let mut owners: HashMap<&str, &Class> = HashMap::new();
        for class in self.classes() {
            for alias in class.aliases {
                if let Some(other) = owners.insert(alias, class)
                    && !class.is_instance_with(other)
                {
                    return Err(two_owners(alias, class, &format!("an alias of {}", both(other))));
                }
            }
        }
        if owners.is_empty() {
            return Ok(());
        }
        for (schema, target) in self.program.classes.iter().zip(&self.program.targets) {
            let class = target.map(|target| target.class);
            // The alias of a generic class is one of all its instances.
            let generic = class.filter(|class| class.is_generic());
            let by_generic = generic.and_then(|class| owners.get_key_value(class.base_name()));
            let by_name = owners.get_key_value(&*schema.name);
            for (alias, owner) in by_name.into_iter().chain(by_generic) {
                let clashes = match class {
                    Some(class) if owner.is_instance_with(class) => false,
                    Some(class) => *alias == class.name() || owner.is_generic(),
                    None => true,
                };
                if clashes {
                    let other = class.map_or_else(|| String::from("a bare value"), both);
                    return Err(two_owners(alias, owner, &format!("the name of {other}")));
                }
            }
        }
        Ok(())
    }
}

/// The name of a class in saves and in the program.
fn both(class: &Class) -> String {
    format!("{} ({})", class.name(), class.type_name())
}

#[cold]
fn two_owners(alias: &str, class: &Class, other: &str) -> Error {
    Error::new(
        ErrorKind::DuplicateId,
        format!(
            "`{alias}` is an alias of {} and {other}, so that an old save could mean either; remove the alias from the class that never had that name",
            both(class)
        ),
    )
}
