//! What of the values of a version the program reads, and where classes become others than elsewhere.

use super::Changes;
use super::fields::pairs;
use crate::graph::Registry;
use crate::lock::sample::Reads;
use crate::lock::section::address;
use crate::schema::{FieldSchema, Form, KindSchema, find_variant};

impl Changes<'_> {
    /// What samples must show. `resolved` are the classes that a load finds, and the registry has those of worlds as
    /// objects.
    pub(super) fn reads(&self, resolved: &[Option<usize>], registry: &Registry) -> Reads {
        let (section, program) = (self.section, self.program);
        let now: Vec<_> = registry.object_types().collect();
        let mut reads = Reads::default();
        for (object, (class, holder)) in section.objects.iter().enumerate() {
            if !resolved[*class].is_some_and(|target| now.contains(&(target, *holder))) {
                reads.unknown.insert(object);
            }
        }
        for (class, target) in resolved.iter().enumerate() {
            let Some(target) = *target else { continue };
            let (old, new) = (&section.classes[class], &program.classes[target]);
            let described = program.targets[target];
            for pair in pairs(old, new, (target, described)) {
                for (i, field) in pair.old.iter().enumerate() {
                    let mut news = (0..pair.new.len()).filter(|new| pair.source(*new) == Some(i));
                    let at = address(&field.kind);
                    match news.next() {
                        Some(new) if pair.records[new].convert.is_some() => reads.apart.insert(at),
                        Some(new) if self.is_one(resolved, field, &pair.new[new]) => continue,
                        Some(_) => reads.apart.insert(at),
                        // A migration may put it anywhere.
                        None if self.migrated[class] => reads.apart.insert(at),
                        None => reads.unread.insert(at),
                    };
                }
            }
            if let (Form::Enum(variants), Some(records), false) =
                (&old.form, described, self.migrated[class])
            {
                let is_gone = |name: &str| find_variant(name, records.class.variants()).is_none();
                let gone = variants.iter().filter(|variant| is_gone(&variant.name));
                let fields = gone.flat_map(|variant| &variant.fields);
                reads.unread.extend(fields.map(|field| address(&field.kind)));
            }
        }
        reads
    }

    /// True if all classes that a field holds by value become those that they are by name.
    fn is_one(&self, resolved: &[Option<usize>], old: &FieldSchema, new: &FieldSchema) -> bool {
        let mut wanted = classes(&new.kind);
        classes(&old.kind).into_iter().all(|class| {
            let found = wanted.iter().position(|wanted| resolved[class] == Some(*wanted));
            found.map(|found| wanted.swap_remove(found)).is_some()
        })
    }
}

fn classes(kind: &KindSchema) -> Vec<usize> {
    let mut classes = Vec::new();
    kind.visit(&mut |kind| {
        if let KindSchema::Class(class) = kind {
            classes.push(*class);
        }
    });
    classes
}
