//! Shows lists, arrays, tuples, sets and maps, whose elements can be inserted, removed and moved.

use egui::{Align, DragValue, Layout, Ui, Vec2};
use persist::Value;
use persist::reflect::{EditorHints, Kind};
use persist::save::Registry;

use crate::button;
use crate::empty::{empty, empty_variant};
use crate::field::{ElementEdit, FieldsUi, NO_HINTS, Part};

/// The number of elements that are shown at a time.
const PAGE: usize = 50;

/// Returns a layout with buttons on the right. On the left, they would indent nested elements further at each level.
fn buttons_right() -> Layout {
    Layout::right_to_left(Align::TOP)
}

impl FieldsUi<'_> {
    /// Shows the number of elements of a collection, and a button that inserts one; returns true if it was clicked.
    pub(crate) fn list_controls(&mut self, ui: &mut Ui, part: &mut Part<'_>) -> bool {
        let len = match &*part.value {
            Value::Map(entries) => entries.len(),
            Value::Bytes(bytes) => bytes.len(),
            value => value.as_seq().map_or(0, <[_]>::len),
        };
        ui.weak(format!("({len})"));
        let insert = button::sign(ui, "+", &format!("Insert into {}", part.label));
        insert.clicked() && self.insert(ui, part, len)
    }

    /// Inserts an element at the end; returns false if there is none to insert.
    fn insert(&mut self, ui: &Ui, part: &mut Part<'_>, len: usize) -> bool {
        match part.kind {
            Kind::List(element) => {
                let Some(new) = empty(element(), self.registry, 0) else { return false };
                spread(part.value);
                if let Value::Seq(elements) = &mut *part.value {
                    elements.push(new.clone());
                }
                self.edit_element(ui, part, ElementEdit::Insert(len, new));
                let other = empty(element(), self.registry, 1).map(|other| {
                    let mut value = part.value.clone();
                    if let Value::Seq(elements) = &mut value {
                        elements.pop();
                        elements.push(other.clone());
                    }
                    (value, Some(other))
                });
                self.or_else(other)
            }
            Kind::Set(element) => {
                spread(part.value);
                let Value::Seq(elements) = &mut *part.value else { return false };
                let new = unused(element(), self.registry, |key| elements.contains(key));
                let Some(new) = new else { return self.refuse_insert(part) };
                elements.push(new);
                self.set_as(ui, part, "Insert into")
            }
            Kind::Map(key, value) => {
                let value = empty(value(), self.registry, 0);
                let Value::Map(entries) = &mut *part.value else { return false };
                let is_used = |key: &Value| entries.iter().any(|(other, _)| other == key);
                let key = unused(key(), self.registry, is_used);
                let (Some(key), Some(value)) = (key, value) else {
                    return self.refuse_insert(part);
                };
                entries.push((key, value));
                self.set_as(ui, part, "Insert into")
            }
            _ => false,
        }
    }

    fn refuse_insert(&mut self, part: &Part<'_>) -> bool {
        self.refused = Some(format!("there is no other value to insert into {}", part.label));
        false
    }

    /// Shows the elements of a list, an array or a tuple; returns true if the user changed them.
    pub(crate) fn list(&mut self, ui: &mut Ui, part: &mut Part<'_>) -> bool {
        spread(part.value);
        let len = part.value.as_seq().map_or(0, <[_]>::len);
        let is_list = matches!(part.kind, Kind::List(_));
        let mut edit = None;
        let mut is_changed = false;
        for at in page(ui, len) {
            let kind = match part.kind {
                Kind::List(element) | Kind::Array(element, _) => element(),
                Kind::Tuple(parts) => parts.get(at).map_or(Kind::Unit, |part| part()),
                _ => return false,
            };
            let path = part.path.clone().at(at as u64);
            let (Value::Seq(elements) | Value::Tuple(elements)) = &mut *part.value else { break };
            let Some(value) = elements.get_mut(at) else { break };
            let label = format!("[{at}]");
            let hints = element_hints(part.hints);
            let mut element = Part { label: &label, hints: &hints, kind, value, path: &path };
            if is_list {
                ui.with_layout(buttons_right(), |ui| {
                    edit = element_buttons(ui, at, len).or(edit.take());
                    ui.vertical(|ui| is_changed |= self.part(ui, &mut element));
                });
            } else {
                is_changed |= self.part(ui, &mut element);
            }
        }
        match edit {
            None => is_changed,
            Some(edit) => {
                if let Value::Seq(elements) = &mut *part.value {
                    match edit {
                        ElementEdit::Remove(at) if at < elements.len() => drop(elements.remove(at)),
                        ElementEdit::Move(from, to) if from.max(to) < elements.len() => {
                            let element = elements.remove(from);
                            elements.insert(to, element);
                        }
                        _ => return is_changed,
                    }
                }
                self.edit_element(ui, part, edit)
            }
        }
    }

    /// Shows the elements of a set, which is set as a whole; returns true if the user changed them.
    pub(crate) fn elements_of_set(&mut self, ui: &mut Ui, part: &mut Part<'_>) -> bool {
        let Kind::Set(kind) = part.kind else { return false };
        spread(part.value);
        let len = part.value.as_seq().map_or(0, <[_]>::len);
        let (mut removed, mut is_changed) = (None, false);
        for at in page(ui, len) {
            let path = part.path.clone().at(at as u64);
            let Value::Seq(elements) = &mut *part.value else { break };
            let Some(value) = elements.get_mut(at) else { break };
            let label = format!("[{at}]");
            let hints = element_hints(part.hints);
            let mut element =
                Part { label: &label, hints: &hints, kind: kind(), value, path: &path };
            ui.with_layout(buttons_right(), |ui| {
                if remove_button(ui, &label) {
                    removed = Some(at);
                }
                ui.vertical(|ui| is_changed |= self.moving(ui, &mut element));
            });
        }
        if let (Some(at), Value::Seq(elements)) = (removed, &mut *part.value) {
            elements.remove(at);
            return self.set_as(ui, part, "Remove from");
        }
        if is_changed {
            self.widen(part);
        }
        is_changed
    }

    /// Shows a part that a change may move to another position, such as an element of a set.
    fn moving(&mut self, ui: &mut Ui, part: &mut Part<'_>) -> bool {
        let was_moving = std::mem::replace(&mut self.is_moving, true);
        let is_changed = self.part(ui, part);
        self.is_moving = was_moving;
        is_changed
    }

    /// Shows the entries of a map; returns true if the user changed them.
    ///
    /// A new key sets the whole map. A new value is set alone if its key can be in a path.
    pub(crate) fn entries(
        &mut self,
        ui: &mut Ui,
        part: &mut Part<'_>,
        (key_kind, value_kind): (Kind, Kind),
    ) -> bool {
        let Value::Map(entries) = &*part.value else { return false };
        let len = entries.len();
        let (mut removed, mut is_changed) = (None, false);
        for at in page(ui, len) {
            let Value::Map(entries) = &mut *part.value else { break };
            let Some((key, value)) = entries.get_mut(at) else { break };
            let own_path = is_plain_key(key).then(|| part.path.clone().at(key.clone()));
            let label = format!("[{key:.1}]");
            ui.with_layout(buttons_right(), |ui| {
                if remove_button(ui, &label) {
                    removed = Some(at);
                }
                ui.vertical(|ui| {
                    // The path has the index, not the key, so that the field keeps the focus while the key changes.
                    let path = part.path.clone().field("key").at(at as u64);
                    let mut key = Part {
                        label: "key",
                        hints: NO_HINTS,
                        kind: key_kind,
                        value: key,
                        path: &path,
                    };
                    let is_other_key = self.moving(ui, &mut key);
                    let hints = element_hints(part.hints);
                    let path = own_path.clone().unwrap_or_else(|| part.path.clone().at(at as u64));
                    let mut value =
                        Part { label: &label, hints: &hints, kind: value_kind, value, path: &path };
                    let is_other_value = self.part(ui, &mut value);
                    if is_other_key || is_other_value && own_path.is_none() {
                        self.widens = true;
                    }
                    is_changed |= is_other_key | is_other_value;
                });
            });
        }
        if let (Some(at), Value::Map(entries)) = (removed, &mut *part.value) {
            entries.remove(at);
            return self.set_as(ui, part, "Remove from");
        }
        if std::mem::take(&mut self.widens) {
            self.widen(part);
        }
        is_changed
    }
}

