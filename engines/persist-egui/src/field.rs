//! Shows the fields of a value, each by its kind, and collects the edits of the user.

use std::collections::HashMap;
use std::ops::Range;

use egui::collapsing_header::CollapsingState;
use egui::{ComboBox, Label, Response, Ui, Vec2};
use persist::reflect::{Class, EditorHints, FieldRecord, Kind, VariantRecord};
use persist::save::Registry;
use persist::{FieldPath, ObjectId, Peek, Record, Result, Value, World};

use crate::change::{Change, content_mut};
use crate::empty::empty_variant;
use crate::list::PAGE;
use crate::picker::Picker;
use crate::{color, empty, scalar};

/// The maximum nesting depth of fields that are shown.
const MAX_DEPTH: u32 = 24;

/// The nesting depth from which fields are closed at first.
const OPEN_DEPTH: u32 = 3;

/// The maximum number of values that are shown side by side.
const MAX_IN_A_ROW: usize = 4;

/// The hints of a part that has none of its own.
pub(crate) const NO_HINTS: &EditorHints = &const { EditorHints::new() };

/// An edit of a field by the user.
pub(crate) struct FieldEdit {
    pub(crate) path: FieldPath,
    pub(crate) change: Change,
    /// The name of the field in the label.
    pub(crate) name: String,
    /// True while a mouse button is pressed, or a text is typed.
    pub(crate) is_gesture: bool,
    /// The part that the user edited: the field, or a part of its value.
    pub(crate) source: FieldPath,
    /// Another change, if the first one is refused: some types have no 0.
    pub(crate) other: Option<Change>,
}

/// Reads a field, and of large containers in it only some elements.
pub(crate) type Read<'r> = dyn FnMut(&FieldPath, Range<usize>) -> Result<Peek> + 'r;

/// Shows fields, and collects the edit of the user in a frame.
pub(crate) struct FieldsUi<'a> {
    /// The world of referenced objects.
    pub(crate) world: Option<&'a World>,
    /// The classes from which empty values are created.
    pub(crate) registry: Option<&'a Registry>,
    pub(crate) picker: &'a mut Picker,
    pub(crate) edit: Option<FieldEdit>,
    /// The field that has the keyboard focus.
    pub(crate) focused: Option<FieldPath>,
    /// The referenced object that the user asked to select.
    pub(crate) target: Option<ObjectId>,
    /// The reason why an edit of the user cannot be made.
    pub(crate) refused: Option<String>,
    depth: u32,
    is_read_only: bool,
    /// True where a change may move the part, as in a set: its text is applied only when it is complete.
    pub(crate) is_moving: bool,
    read: &'a mut Read<'a>,
    /// The lengths of the containers whose elements were not all read.
    cut: HashMap<FieldPath, usize>,
}

/// A part of a value that is being shown.
pub(crate) struct Part<'p> {
    /// The label of the part.
    pub(crate) label: &'p str,
    pub(crate) hints: &'p EditorHints,
    pub(crate) kind: Kind,
    pub(crate) value: &'p mut Value,
    pub(crate) path: &'p FieldPath,
}

impl<'a> FieldsUi<'a> {
    pub(crate) fn new(
        world: Option<&'a World>,
        registry: Option<&'a Registry>,
        picker: &'a mut Picker,
        read: &'a mut Read<'a>,
    ) -> Self {
        Self {
            world,
            registry,
            picker,
            edit: None,
            focused: None,
            target: None,
            refused: None,
            depth: 0,
            is_read_only: false,
            is_moving: false,
            read,
            cut: HashMap::new(),
        }
    }

    /// Reads a field without the elements of containers that are longer than a page.
    pub(crate) fn read(&mut self, path: &FieldPath) -> Result<Value> {
        self.read_page(path, 0)
    }

    /// Reads a field, and of a container a page from an element on.
    pub(crate) fn read_page(&mut self, path: &FieldPath, first: usize) -> Result<Value> {
        let peek = (self.read)(path, first..first.saturating_add(PAGE))?;
        self.cut.extend(peek.cut);
        Ok(peek.value)
    }

    /// Returns the value of a part with all elements; `None` if it cannot be read.
    pub(crate) fn read_whole(&mut self, part: &Part<'_>) -> Option<Value> {
        let is_in = |cut: &FieldPath| {
            cut.class() == part.path.class() && cut.steps().starts_with(part.path.steps())
        };
        if !self.cut.keys().any(is_in) {
            return Some(part.value.clone());
        }
        let mut whole = (self.read)(part.path, 0..usize::MAX).ok()?.value;
        // An option has the path of its content.
        Some(std::mem::replace(content_mut(&mut whole), Value::Unit))
    }

