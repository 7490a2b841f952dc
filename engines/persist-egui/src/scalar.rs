//! Shows fields of one number, text or character.

use std::cell::Cell;
use std::ops::RangeInclusive;

use egui::text::{CCursor, CCursorRange};
use egui::{DragValue, Id, Key, Modifiers, Response, TextEdit, Ui};
use persist::Value;
use persist::reflect::EditorHints;

/// The largest integer that can be dragged: egui drags numbers as `f64`, which has gaps beyond. Others are typed as
/// text.
const MAX_DRAGGED: i128 = 1 << 53;

/// Returns true if an integer can be dragged.
fn is_dragged(number: i128) -> bool {
    (-MAX_DRAGGED..=MAX_DRAGGED).contains(&number)
}

/// The maximum length in bytes of a text that can be edited: an edited text is laid out in each frame.
const LONGEST_TEXT: usize = 64 << 10;

/// The number of characters that are shown of a longer text.
const SHOWN_OF_LONG: usize = 200;

/// Returns the range of a field. A bound that is NaN is ignored.
fn range_of(hints: &EditorHints) -> Option<RangeInclusive<f64>> {
    let (start, end) = hints.range()?.into_inner();
    Some(start.max(f64::NEG_INFINITY)..=end.min(f64::INFINITY))
}

/// Returns true if a value is a number.
pub(crate) fn is_number(value: &Value) -> bool {
    matches!(value, Value::F32(_) | Value::F64(_)) || is_integer(value)
}

fn is_integer(value: &Value) -> bool {
    matches!(
        value,
        Value::U8(_)
            | Value::U16(_)
            | Value::U32(_)
            | Value::U64(_)
            | Value::U128(_)
            | Value::I8(_)
            | Value::I16(_)
            | Value::I32(_)
            | Value::I64(_)
            | Value::I128(_)
    )
}

/// Evaluates an expression with the integer in a value, and with its type.
macro_rules! with_integer {
    ($value:expr, $n:ident: $ty:ident => $do:expr, $otherwise:expr) => {
        with_integer!(@ $value, $n, $ty, $do, $otherwise, U8 u8, U16 u16, U32 u32, U64 u64, U128 u128,
            I8 i8, I16 i16, I32 i32, I64 i64, I128 i128)
    };
    (@ $value:expr, $n:ident, $ty:ident, $do:expr, $otherwise:expr, $($variant:ident $type:ident),*) => {
        match $value {
            $(Value::$variant($n) => {
                #[allow(dead_code, reason = "some need the integer alone")]
                type $ty = $type;
                $do
            })*
            _ => $otherwise,
        }
    };
}

/// Shows a number that can be dragged or typed; returns the response, and true if the number changed.
pub(crate) fn number(
    ui: &mut Ui,
    value: &mut Value,
    hints: &EditorHints,
    prefix: &str,
) -> (Response, bool) {
    match value {
        Value::F32(number) => {
            let format = |number: f64| {
                let short = narrowed(number);
                digits(number, short.to_string(), format!("{short:e}"))
            };
            let (response, new) = float(ui, (*number).into(), hints, prefix, format);
            let is_new = new.is_some_and(|new| narrowed(new).to_bits() != number.to_bits());
            // A number that is too large for `f32` is set as `f64`: the field then refuses it with an error.
            match new.filter(|_| is_new) {
                Some(new) if narrowed(new).is_finite() => *value = Value::F32(narrowed(new)),
                Some(new) => *value = Value::F64(new),
                None => {}
            }
            (response, is_new)
        }
        Value::F64(number) => {
            let format = |number: f64| digits(number, number.to_string(), format!("{number:e}"));
            let (response, new) = float(ui, *number, hints, prefix, format);
            let new = new.filter(|new| new.to_bits() != number.to_bits());
            new.into_iter().for_each(|new| *number = new);
            (response, new.is_some())
        }
        _ => integer(ui, value, hints, prefix),
    }
}

