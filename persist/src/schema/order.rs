//! Orders classes so that each follows those that its values contain.

use super::{ClassSchema, Form, KindSchema};
use crate::sorting::sort;

/// The classes of a save, each after those that every value of it holds.
///
/// # Errors
///
/// Returns the index of a class that holds itself.
pub fn inner_first(classes: &[ClassSchema]) -> Result<Vec<usize>, usize> {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        Open,
        Done,
    }
    let mut marks = vec![Mark::New; classes.len()];
    let mut order = Vec::with_capacity(classes.len());
    // An explicit stack: the classes are as many as the file says.
    let mut stack = Vec::new();
    for root in 0..classes.len() {
        stack.push((root, false));
        while let Some((class, leave)) = stack.pop() {
            if leave {
                marks[class] = Mark::Done;
                order.push(class);
                continue;
            }
            match marks[class] {
                Mark::Done => continue,
                Mark::Open => return Err(class),
                Mark::New => marks[class] = Mark::Open,
            }
            stack.push((class, true));
            let mut found = Vec::new();
            match &classes[class].form {
                Form::Struct(fields) => {
                    fields.iter().for_each(|field| held(&field.kind, &mut found));
                }
                Form::Value(kind) => held(kind, &mut found),
                // Ends with another variant.
                Form::Enum(_) => {}
            }
            // A class that is waiting twice is not open twice.
            sort(&mut found);
            found.dedup();
            stack.extend(found.into_iter().map(|class| (class, false)));
        }
    }
    Ok(order)
}

/// Adds the classes that every value of the kind holds.
fn held(kind: &KindSchema, found: &mut Vec<usize>) {
    match kind {
        KindSchema::Array(part, len) if *len > 0 => held(part, found),
        KindSchema::Tuple(parts) => parts.iter().for_each(|part| held(part, found)),
        KindSchema::Class(class) => found.push(*class),
        _ => {}
    }
}