    /// Returns true if a path leads to a part: some keys of maps cannot be in a path.
    pub(crate) fn is_path(&mut self, path: &FieldPath) -> bool {
        (self.read)(path, 0..0).is_ok()
    }

    /// Returns true if elements of a container were not read.
    pub(crate) fn is_cut(&self, part: &Part<'_>) -> bool {
        self.cut.contains_key(part.path)
    }

    /// Returns the number of elements of a container.
    pub(crate) fn len_of(&self, part: &Part<'_>) -> usize {
        self.cut.get(part.path).copied().unwrap_or_else(|| match &*part.value {
            Value::Map(entries) => entries.len(),
            Value::Bytes(bytes) => bytes.len(),
            value => value.as_seq().map_or(0, <[_]>::len),
        })
    }

    /// Records a change of a part.
    fn note(&mut self, ui: &Ui, part: &Part<'_>, change: Change) -> bool {
        let is_gesture =
            ui.input(|input| input.pointer.any_down()) || self.focused.as_ref() == Some(part.path);
        self.edit = Some(FieldEdit {
            path: part.path.clone(),
            change,
            name: name_of(part),
            is_gesture,
            source: part.path.clone(),
            other: None,
        });
        true
    }

    /// Records an edit that sets a part to its current value, which the user has changed.
    pub(crate) fn set(&mut self, ui: &Ui, part: &Part<'_>) -> bool {
        self.note(ui, part, Change::Set(part.value.clone()))
    }

    /// Records an edit by dragging or typing.
    ///
    /// Typing ends when the field loses the focus: the click that took the focus is not part of the gesture.
    fn set_by(&mut self, ui: &Ui, response: &Response, part: &Part<'_>) -> bool {
        self.set(ui, part);
        if let Some(edit) = self.edit.as_mut().filter(|_| response.lost_focus()) {
            edit.is_gesture = false;
        }
        true
    }

    /// Records a change of the elements of a container, and makes it in the value that is shown.
    pub(crate) fn edit_element(&mut self, ui: &Ui, part: &mut Part<'_>, change: Change) -> bool {
        if !self.is_cut(part) {
            change.apply_to(part.value);
        }
        self.note(ui, part, change)
    }

    /// Converts the edit of a part without a path of its own into a change of the outer part.
    pub(crate) fn widen(&mut self, outer: &Part<'_>, change: Change) {
        if let Some(edit) = &mut self.edit {
            edit.path = outer.path.clone();
            edit.change = change;
            edit.other = None;
            edit.name = name_of(outer);
        }
    }

    /// Shows the fields of a component, a resource or a variant; returns true if the user changed one.
    pub(crate) fn fields(
        &mut self,
        ui: &mut Ui,
        fields: &[FieldRecord],
        record: &mut Record,
        path: &FieldPath,
    ) -> bool {
        let mut is_changed = false;
        for field in fields.iter().filter(|field| !field.hints.is_hidden) {
            let Some(value) = record.get_mut(field.name) else { continue };
            is_changed |= self.field(ui, field, value, path);
        }
        is_changed
    }

    /// Shows a field of the value at a path; returns true if the user changed it.
    pub(crate) fn field(
        &mut self,
        ui: &mut Ui,
        field: &FieldRecord,
        value: &mut Value,
        path: &FieldPath,
    ) -> bool {
        let path = path.clone().field(field.name);
        let label = field.hints.label.unwrap_or(field.name);
        let mut part = Part { label, hints: field.hints, kind: field.kind(), value, path: &path };
        self.part(ui, &mut part)
    }

    /// Shows a whole component, resource or other value; returns true if the user changed it.
    pub(crate) fn whole(
        &mut self,
        ui: &mut Ui,
        class: &'static Class,
        value: &mut Value,
        path: &FieldPath,
    ) -> bool {
        let mut is_changed = false;
        if let Value::Enum(_) = value {
            let mut part =
                Part { label: "variant", hints: NO_HINTS, kind: Kind::Unit, value, path };
            ui.horizontal(|ui| {
                let label = self.label(ui, &part);
                is_changed = self.variants(ui, &mut part, class, Some(&label));
            });
        }
        let done = if is_changed { self.edit.take() } else { None };
        if let Value::Struct(record) | Value::Enum(record) = value {
            is_changed |= self.fields(ui, fields_of(class, record), record, path);
        }
        self.edit = done.or(self.edit.take());
        is_changed
    }