/// Returns the hints of a list that also apply to its elements.
fn element_hints(hints: &EditorHints) -> EditorHints {
    let mut shared = *hints;
    (shared.label, shared.help) = (None, None);
    shared
}

/// Returns the range of elements to show, and shows the controls that lead to the others.
fn page(ui: &mut Ui, len: usize) -> std::ops::Range<usize> {
    if len <= PAGE {
        return 0..len;
    }
    let id = ui.make_persistent_id("page");
    let mut first = ui.data(|data| data.get_temp::<usize>(id)).unwrap_or(0).min(len - 1);
    ui.horizontal(|ui| {
        if button::arrow(ui, Vec2::LEFT, "The elements before", first > 0).clicked() {
            first = first.saturating_sub(PAGE);
        }
        let has_more = first + PAGE < len;
        if button::arrow(ui, Vec2::RIGHT, "The elements after", has_more).clicked() {
            first += PAGE;
        }
        ui.add(DragValue::new(&mut first).range(0..=len - 1).prefix("from "));
        ui.weak(format!("of {len}"));
    });
    ui.data_mut(|data| data.insert_temp(id, first));
    first..len.min(first + PAGE)
}

/// Shows the buttons that move and remove an element of a list, from right to left.
fn element_buttons(ui: &mut Ui, at: usize, len: usize) -> Option<ElementEdit> {
    let mut edit = None;
    if remove_button(ui, &format!("[{at}]")) {
        edit = Some(ElementEdit::Remove(at));
    }
    if button::arrow(ui, Vec2::DOWN, &format!("Move [{at}] down"), at + 1 < len).clicked() {
        edit = Some(ElementEdit::Move(at, at + 1));
    }
    if button::arrow(ui, Vec2::UP, &format!("Move [{at}] up"), at > 0).clicked() {
        edit = Some(ElementEdit::Move(at, at - 1));
    }
    edit
}