/// Chooses the plain or the scientific form of a float, so that it fits into a row with all its digits.
fn digits(number: f64, plain: String, scientific: String) -> String {
    let is_short = number == 0.0 || !number.is_finite() || (1e-5..1e16).contains(&number.abs());
    if is_short { plain } else { scientific }
}

/// Shows a float; returns the response, and the new number if the user changed it.
fn float(
    ui: &mut Ui,
    number: f64,
    hints: &EditorHints,
    prefix: &str,
    format: impl Fn(f64) -> String,
) -> (Response, Option<f64>) {
    if number.is_nan() {
        // `DragValue` ignores typed input for a NaN, which differs from itself.
        let (response, typed) = committed(ui, "NaN");
        return (response, typed.and_then(|typed| typed.trim().parse().ok()));
    }
    let range = range_of(hints).unwrap_or(f64::NEG_INFINITY..=f64::INFINITY);
    let span = range.end() - range.start();
    let speed = if span.is_finite() && span > 0.0 {
        span / 200.0
    } else if number.is_finite() {
        (number.abs() / 100.0).clamp(0.01, 1e12)
    } else {
        0.01
    };
    let shown = format(number);
    // The range includes the current number: showing a number outside the field's range must not change it.
    let range = range.start().min(number)..=range.end().max(number);
    let mut new = None;
    let drag = DragValue::from_get_set(|set| {
        new = set.or(new);
        new.unwrap_or(number)
    });
    let drag = drag
        .speed(speed)
        .range(range)
        .clamp_existing_to_range(false)
        .update_while_editing(false)
        .custom_formatter(|number, _| format(number))
        .custom_parser(|text| {
            // Ignore an unchanged text, whose digits may be rounded, and a typed NaN.
            let typed = text.trim().replace('−', "-").parse().ok();
            typed.filter(|typed: &f64| !typed.is_nan() && text != shown)
        })
        .prefix(prefix);
    let response = ui.add(drag);
    let new = if is_cancelled(ui, &response) { None } else { new };
    (response, new)
}

/// Returns true if Escape has ended the typing of a number.
///
/// egui reports in two frames that the field lost the focus. In the second, Escape is no longer pressed, and egui would
/// apply the typed text.
fn is_cancelled(ui: &Ui, response: &Response) -> bool {
    if !response.lost_focus() {
        return false;
    }
    let (id, pass) = (response.id.with("given up"), ui.ctx().cumulative_pass_nr());
    if ui.input(|input| input.key_pressed(Key::Escape)) {
        ui.data_mut(|data| data.insert_temp(id, pass));
        return true;
    }
    ui.data(|data| data.get_temp::<u64>(id)).is_some_and(|at| at + 1 == pass)
}