    /// Shows a row with the label of a field that cannot be read, and the reason.
    pub(crate) fn unreadable(&self, ui: &mut Ui, label: &str, why: &str) {
        ui.horizontal(|ui| {
            ui.label(label);
            ui.add(Label::new(egui::RichText::new(shortened(why)).weak()).truncate())
                .on_hover_text(why);
        });
    }

    /// Shows a part with its label; returns true if the user changed it.
    pub(crate) fn part(&mut self, ui: &mut Ui, part: &mut Part<'_>) -> bool {
        let was_read_only = self.is_read_only;
        self.is_read_only |= part.hints.is_read_only;
        let changed = ui.push_id(part.path.to_string(), |ui| {
            if is_in_row(part.kind, part.value, part.hints) {
                ui.horizontal(|ui| {
                    let label = self.label(ui, part);
                    self.in_row(ui, part, Some(&label))
                })
                .inner
            } else {
                self.block(ui, part)
            }
        });
        self.is_read_only = was_read_only;
        changed.inner
    }

    fn label(&self, ui: &mut Ui, part: &Part<'_>) -> Response {
        let width = (ui.available_width() * 0.35).clamp(40.0, 140.0);
        let size = Vec2::new(width, ui.spacing().interact_size.y);
        let layout = egui::Layout::left_to_right(egui::Align::Center);
        let label = ui.allocate_ui_with_layout(size, layout, |ui| {
            ui.set_min_width(width);
            ui.add(Label::new(part.label).truncate())
        });
        with_help(label.inner, part)
    }

    /// Shows a part that fits into a row; returns true if the user changed it.
    pub(crate) fn in_row(
        &mut self,
        ui: &mut Ui,
        part: &mut Part<'_>,
        label: Option<&Response>,
    ) -> bool {
        if self.is_read_only {
            ui.disable();
        }
        if let Some(numbers) = numbers_of(part.kind, part.value)
            && !(part.hints.is_color && color::is_color(part.value))
        {
            return self.row_of_numbers(ui, part, &numbers);
        }
        let named = |response: Response| match label {
            Some(label) => response.labelled_by(label.id),
            None => response,
        };
        if part.hints.is_color
            && let Some((response, is_new)) = color::edit(ui, part.value)
        {
            named(response);
            return is_new && self.set(ui, part);
        }
        match (part.kind, &mut *part.value) {
            (_, value) if self.is_moving && scalar::is_typed(value) => {
                let (response, is_new) = scalar::whole(ui, value);
                let response = named(response);
                is_new && self.set_by(ui, &response, part)
            }
            (_, value) if scalar::is_number(value) => {
                let (response, is_new) = scalar::number(ui, value, part.hints, "");
                let response = named(response);
                self.focus(&response, part);
                is_new && self.set_by(ui, &response, part)
            }
            (_, Value::Bool(is_on)) => {
                let response = named(ui.checkbox(is_on, ""));
                response.changed() && self.set(ui, part)
            }
            (_, Value::Text(text)) => {
                let (response, is_new) = scalar::text(ui, text);
                let response = named(response);
                self.focus(&response, part);
                is_new && self.set_by(ui, &response, part)
            }
            (_, Value::Char(character)) => {
                let (response, is_new) = scalar::character(ui, character);
                let response = named(response);
                self.focus(&response, part);
                is_new && self.set_by(ui, &response, part)
            }
            (Kind::Option(inner), Value::Option(_)) => self.option_in_row(ui, part, inner(), label),
            (Kind::Class(class), Value::Enum(_)) => self.variants(ui, part, class(), label),
            (Kind::Handle(_), Value::Handle(_)) if self.world.is_some() => {
                self.reference(ui, part, label)
            }
            (_, value) => {
                let text = match value {
                    Value::Unit => String::from("()"),
                    value => shortened(&format!("{value:.2}")),
                };
                ui.add(Label::new(text).truncate());
                false
            }
        }
    }

    /// Records a part that has the keyboard focus.
    fn focus(&mut self, response: &Response, part: &Part<'_>) {
        if response.has_focus() {
            self.focused = Some(part.path.clone());
        }
    }

