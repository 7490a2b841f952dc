//! Frees what is kept: nobody but the library holds it, so that nobody else could cut its circles
//! or take its chains apart.

use std::any::Any;
use std::cell::RefCell;
use std::collections::HashMap;

use super::unknown::{Content, Kept, Piece, Unknown};
use crate::codec::Shared;

/// The cell of an object that is kept without a stand-in.
fn cell(object: &Shared) -> Option<&RefCell<Unknown>> {
    (object.object() as &dyn Any).downcast_ref()
}

impl Unknown {
    /// Shows the objects that it holds and that are kept, too.
    fn held(&self, show: &mut dyn FnMut(&Shared)) {
        for piece in &self.pieces {
            for part in piece.parts.borrow().iter() {
                if let Content::Reference { target: Some(Kept::Strong(target)), .. } = &part.content
                    && cell(target).is_some()
                {
                    show(target);
                }
            }
        }
    }
}

/// Drops what is kept, and frees the kept objects to which only such lead, circles too. The caller
/// holds each of `objects` once, and frees them afterwards.
pub(crate) fn free_kept(roots: Vec<Unknown>, objects: &[&Shared]) {
    let mut found: Vec<Shared> = Vec::new();
    let mut places: HashMap<usize, usize> = HashMap::new();
    // How many of the pointers to each are known: that in the list is one.
    let mut known: Vec<usize> = Vec::new();
    let mut enter = |object: &Shared, known: &mut Vec<usize>, found: &mut Vec<Shared>| {
        *places.entry(object.address()).or_insert_with(|| {
            found.push(object.clone());
            known.push(1);
            found.len() - 1
        })
    };
    for object in objects.iter().filter(|object| cell(object).is_some()) {
        let place = enter(object, &mut known, &mut found);
        known[place] += 1;
    }
    for root in &roots {
        root.held(&mut |object| {
            enter(object, &mut known, &mut found);
        });
    }
    let mut edges: Vec<Vec<usize>> = Vec::new();
    while let Some(object) = found.get(edges.len()).cloned() {
        let mut targets = Vec::new();
        if let Some(Ok(unknown)) = cell(&object).map(RefCell::try_borrow) {
            unknown.held(&mut |target| {
                let place = enter(target, &mut known, &mut found);
                known[place] += 1;
                targets.push(place);
            });
        }
        edges.push(targets);
    }
    drop(roots);
    // What somebody else holds stays, and what that holds.
    let mut stays: Vec<bool> =
        found.iter().zip(&known).map(|(object, known)| object.strong_count() > *known).collect();
    let mut work: Vec<usize> = (0..found.len()).filter(|place| stays[*place]).collect();
    while let Some(place) = work.pop() {
        for target in &edges[place] {
            if !std::mem::replace(&mut stays[*target], true) {
                work.push(*target);
            }
        }
    }
    let gone = found.iter().zip(&stays).filter(|(_, stays)| !**stays);
    let contents: Vec<Unknown> = gone
        .filter_map(|(object, _)| {
            let mut unknown = cell(object)?.try_borrow_mut().ok()?;
            Some(std::mem::take(&mut *unknown))
        })
        .collect();
    drop(contents);
}

/// Objects that only this holds are freed one by one, a long chain of them too.
impl Drop for Piece {
    fn drop(&mut self) {
        let mut parts = std::mem::take(self.parts.get_mut());
        while let Some(part) = parts.pop() {
            if let Content::Reference { target: Some(Kept::Strong(target)), .. } = part.content
                && target.strong_count() == 1
                && let Some(Ok(mut unknown)) = cell(&target).map(RefCell::try_borrow_mut)
            {
                for piece in &mut unknown.pieces {
                    parts.append(piece.parts.get_mut());
                }
            }
        }
    }
}