#[allow(
    clippy::useless_conversion,
    clippy::unnecessary_fallible_conversions,
    reason = "it is the same code for every width"
)]
fn integer(ui: &mut Ui, value: &mut Value, hints: &EditorHints, prefix: &str) -> (Response, bool) {
    let small = with_integer!(&*value, n: Number => {
        let n = i128::try_from(*n).ok().filter(|n| is_dragged(*n));
        let ends = |end: Number, or: i128| i128::try_from(end).unwrap_or(or);
        n.map(|n| (n, ends(Number::MIN, i128::MIN), ends(Number::MAX, i128::MAX)))
    }, None);
    let Some((number, min, max)) = small else {
        return long_integer(ui, value);
    };
    let (mut min, mut max) = (min.max(-MAX_DRAGGED), max.min(MAX_DRAGGED));
    let (type_min, type_max) = (min, max);
    if let Some(range) = range_of(hints) {
        min = min.max(rounded(range.start().ceil()));
        max = max.min(rounded(range.end().floor()));
    }
    let (min, max) = if min > max { (type_min, type_max) } else { (min, max) };
    let speed = if hints.range().is_some() {
        (as_f64(max.saturating_sub(min)) / 200.0).clamp(0.05, 1e9)
    } else {
        (as_f64(number).abs() / 100.0).clamp(0.25, 1e9)
    };
    let range = as_f64(min.min(number))..=as_f64(max.max(number));
    let (mut new, typed) = (None, Cell::new(None));
    let drag = DragValue::from_get_set(|set| {
        new = set.or(new);
        new.unwrap_or(as_f64(number))
    });
    let drag = drag
        .speed(speed)
        .range(range)
        .max_decimals(0)
        .clamp_existing_to_range(false)
        .update_while_editing(false)
        .custom_formatter(|number, _| rounded(number).to_string())
        .custom_parser(|text| {
            let text = text.trim().replace('−', "-");
            // A typed integer that `f64` would round is used exactly as typed.
            typed.set(text.parse::<i128>().ok().filter(|typed| !is_dragged(*typed)));
            text.parse().ok()
        })
        .prefix(prefix);
    let response = ui.add(drag);
    let new = if is_cancelled(ui, &response) { None } else { new };
    let is_in_range =
        |typed: &i128| range_of(hints).is_none_or(|range| range.contains(&as_f64(*typed)));
    let given = new.map(|new| typed.get().filter(is_in_range).unwrap_or(rounded(new)));
    let is_new = given.is_some_and(|given| given != number);
    if let Some(given) = given.filter(|_| is_new) {
        let fits = with_integer!(&mut *value, n: Number => {
            Number::try_from(given).map(|given| *n = given).is_ok()
        }, false);
        if !fits {
            // Set an integer that is too large as it is: the field then refuses it with an error.
            *value = Value::I128(given);
        }
    }
    (response, is_new)
}

/// Shows an integer that is too large to be dragged; returns the response, and true if the integer changed.
fn long_integer(ui: &mut Ui, value: &mut Value) -> (Response, bool) {
    let text = with_integer!(&*value, n: Number => n.to_string(), String::new());
    let (response, new) = committed(ui, &text);
    let parsed = new.is_some_and(|new| {
        let new = new.trim();
        with_integer!(&mut *value, n: Number => {
            let is_new = new.parse::<Number>().ok().filter(|new| new != n);
            is_new.map(|new| *n = new).is_some()
        }, false)
    });
    (response, parsed)
}

fn as_f64(number: i128) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "the ends of ranges may be rounded")]
    let float = number as f64;
    float
}

/// Returns the nearest integer, saturating.
fn rounded(number: f64) -> i128 {
    #[expect(clippy::cast_possible_truncation, reason = "it saturates")]
    let rounded = number.round() as i128;
    rounded
}

#[expect(clippy::cast_possible_truncation, reason = "the field has no more digits")]
fn narrowed(number: f64) -> f32 {
    number as f32
}

/// Shows a text; returns the response, and true if the text changed.
///
/// It changes only when the user has finished typing: a `validate` function may refuse an incomplete text.
pub(crate) fn text(ui: &mut Ui, text: &mut String) -> (Response, bool) {
    if text.len() > LONGEST_TEXT {
        let first: String = text.chars().take(SHOWN_OF_LONG).collect();
        let shown = format!("{} bytes: {first}…", text.len());
        return (ui.add(egui::Label::new(shown).wrap()), false);
    }
    let (response, new) = committed_text(ui, text, true);
    let is_new = new.is_some();
    new.into_iter().for_each(|new| *text = new);
    (response, is_new)
}

/// Shows a character; returns the response, and true if the character changed.
pub(crate) fn character(ui: &mut Ui, character: &mut char) -> (Response, bool) {
    let (response, new) = committed(ui, &character.to_string());
    // The field also has the old character, beside the new one.
    let new = new.and_then(|new| {
        let mut others = new.chars().filter(|new| new != character);
        others.next().or(new.chars().next())
    });
    let new = new.filter(|new| new != character);
    new.into_iter().for_each(|new| *character = new);
    (response, new.is_some())
}

/// The text that is being typed into a field, and the value of the field when it was typed.
#[derive(Clone, Default)]
struct Typed {
    text: String,
    source: String,
}