    /// Shows a few numbers side by side; returns true if the user changed one.
    fn row_of_numbers(&mut self, ui: &mut Ui, part: &mut Part<'_>, numbers: &Numbers) -> bool {
        ui.spacing_mut().item_spacing.x = 4.0;
        let mut is_changed = false;
        let whole_path = part.path.clone();
        for (at, name) in numbers.names.iter().enumerate() {
            let value = match &mut *part.value {
                Value::Seq(values) | Value::Tuple(values) => values.get_mut(at),
                Value::Struct(record) => record.get_mut(name),
                _ => None,
            };
            let Some(value) = value else { continue };
            let hints = numbers.hints.get(at).copied().unwrap_or(part.hints);
            let path = match numbers.is_struct {
                true => whole_path.clone().field(*name),
                false => whole_path.clone().at(at as u64),
            };
            let named = hints.label.unwrap_or(name);
            let prefix = if numbers.is_struct { format!("{named} ") } else { String::new() };
            let (response, is_new) = scalar::number(ui, value, hints, &prefix);
            let label = format!("{}.{named}", part.label);
            let mut inner = Part { label: &label, hints, kind: Kind::Unit, value, path: &path };
            self.focus(&response, &inner);
            if hints.is_read_only || hints.is_hidden {
                continue;
            }
            let response = response.on_hover_text(hints.help.unwrap_or(&label));
            if is_new {
                inner.hints = NO_HINTS;
                is_changed = self.set_by(ui, &response, &inner);
            }
        }
        is_changed
    }

    /// Shows the checkbox of an option, and its content; returns true if the user changed them.
    fn option_in_row(
        &mut self,
        ui: &mut Ui,
        part: &mut Part<'_>,
        inner: Kind,
        label: Option<&Response>,
    ) -> bool {
        // An optional reference has no checkbox: the list of objects has an entry for `None`.
        if let (Kind::Handle(_), true) = (inner, self.world.is_some()) {
            return self.reference(ui, part, label);
        }
        if self.option_switch(ui, part, inner, label) {
            return true;
        }
        let Value::Option(Some(value)) = &mut *part.value else { return false };
        let mut within = Part { kind: inner, value, path: part.path, ..*part };
        let is_changed = self.in_row(ui, &mut within, label);
        self.close_option(part, is_changed)
    }

    fn option_switch(
        &mut self,
        ui: &mut Ui,
        part: &mut Part<'_>,
        inner: Kind,
        label: Option<&Response>,
    ) -> bool {
        let mut is_some = matches!(part.value, Value::Option(Some(_)));
        let response = ui.checkbox(&mut is_some, "");
        let response = match label {
            Some(label) => response.labelled_by(label.id),
            None => response,
        };
        if !response.changed() {
            return false;
        }
        let content = if is_some { empty::empty(inner, self.registry, 0) } else { None };
        if is_some && content.is_none() {
            return false;
        }
        *part.value = Value::Option(content.map(Box::new));
        self.set(ui, part);
        let other = empty::empty(inner, self.registry, 1).filter(|_| is_some);
        self.or_else(other.map(|other| Change::Set(Value::Option(Some(Box::new(other))))))
    }

    /// Sets the alternative to use if the edit is refused.
    pub(crate) fn or_else(&mut self, other: Option<Change>) -> bool {
        if let Some(edit) = &mut self.edit {
            edit.other = other;
        }
        true
    }

    /// Converts an edit of the content of an option, which has the same path, into an edit of the option.
    fn close_option(&mut self, part: &Part<'_>, is_changed: bool) -> bool {
        if let Some(edit) = self.edit.as_mut().filter(|_| is_changed)
            && edit.path == *part.path
            && let Change::Set(value) = &mut edit.change
        {
            value.clone_from(part.value);
            edit.other = None;
        }
        is_changed
    }

    /// Shows a list of the variants of an enum; returns true if the user chose another one.
    fn variants(
        &mut self,
        ui: &mut Ui,
        part: &mut Part<'_>,
        class: &'static Class,
        label: Option<&Response>,
    ) -> bool {
        let Value::Enum(record) = &*part.value else { return false };
        let current = record.variant().unwrap_or_default().to_owned();
        let mut chosen = None;
        // The list shrinks where fields are nested: otherwise it would widen the panel.
        let width = ui.available_width().clamp(20.0, ui.spacing().combo_width);
        let combo = ComboBox::from_id_salt("variant").width(width).truncate();
        let response = combo.selected_text(&current).show_ui(ui, |ui| {
            for variant in class.variants().iter().filter(|variant| !variant.other) {
                if ui.selectable_label(variant.name == current, variant.name).clicked() {
                    chosen = Some(variant);
                }
            }
        });
        if let Some(label) = label {
            response.response.labelled_by(label.id);
        }
        let Some(variant) = chosen.filter(|variant| variant.name != current) else { return false };
        let Some(Value::Enum(record)) = self.read_whole(part) else { return false };
        let Some(new) = self.switched(class, variant, &record) else { return false };
        *part.value = new;
        self.set(ui, part)
    }