fn remove_button(ui: &mut Ui, label: &str) -> bool {
    button::remove(ui, &format!("Remove {label}"))
}

/// Converts bytes to a sequence, so that each is shown as an element.
fn spread(value: &mut Value) {
    if let Value::Bytes(bytes) = value {
        *value = Value::Seq(bytes.iter().map(|byte| Value::U8(*byte)).collect());
    }
}

/// Returns true if a path can contain this key.
fn is_plain_key(key: &Value) -> bool {
    key.as_u64().is_some() || matches!(key, Value::Text(_))
}

/// Returns the first unused value of a kind: the next number or variant, or a text that ends with a number.
fn unused(
    kind: Kind,
    registry: Option<&Registry>,
    is_used: impl Fn(&Value) -> bool,
) -> Option<Value> {
    const MAX_TRIES: u16 = u16::MAX;
    let mut value = empty(kind, registry, 0)?;
    if let (Kind::Class(class), Value::Enum(_)) = (kind, &value) {
        let class = class();
        let variants = class.variants().iter().filter(|variant| !variant.other);
        let mut values = variants.filter_map(|it| empty_variant(&class.name(), it, registry));
        return values.find(|value| !is_used(value));
    }
    for number in 1..MAX_TRIES {
        if !is_used(&value) {
            return Some(value);
        }
        value = match value {
            Value::Text(_) => Value::Text(format!("new{number}")),
            Value::Char(_) => Value::Char(char::from_u32(u32::from(number) + 32)?),
            Value::Bool(is_on) => Value::Bool(!is_on),
            Value::U8(_) => Value::U8(u8::try_from(number).ok()?),
            Value::I8(_) => Value::I8(i8::try_from(number).ok()?),
            Value::I16(_) => Value::I16(i16::try_from(number).ok()?),
            Value::U16(_) => Value::U16(number),
            Value::U32(_) => Value::U32(number.into()),
            Value::U64(_) => Value::U64(number.into()),
            Value::U128(_) => Value::U128(number.into()),
            Value::I32(_) => Value::I32(number.into()),
            Value::I64(_) => Value::I64(number.into()),
            Value::I128(_) => Value::I128(number.into()),
            Value::F32(_) => Value::F32(number.into()),
            Value::F64(_) => Value::F64(number.into()),
            _ => return None,
        };
    }
    None
}
