//! The inspector: its state, and where it begins.

use std::sync::{Arc, Mutex, PoisonError};

use egui::Ui;
use persist::codec::Reflect;
use persist::world::Prefab;
use persist::{ObjectId, World};

use crate::Edited;

/// An inspector with its state: what is selected, searched for and open.
///
/// [`inspect`] keeps one in egui's memory. Keep one yourself where other views share the selection.
#[derive(Default)]
pub struct Inspector {
    selected: Option<ObjectId>,
    error: Option<String>,
    prefabs: Vec<(String, Prefab)>,
}

impl Inspector {
    /// Shows the objects of a world, and the components of the one that is selected.
    pub fn show(&mut self, ui: &mut Ui, session: &mut impl Edited<Target = World>) {
        let _ = (ui, session);
    }

    /// Shows a value that is no world.
    pub fn show_value<T: Reflect>(&mut self, ui: &mut Ui, session: &mut impl Edited<Target = T>) {
        let _ = (ui, session);
    }

    /// The object that is selected; it may be gone.
    #[must_use]
    pub fn selected(&self) -> Option<ObjectId> {
        self.selected
    }

    /// Selects an object, and scrolls to it, or none.
    pub fn select(&mut self, object: Option<ObjectId>) {
        self.selected = object;
    }

    /// Why the last edit was refused, until the user or another edit takes the message away.
    #[must_use]
    pub fn error(&self) -> Option<&str> {
        self.error.as_deref()
    }

    /// Adds a prefab to those that the user can place.
    pub fn add_prefab(&mut self, name: impl Into<String>, prefab: Prefab) {
        self.prefabs.push((name.into(), prefab));
    }

    /// The prefabs that the user can place: those that were added, and copies of objects.
    #[must_use]
    pub fn prefabs(&self) -> &[(String, Prefab)] {
        &self.prefabs
    }
}

/// Shows a world: objects, components and fields, with undo. The state is in egui's memory.
pub fn inspect(ui: &mut Ui, session: &mut impl Edited<Target = World>) {
    with_state(ui, |inspector, ui| inspector.show(ui, session));
}

/// Shows a value that is no world: its fields, with undo. The state is in egui's memory.
pub fn inspect_value<T: Reflect>(ui: &mut Ui, session: &mut impl Edited<Target = T>) {
    with_state(ui, |inspector, ui| inspector.show_value(ui, session));
}

fn with_state(ui: &mut Ui, show: impl FnOnce(&mut Inspector, &mut Ui)) {
    let id = ui.make_persistent_id("persist-egui");
    let state =
        ui.data_mut(|data| Arc::clone(data.get_temp_mut_or_default::<Arc<Mutex<Inspector>>>(id)));
    let mut inspector = state.lock().unwrap_or_else(PoisonError::into_inner);
    ui.push_id("persist-egui", |ui| show(&mut inspector, ui));
}