    /// Creates an enum with another variant, and copies the fields that both variants have.
    fn switched(&self, class: &Class, variant: &VariantRecord, old: &Record) -> Option<Value> {
        let mut new = empty_variant(&class.name(), variant, self.registry)?;
        let fields = class.variants().iter().find(|it| Some(it.name) == old.variant())?.fields;
        for field in variant.fields {
            let is_same = |it: &&FieldRecord| {
                it.name == field.name && it.kind().to_string() == field.kind().to_string()
            };
            if let Some(value) = fields.iter().find(is_same).and_then(|it| old.get(it.name))
                && let Some(record) = new.as_record_mut()
            {
                record.set(field.name, value.clone());
            }
        }
        Some(new)
    }

    /// Shows a part that needs several rows, below a header that opens; returns true if the user changed it.
    fn block(&mut self, ui: &mut Ui, part: &mut Part<'_>) -> bool {
        if self.depth >= MAX_DEPTH {
            ui.weak(format!("{}: nested too deeply to be shown", part.label));
            return false;
        }
        let id = ui.make_persistent_id("open");
        let is_map = matches!(content_mut(part.value), Value::Map(_));
        let is_short = is_map || self.len_of(part) <= 20;
        let is_open = self.depth < OPEN_DEPTH && is_short;
        let mut is_changed = false;
        let header = CollapsingState::load_with_default_open(ui.ctx(), id, is_open)
            .show_header(ui, |ui| is_changed |= self.header(ui, part));
        self.depth += 1;
        // The body is shown even if the header has changed the value: without it for a frame, the view would scroll.
        // The edit of the header has priority.
        let done = if is_changed { self.edit.take() } else { None };
        header.body(|ui| is_changed |= self.inside(ui, part));
        self.edit = done.or(self.edit.take());
        self.depth -= 1;
        is_changed
    }

    fn header(&mut self, ui: &mut Ui, part: &mut Part<'_>) -> bool {
        let label = with_help(ui.label(part.label), part);
        if self.is_read_only {
            ui.disable();
        }
        self.controls(ui, part, &label)
    }

    /// Shows the controls of a header, after its label; returns true if the user changed the part.
    fn controls(&mut self, ui: &mut Ui, part: &mut Part<'_>, label: &Response) -> bool {
        match (part.kind, &*part.value) {
            (Kind::Option(inner), Value::Option(content)) => {
                let is_some = content.is_some();
                if self.option_switch(ui, part, inner(), Some(label)) {
                    return true;
                }
                let Value::Option(Some(value)) = &mut *part.value else { return false };
                if !is_some {
                    return false;
                }
                let mut within = Part { kind: inner(), value, path: part.path, ..*part };
                let is_changed = self.controls(ui, &mut within, label);
                self.close_option(part, is_changed)
            }
            (Kind::Class(class), Value::Enum(_)) => self.variants(ui, part, class(), Some(label)),
            (Kind::List(_) | Kind::Set(_) | Kind::Map(..), _) => self.list_controls(ui, part),
            (Kind::Dynamic(_), value) => {
                ui.weak(value.as_record().map_or("", Record::class));
                false
            }
            _ => false,
        }
    }