/// Returns true if a value is typed as text.
pub(crate) fn is_typed(value: &Value) -> bool {
    is_number(value) || matches!(value, Value::Text(_) | Value::Char(_))
}

/// Shows a value that changes only when the user has finished typing; returns the response, and true if it changed.
pub(crate) fn whole(ui: &mut Ui, value: &mut Value) -> (Response, bool) {
    let text = match &*value {
        Value::Text(text) => text.clone(),
        Value::Char(character) => character.to_string(),
        Value::F32(number) => number.to_string(),
        Value::F64(number) => number.to_string(),
        value => with_integer!(value, n: Number => n.to_string(), String::new()),
    };
    let (response, new) = committed(ui, &text);
    let Some(new) = new else { return (response, false) };
    let parsed = match &*value {
        Value::Text(_) => Some(Value::Text(new)),
        Value::Char(_) => new.parse().ok().map(Value::Char),
        Value::F32(_) => new.trim().parse().ok().map(Value::F32),
        Value::F64(_) => new.trim().parse().ok().map(Value::F64),
        value => {
            with_integer!(value, _n: Number => new.trim().parse::<Number>().ok().map(Value::from), None)
        }
    };
    let is_new = parsed.is_some();
    parsed.into_iter().for_each(|parsed| *value = parsed);
    (response, is_new)
}

/// Shows a text; returns the new text once the field loses the focus or Enter is pressed.
///
/// Escape discards the typed text. If the value changes meanwhile, the typed text is replaced by the new value.
pub(crate) fn committed(ui: &mut Ui, current: &str) -> (Response, Option<String>) {
    committed_text(ui, current, false)
}

fn committed_text(ui: &mut Ui, current: &str, has_lines: bool) -> (Response, Option<String>) {
    let id = ui.next_auto_id().with("typed");
    let mut text = typed_text(ui, id, current);
    let text_id = id.with("text");
    let is_focused = has_lines && ui.memory(|memory| memory.has_focus(text_id));
    if is_focused && ui.input_mut(|input| input.consume_key(Modifiers::SHIFT, Key::Enter)) {
        break_line(ui, text_id, &mut text);
    }
    let has_lines = has_lines && text.contains('\n');
    let response = show_text(ui, &mut text, has_lines, text_id);
    if response.lost_focus() {
        let is_cancelled = ui.input(|input| input.key_pressed(Key::Escape));
        let new = (!is_cancelled && text != current).then_some(text);
        return (response, new);
    }
    if response.has_focus() {
        ui.data_mut(|data| data.insert_temp(id, Typed { text, source: current.to_owned() }));
    }
    (response, None)
}

/// Replaces the selection by a line break.
fn break_line(ui: &Ui, id: Id, text: &mut String) {
    let Some(mut state) = TextEdit::load_state(ui.ctx(), id) else { return };
    let Some(range) = state.cursor.char_range() else { return };
    let selected = range.as_sorted_char_range();
    let (start, end) = (selected.start, selected.end);
    let head: String = text.chars().take(start.into()).collect();
    let tail: String = text.chars().skip(end.into()).collect();
    *text = format!("{head}\n{tail}");
    state.cursor.set_char_range(Some(CCursorRange::one(CCursor::new(start + 1))));
    state.store(ui.ctx(), id);
}

/// Returns the text of a field: the typed text, or the current value if it has changed since.
fn typed_text(ui: &Ui, id: Id, current: &str) -> String {
    let typed = ui.data_mut(|data| data.remove_temp::<Typed>(id));
    let typed = typed.filter(|typed| typed.source == current || typed.text == current);
    typed.map_or_else(|| current.to_owned(), |typed| typed.text)
}

fn show_text(ui: &mut Ui, text: &mut String, has_lines: bool, id: Id) -> Response {
    let edit = if has_lines { TextEdit::multiline(text) } else { TextEdit::singleline(text) };
    let edit = if has_lines { edit.desired_rows(3) } else { edit };
    ui.add(edit.id(id).desired_width(f32::INFINITY))
}
