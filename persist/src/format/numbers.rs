use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::definition;
use crate::reflect::{ClassId, Holder};
use crate::schema::{ClassSchema, KindSchema, Program, Stored, is_same_class};

/// The numbers of the classes in a save that is being written.
#[derive(Default)]
pub(crate) struct ClassNumbers {
    /// By index of the program's class; 0 where it has none yet.
    own: Vec<u64>,
    /// Numbers of classes that were kept from other saves, by the address of the schema and
    /// the index.
    foreign: HashMap<(usize, usize), u64>,
    /// Numbers of the classes that references of kept values lead to, where the objects are the
    /// program's.
    targets: HashMap<(usize, usize, Holder), u64>,
    /// Holds on to those schemas, whose addresses are taken.
    schemas: Vec<Rc<Stored>>,
    ids: HashSet<ClassId>,
    /// Classes with a number whose definition is not written yet, in order.
    fresh: Vec<Fresh>,
    last: u64,
}

enum Fresh {
    Own(ClassSchema),
    /// With the id that it has in this save.
    Foreign(Rc<Stored>, usize, ClassId),
}

impl ClassNumbers {
    /// The number of a class of the program; a new one for it and for all it mentions.
    pub(crate) fn number(&mut self, class: usize, classes: &[ClassSchema]) -> u64 {
        if self.own.len() < classes.len() {
            self.own.resize(classes.len(), 0);
        }
        let mut next = vec![class];
        let mut at = 0;
        while let Some(&class) = next.get(at) {
            at += 1;
            if self.own[class] == 0 {
                self.last += 1;
                self.own[class] = self.last;
                self.ids.insert(classes[class].id);
                self.fresh.push(Fresh::Own(classes[class].clone()));
                for kind in classes[class].kinds() {
                    let mut targets = Vec::new();
                    mentioned(kind, &mut next, &mut targets);
                    next.extend(targets.into_iter().map(|(target, _)| target));
                }
            }
        }
        self.own[class]
    }

    /// The number of a class that was kept from another save: that of the program's
    /// class if it is the same, else a new one.
    pub(crate) fn foreign(&mut self, schema: &Rc<Stored>, class: usize, program: &Program) -> u64 {
        let classes = &program.classes[..];
        let address = Rc::as_ptr(schema).addr();
        let mut next = vec![class];
        let mut at = 0;
        while let Some(&class) = next.get(at) {
            at += 1;
            if self.foreign.contains_key(&(address, class)) {
                continue;
            }
            if !self.schemas.iter().any(|known| Rc::ptr_eq(known, schema)) {
                self.schemas.push(schema.clone());
            }
            let Some(stored) = schema.schema(class) else { continue };
            let own = classes.iter().position(|own| own.id == stored.id);
            let is_whole = class < schema.len();
            if let Some(own) =
                own.filter(|own| is_whole && is_same_class((schema, class), (classes, *own)))
            {
                let number = self.number(own, classes);
                self.foreign.insert((address, class), number);
                continue;
            }
            let is_free = |id: &ClassId| {
                !self.ids.contains(id) && own.is_none_or(|own| classes[own].id != *id)
            };
            // A class of the same name and another form; a load finds it by its name.
            let others = (1_u32..).map(|i| ClassId::of(&format!("{}#{i}", stored.name)));
            let id = std::iter::once(stored.id).chain(others).find(is_free).unwrap_or(stored.id);
            self.last += 1;
            self.foreign.insert((address, class), self.last);
            self.ids.insert(id);
            self.fresh.push(Fresh::Foreign(schema.clone(), class, id));
            for kind in stored.kinds() {
                let mut targets = Vec::new();
                mentioned(kind, &mut next, &mut targets);
                for (target, holder) in targets {
                    // The load says which objects are in the program's form.
                    match program.find(&schema[target]).filter(|_| schema.is_made(target, holder)) {
                        Some(own) => {
                            let number = self.number(own, classes);
                            self.targets.insert((address, target, holder), number);
                        }
                        None => next.push(target),
                    }
                }
            }
        }
        self.foreign.get(&(address, class)).copied().unwrap_or(0)
    }

    /// The names and bodies of the definitions that are missing, in order.
    pub(super) fn definitions(&mut self) -> Vec<(String, Vec<u8>)> {
        let fresh = std::mem::take(&mut self.fresh);
        let mut written = Vec::new();
        for fresh in fresh {
            let mut body = Vec::new();
            let name = match fresh {
                Fresh::Own(class) => {
                    definition::write(&class, &|class, _| self.own[class], &mut body);
                    class.name
                }
                Fresh::Foreign(schema, class, id) => {
                    let address = Rc::as_ptr(&schema).addr();
                    let number = |class, holder: Option<Holder>| {
                        let own = holder.and_then(|of| self.targets.get(&(address, class, of)));
                        own.or_else(|| self.foreign.get(&(address, class))).copied().unwrap_or(0)
                    };
                    let Some(class) = schema.schema(class) else { continue };
                    let class = ClassSchema { id, ..class.into_owned() };
                    definition::write(&class, &number, &mut body);
                    class.name
                }
            };
            written.push((name, body));
        }
        written
    }
}

/// Adds the classes that a kind mentions by value, and those that it refers to.
fn mentioned(kind: &KindSchema, found: &mut Vec<usize>, targets: &mut Vec<(usize, Holder)>) {
    kind.visit(&mut |kind| match kind {
        KindSchema::Class(class) => found.push(*class),
        KindSchema::Reference { class, holder, .. } => targets.push((*class, *holder)),
        _ => {}
    });
}