    /// Shows the body of a part; returns true if the user changed it.
    fn inside(&mut self, ui: &mut Ui, part: &mut Part<'_>) -> bool {
        if self.is_read_only {
            ui.disable();
        }
        match (part.kind, &mut *part.value) {
            (Kind::Option(inner), Value::Option(Some(value))) => {
                let mut within = Part { kind: inner(), value, path: part.path, ..*part };
                let is_changed = if is_in_row(within.kind, within.value, within.hints) {
                    ui.horizontal(|ui| self.in_row(ui, &mut within, None)).inner
                } else {
                    self.inside(ui, &mut within)
                };
                self.close_option(part, is_changed)
            }
            (Kind::Class(class), Value::Struct(record) | Value::Enum(record)) => {
                let path = part.path.clone();
                self.fields(ui, fields_of(class(), record), record, &path)
            }
            (Kind::Dynamic(_), Value::Struct(record) | Value::Enum(record)) => {
                let class = self.registry.and_then(|registry| registry.class(record.class()));
                let Some(class) = class else { return false };
                let path = part.path.clone();
                self.fields(ui, fields_of(class, record), record, &path)
            }
            (Kind::List(_) | Kind::Array(..) | Kind::Tuple(_), _) => self.list(ui, part),
            (Kind::Set(_), _) => self.elements_of_set(ui, part),
            (Kind::Map(key, value), _) => self.entries(ui, part, (key(), value())),
            _ => false,
        }
    }
}

/// Returns the fields of a struct, or of the current variant of an enum.
fn fields_of(class: &'static Class, record: &Record) -> &'static [FieldRecord] {
    let Some(variant) = record.variant() else { return class.fields() };
    let found = class.variants().iter().find(|it| it.name == variant && !it.other);
    found.map_or(&[], |it| it.fields)
}

/// Returns the name of a part in labels, such as `position.x`.
fn name_of(part: &Part<'_>) -> String {
    let class = FieldPath::new(part.path.class().to_owned()).to_string();
    let path = part.path.to_string();
    let steps = path.strip_prefix(&class).and_then(|steps| steps.strip_prefix(':'));
    match (part.hints.label, steps) {
        (Some(label), _) => label.to_owned(),
        (None, Some(steps)) => steps.to_owned(),
        (None, None) => class,
    }
}

fn with_help(label: Response, part: &Part<'_>) -> Response {
    match part.hints.help {
        Some(help) => label.on_hover_text(help),
        None => label,
    }
}

/// Numbers that are shown side by side.
struct Numbers {
    names: Vec<&'static str>,
    hints: Vec<&'static EditorHints>,
    is_struct: bool,
}

/// Returns the numbers of a small array, tuple or struct; `None` if it has other values or too many.
fn numbers_of(kind: Kind, value: &Value) -> Option<Numbers> {
    const INDEXES: [&str; MAX_IN_A_ROW] = ["0", "1", "2", "3"];
    let is_few = |len: usize| (1..=MAX_IN_A_ROW).contains(&len);
    match (kind, value) {
        (Kind::Array(..), Value::Seq(parts)) | (Kind::Tuple(_), Value::Tuple(parts)) => {
            let is_row = is_few(parts.len()) && parts.iter().all(scalar::is_number);
            is_row.then(|| Numbers {
                names: INDEXES[..parts.len()].to_vec(),
                hints: Vec::new(),
                is_struct: false,
            })
        }
        (Kind::Class(class), Value::Struct(record)) => {
            let fields = class().fields();
            let is_plain = |field: &FieldRecord| {
                let hints = field.hints;
                !hints.is_hidden && !hints.is_read_only && !hints.is_color
            };
            let is_row = is_few(record.len())
                && fields.len() == record.len()
                && record.fields().all(|(_, value)| scalar::is_number(value))
                && fields.iter().all(is_plain);
            is_row.then(|| Numbers {
                names: fields.iter().map(|field| field.name).collect(),
                hints: fields.iter().map(|field| field.hints).collect(),
                is_struct: true,
            })
        }
        _ => None,
    }
}

/// Returns true if a part is shown in one row.
fn is_in_row(kind: Kind, value: &Value, hints: &EditorHints) -> bool {
    if numbers_of(kind, value).is_some() {
        return true;
    }
    match (kind, value) {
        (Kind::Option(_), Value::Option(None)) => true,
        (Kind::Option(inner), Value::Option(Some(value))) => is_in_row(inner(), value, hints),
        (Kind::Class(class), Value::Enum(record)) => fields_of(class(), record).is_empty(),
        (_, value) if hints.is_color && color::is_color(value) => true,
        (
            Kind::Class(_)
            | Kind::Dynamic(_)
            | Kind::List(_)
            | Kind::Set(_)
            | Kind::Map(..)
            | Kind::Array(..)
            | Kind::Tuple(_),
            _,
        ) => false,
        _ => true,
    }
}

/// Shortens a text so that it fits into a row.
pub(crate) fn shortened(text: &str) -> String {
    const MAX: usize = 120;
    match text.char_indices().nth(MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
