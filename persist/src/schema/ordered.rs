//! Classes that differ from the program's in nothing but the order of fields and variants: their
//! records need not be rewritten.

use std::rc::Rc;

use super::matching::{Holders, find_variant, is_older, sources};
use super::plan::Plans;
use super::{FieldSchema, Form, KindSchema};
use crate::codec::{Order, OrderNode, OrderedVariant, SAME};
use crate::reflect::FieldRecord;

/// The order in the records of each class of a save, and in all that is in them.
pub(crate) struct Orders {
    nodes: Vec<OrderNode>,
    /// The node of each class; `None` if its records differ in more than their order.
    of: Vec<Option<usize>>,
}

impl Orders {
    pub(crate) fn order(&self, class: usize) -> Option<Order<'_>> {
        self.of[class].map(|at| Order::new(&self.nodes, at))
    }

    fn new(plans: &Plans<'_>) -> Self {
        let classes = plans.stored.len();
        let nodes = (0..=classes).map(|_| OrderNode::Same).collect();
        let mut making = Making { plans, nodes };
        let mut of = Vec::with_capacity(classes);
        for class in 0..classes {
            of.push(making.class(class));
        }
        let mut holders = Holders::new(&plans.stored);
        let mut unfit: Vec<usize> = (0..classes).filter(|class| of[*class].is_none()).collect();
        while let Some(class) = unfit.pop() {
            for holder in std::mem::take(&mut holders.of[class]) {
                if of[holder].take().is_some() {
                    unfit.push(holder);
                }
            }
        }
        Self { nodes: making.nodes, of }
    }
}

impl Plans<'_> {
    /// The order in the records of each class, if those of this one differ in nothing else.
    pub(crate) fn orders(&mut self, class: usize) -> Option<Rc<Orders>> {
        if self.rewritten[class] {
            return None;
        }
        let orders = match &self.orders {
            Some(orders) => orders.clone(),
            None => self.orders.insert(Rc::new(Orders::new(self))).clone(),
        };
        orders.of[class].is_some().then_some(orders)
    }

    /// Notes that a type in the records of a class cannot be read in another order.
    pub(crate) fn rewrite_always(&mut self, class: usize) {
        self.rewritten[class] = true;
    }
}

struct Making<'a, 'p> {
    plans: &'a Plans<'p>,
    /// One for each class, behind the first; then those of parts.
    nodes: Vec<OrderNode>,
}

impl Making<'_, '_> {
    /// The node of a class.
    fn place(&self, class: usize) -> usize {
        if self.plans.is_identical(class) { SAME } else { 1 + class }
    }

    fn add(&mut self, node: OrderNode) -> usize {
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    /// Works out the node of a class; `None` if it differs in more than its order.
    fn class(&mut self, class: usize) -> Option<usize> {
        let plans = self.plans;
        let program = plans.program;
        let stored = &plans.stored[class];
        let target = plans.resolve(class)?;
        let compiled = &program.classes[target];
        let known = program.targets[target].map(|target| target.class);
        if let Some(known) = known {
            let is_other = stored.version > known.version || is_older(stored.version, known);
            if is_other {
                return None;
            }
        }
        let node = match (&stored.form, &compiled.form, known) {
            (Form::Struct(old), Form::Struct(new), Some(known)) => {
                self.fields((target, 0), old, new, known.fields()).map(OrderNode::Fields)?
            }
            (Form::Enum(old), Form::Enum(new), Some(known)) => {
                let width = stored.form.tag_width();
                if width != compiled.form.tag_width() {
                    return None;
                }
                let variants = old.iter().map(|old| {
                    let variant = find_variant(&old.name, known.variants())?;
                    let records = known.variants()[variant].fields;
                    let new = &new[variant].fields;
                    let fields = self.fields((target, variant), &old.fields, new, records)?;
                    let is_same = fields.iter().enumerate().all(|(i, found)| *found == (i, SAME));
                    let fields = Some(fields).filter(|_| !is_same);
                    Some(OrderedVariant { variant, fields })
                });
                let variants = variants.collect::<Option<_>>()?;
                OrderNode::Variants { width, variants }
            }
            (Form::Value(old), Form::Value(new), _) => return self.kind(old, new),
            _ => return None,
        };
        let at = self.place(class);
        if at != SAME {
            self.nodes[at] = node;
        }
        Some(at)
    }

    /// The program's fields in stored order, each with its node, if all are the same.
    fn fields(
        &mut self,
        (class, variant): (usize, usize),
        old: &[FieldSchema],
        new: &[FieldSchema],
        records: &[FieldRecord],
    ) -> Option<Vec<(usize, usize)>> {
        if old.len() != new.len() {
            return None;
        }
        let mut fields = vec![(0, SAME); old.len()];
        for (field, source) in sources(old, new, records).into_iter().enumerate() {
            let source = source?;
            if self.plans.program.old_kinds.contains_key(&(class, variant, field)) {
                return None;
            }
            fields[source] = (field, self.kind(&old[source].kind, &new[field].kind)?);
        }
        Some(fields)
    }

    /// The node of a kind, if it differs at most in the order in classes inside.
    fn kind(&mut self, old: &KindSchema, new: &KindSchema) -> Option<usize> {
        let node = match (old, new) {
            (KindSchema::Option(old), KindSchema::Option(new))
            | (KindSchema::List(old), KindSchema::List(new)) => {
                OrderNode::Each(self.kind(old, new)?)
            }
            (KindSchema::Array(old, length), KindSchema::Array(new, wanted))
                if length == wanted =>
            {
                OrderNode::Each(self.kind(old, new)?)
            }
            (KindSchema::Set(old), KindSchema::Set(new)) => {
                // Its elements stand in the order of their bytes.
                return (self.kind(old, new)? == SAME).then_some(SAME);
            }
            (KindSchema::Map(old), KindSchema::Map(new)) => {
                OrderNode::Parts(vec![self.kind(&old.0, &new.0)?, self.kind(&old.1, &new.1)?])
            }
            (KindSchema::Tuple(old), KindSchema::Tuple(new)) if old.len() == new.len() => {
                let parts = old.iter().zip(new).map(|(old, new)| self.kind(old, new));
                OrderNode::Parts(parts.collect::<Option<_>>()?)
            }
            (KindSchema::Class(old), KindSchema::Class(new))
                if self.plans.resolve(*old) == Some(*new) =>
            {
                return Some(self.place(*old));
            }
            // References and what is kept are entered where records are rewritten or decoded
            // once; a read that fails here is tried again there.
            (
                KindSchema::Reference { .. }
                | KindSchema::TraitReference { .. }
                | KindSchema::Dynamic(_)
                | KindSchema::Handle(_)
                | KindSchema::Unknown,
                _,
            ) => return None,
            (old, new) if old == new => return Some(SAME),
            _ => return None,
        };
        let is_same = match &node {
            OrderNode::Each(at) => *at == SAME,
            OrderNode::Parts(parts) => parts.iter().all(|at| *at == SAME),
            _ => false,
        };
        Some(if is_same { SAME } else { self.add(node) })
    }
}
