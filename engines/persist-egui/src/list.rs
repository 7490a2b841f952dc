//! Shows lists, arrays, tuples, sets and maps, whose elements can be inserted, removed and moved.

use std::collections::HashSet;
use std::ops::Range;

use egui::{Align, DragValue, Layout, Ui, Vec2};
use persist::Value;
use persist::reflect::{EditorHints, Kind};
use persist::save::Registry;

use crate::button;
use crate::change::{Change, content_mut, spread};
use crate::empty::{empty, empty_variant};
use crate::field::{FieldsUi, NO_HINTS, Part};

/// The number of elements that are shown at a time.
pub(crate) const PAGE: usize = 50;

/// Returns a layout with buttons on the right. On the left, they would indent nested elements further at each level.
fn buttons_right() -> Layout {
    Layout::right_to_left(Align::TOP)
}

impl FieldsUi<'_> {
    /// Shows the number of elements of a collection, and a button that inserts one; returns true if it was clicked.
    pub(crate) fn list_controls(&mut self, ui: &mut Ui, part: &mut Part<'_>) -> bool {
        let len = self.len_of(part);
        ui.weak(format!("({len})"));
        let insert = button::sign(ui, "+", &format!("Insert into {}", part.label));
        insert.clicked() && self.insert(ui, part, len)
    }

    /// Inserts an element at the end; returns false if there is none to insert.
    fn insert(&mut self, ui: &Ui, part: &mut Part<'_>, len: usize) -> bool {
        match part.kind {
            Kind::List(element) => {
                let Some(new) = empty(element(), self.registry, 0) else { return false };
                self.edit_element(ui, part, Change::Insert(len, new));
                let other = empty(element(), self.registry, 1);
                self.or_else(other.map(|other| Change::Insert(len, other)))
            }
            Kind::Set(element) => match self.unused(part, element()) {
                Some(new) => self.edit_element(ui, part, Change::Add(new)),
                None => self.refuse_insert(part),
            },
            Kind::Map(key, value) => {
                let value = empty(value(), self.registry, 0);
                let (Some(key), Some(value)) = (self.unused(part, key()), value) else {
                    return self.refuse_insert(part);
                };
                self.edit_element(ui, part, Change::InsertKey(key, value))
            }
            _ => false,
        }
    }

    /// Returns a value of a kind that is no element of a set, or no key of a map.
    fn unused(&mut self, part: &Part<'_>, kind: Kind) -> Option<Value> {
        let mut whole = self.read_whole(part)?;
        spread(&mut whole);
        let used: HashSet<String> = match &whole {
            Value::Map(entries) => entries.iter().map(|(key, _)| key.to_string()).collect(),
            whole => whole.as_seq()?.iter().map(Value::to_string).collect(),
        };
        unused(kind, self.registry, |value| used.contains(&value.to_string()))
    }

    fn refuse_insert(&mut self, part: &Part<'_>) -> bool {
        self.refused = Some(format!("there is no other value to insert into {}", part.label));
        false
    }

    /// Returns the range of elements to show, and the index of the first one in the value of the part.
    ///
    /// If elements of the container were not read, the value becomes those of the page.
    fn page(&mut self, ui: &mut Ui, part: &mut Part<'_>) -> (Range<usize>, usize) {
        let range = page(ui, self.len_of(part));
        if !self.is_cut(part) {
            spread(part.value);
            return (range, 0);
        }
        let first = range.start;
        match self.read_page(part.path, first) {
            Ok(mut page) => {
                spread(&mut page);
                *part.value = std::mem::replace(content_mut(&mut page), Value::Unit);
                (range, first)
            }
            Err(error) => {
                self.unreadable(ui, part.label, error.message());
                (0..0, 0)
            }
        }
    }

    /// Shows the elements of a list, an array or a tuple; returns true if the user changed them.
    pub(crate) fn list(&mut self, ui: &mut Ui, part: &mut Part<'_>) -> bool {
        let len = self.len_of(part);
        let is_list = matches!(part.kind, Kind::List(_));
        let mut edit = None;
        let mut is_changed = false;
        let (range, first) = self.page(ui, part);
        for at in range {
            let kind = match part.kind {
                Kind::List(element) | Kind::Array(element, _) => element(),
                Kind::Tuple(parts) => parts.get(at).map_or(Kind::Unit, |part| part()),
                _ => return false,
            };
            let path = part.path.clone().at(at as u64);
            let (Value::Seq(elements) | Value::Tuple(elements)) = &mut *part.value else { break };
            let Some(value) = elements.get_mut(at - first) else { break };
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
            Some(edit) => self.edit_element(ui, part, edit),
        }
    }

    /// Shows the elements of a set, which is set as a whole; returns true if the user changed them.
    pub(crate) fn elements_of_set(&mut self, ui: &mut Ui, part: &mut Part<'_>) -> bool {
        let Kind::Set(kind) = part.kind else { return false };
        let mut change = None;
        let (range, first) = self.page(ui, part);
        for at in range {
            let path = part.path.clone().at(at as u64);
            let Value::Seq(elements) = &mut *part.value else { break };
            let Some(value) = elements.get_mut(at - first) else { break };
            let (label, old) = (format!("[{at}]"), value.clone());
            let hints = element_hints(part.hints);
            let mut element =
                Part { label: &label, hints: &hints, kind: kind(), value, path: &path };
            ui.with_layout(buttons_right(), |ui| {
                let is_removed = remove_button(ui, &label);
                let is_changed = ui.vertical(|ui| self.moving(ui, &mut element)).inner;
                if is_removed {
                    change = Some(Change::Drop(old));
                } else if is_changed {
                    change = Some(Change::Replace(old, element.value.clone()));
                }
            });
        }
        match change {
            None => false,
            Some(change @ Change::Drop(_)) => self.edit_element(ui, part, change),
            Some(change) => {
                self.widen(part, change);
                true
            }
        }
    }

    /// Shows a part that a change may move to another position, such as an element of a set.
    fn moving(&mut self, ui: &mut Ui, part: &mut Part<'_>) -> bool {
        let was_moving = std::mem::replace(&mut self.is_moving, true);
        let is_changed = self.part(ui, part);
        self.is_moving = was_moving;
        is_changed
    }

    /// Shows the entries of a map; returns true if the user changed them.
    pub(crate) fn entries(
        &mut self,
        ui: &mut Ui,
        part: &mut Part<'_>,
        (key_kind, value_kind): (Kind, Kind),
    ) -> bool {
        let (mut removed, mut is_changed) = (None, false);
        let (range, first) = self.page(ui, part);
        for at in range {
            let Value::Map(entries) = &mut *part.value else { break };
            let Some((key, value)) = entries.get_mut(at - first) else { break };
            let (label, old) = (format!("[{key:.1}]"), key.clone());
            let mut change = None;
            ui.with_layout(buttons_right(), |ui| {
                if remove_button(ui, &label) {
                    removed = Some(old.clone());
                }
                ui.vertical(|ui| {
                    // The path has the index, not the key, so that the field keeps the focus while the key changes.
                    let path = part.path.clone().field("key").at(at as u64);
                    let hints = NO_HINTS;
                    let mut new =
                        Part { label: "key", hints, kind: key_kind, value: key, path: &path };
                    if self.moving(ui, &mut new) {
                        change = Some(Change::Rename(old.clone(), new.value.clone()));
                        is_changed = true;
                    }
                    let hints = element_hints(part.hints);
                    let path = part.path.clone().at(old.clone());
                    let mut value =
                        Part { label: &label, hints: &hints, kind: value_kind, value, path: &path };
                    if self.part(ui, &mut value) {
                        is_changed = true;
                        if change.is_none() && !is_plain_key(&old) && !self.is_path(&path) {
                            change = Some(Change::SetEntry(old.clone(), value.value.clone()));
                        }
                    }
                });
            });
            if let Some(change) = change {
                self.widen(part, change);
            }
        }
        match removed {
            None => is_changed,
            Some(key) => self.edit_element(ui, part, Change::RemoveKey(key)),
        }
    }
}

/// Returns the hints of a list that also apply to its elements.
fn element_hints(hints: &EditorHints) -> EditorHints {
    let mut shared = *hints;
    (shared.label, shared.help) = (None, None);
    shared
}

/// Returns the range of elements to show, and shows the controls that lead to the others.
fn page(ui: &mut Ui, len: usize) -> Range<usize> {
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
fn element_buttons(ui: &mut Ui, at: usize, len: usize) -> Option<Change> {
    let mut edit = None;
    if remove_button(ui, &format!("[{at}]")) {
        edit = Some(Change::Remove(at));
    }
    if button::arrow(ui, Vec2::DOWN, &format!("Move [{at}] down"), at + 1 < len).clicked() {
        edit = Some(Change::Move(at, at + 1));
    }
    if button::arrow(ui, Vec2::UP, &format!("Move [{at}] up"), at > 0).clicked() {
        edit = Some(Change::Move(at, at - 1));
    }
    edit
}

fn remove_button(ui: &mut Ui, label: &str) -> bool {
    button::remove(ui, &format!("Remove {label}"))
}

/// Returns true for a key that can surely be in a path.
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
