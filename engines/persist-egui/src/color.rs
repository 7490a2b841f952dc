//! Fields with `#[persist(color)]`, which are shown as colours.

use egui::{Response, Ui};
use persist::Value;

/// The names of the channels of a colour that is a struct.
const PARTS: [&str; 4] = ["r", "g", "b", "a"];

/// A colour in one of the representations that a field may have, with its number of channels.
#[derive(Clone, Copy, PartialEq)]
enum Color {
    /// Linear RGB.
    Floats([f32; 4], usize),
    /// sRGB.
    Bytes([u8; 4], usize),
}

/// Shows a button with the colour, which opens a picker. Returns its response, and whether the colour has changed.
///
/// Returns `None` if the value is not a colour.
pub(crate) fn edit(ui: &mut Ui, value: &mut Value) -> Option<(Response, bool)> {
    Some(match read(value)? {
        Color::Floats(mut parts, len) => {
            // The picker only has channels from 0 to 1, and would clamp others when it opens.
            let shown = parts.map(|part| if part.is_nan() { 0.0 } else { part.clamp(0.0, 1.0) });
            let mut picked = shown;
            let response = if len == 3 {
                let mut rgb = [picked[0], picked[1], picked[2]];
                let response = ui.color_edit_button_rgb(&mut rgb);
                picked[..3].copy_from_slice(&rgb);
                response
            } else {
                ui.color_edit_button_rgba_unmultiplied(&mut picked)
            };
            let mut is_new = false;
            for at in (0..len).filter(|at| response.changed() && picked[*at] != shown[*at]) {
                (parts[at], is_new) = (picked[at], true);
            }
            if is_new {
                write(value, Color::Floats(parts, len));
            }
            (response, is_new)
        }
        Color::Bytes(mut parts, len) => {
            let response = if len == 3 {
                let mut rgb = [parts[0], parts[1], parts[2]];
                let response = ui.color_edit_button_srgb(&mut rgb);
                parts[..3].copy_from_slice(&rgb);
                response
            } else {
                ui.color_edit_button_srgba_unmultiplied(&mut parts)
            };
            let is_new = response.changed();
            if is_new {
                write(value, Color::Bytes(parts, len));
            }
            (response, is_new)
        }
    })
}

/// Returns true if a value is a colour.
pub(crate) fn is_color(value: &Value) -> bool {
    read(value).is_some()
}

fn read(value: &Value) -> Option<Color> {
    if let Value::U32(bits) = value {
        return Some(Color::Bytes(bits.to_be_bytes(), 4));
    }
    if let Value::Bytes(bytes) = value {
        let mut parts = [u8::MAX; 4];
        parts.get_mut(..bytes.len()).filter(|_| bytes.len() >= 3)?.copy_from_slice(bytes);
        return Some(Color::Bytes(parts, bytes.len()));
    }
    let parts: Vec<&Value> = match value {
        Value::Struct(record) => PARTS.iter().map_while(|name| record.get(name)).collect(),
        _ => value.as_seq()?.iter().collect(),
    };
    if !(3..=4).contains(&parts.len()) {
        return None;
    }
    let mut floats = Color::Floats([1.0; 4], parts.len());
    let mut bytes = Color::Bytes([u8::MAX; 4], parts.len());
    let (mut is_float, mut is_byte) = (true, true);
    for (at, part) in parts.iter().enumerate() {
        match (part, &mut floats, &mut bytes) {
            (Value::F32(part), Color::Floats(parts, _), _) => (parts[at], is_byte) = (*part, false),
            (Value::F64(part), Color::Floats(parts, _), _) => {
                (parts[at], is_byte) = (narrowed(*part), false);
            }
            (Value::U8(part), _, Color::Bytes(parts, _)) => (parts[at], is_float) = (*part, false),
            _ => return None,
        }
    }
    match (is_float, is_byte) {
        (true, false) => Some(floats),
        (false, true) => Some(bytes),
        _ => None,
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the picker has no more digits")]
fn narrowed(part: f64) -> f32 {
    part as f32
}

fn write(value: &mut Value, color: Color) {
    if let (Value::U32(bits), Color::Bytes(parts, _)) = (&mut *value, color) {
        *bits = u32::from_be_bytes(parts);
        return;
    }
    let put = |slot: &mut Value, at: usize| match (color, &*slot) {
        // A channel that was not picked keeps the digits that an `f32` lacks.
        (Color::Floats(parts, _), Value::F64(old)) if narrowed(*old) == parts[at] => {}
        (Color::Floats(parts, _), _) => *slot = Value::F64(parts[at].into()),
        (Color::Bytes(parts, _), _) => *slot = Value::U8(parts[at]),
    };
    match value {
        Value::Bytes(bytes) => {
            if let Color::Bytes(parts, len) = color {
                *bytes = parts[..len].to_vec();
            }
        }
        Value::Struct(record) => {
            for (at, name) in PARTS.iter().enumerate() {
                if let Some(slot) = record.get_mut(name) {
                    put(slot, at);
                }
            }
        }
        Value::Seq(parts) | Value::Tuple(parts) => {
            parts.iter_mut().enumerate().for_each(|(at, slot)| put(slot, at));
        }
        _ => {}
    }
}
