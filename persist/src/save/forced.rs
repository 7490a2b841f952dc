//! Every load as one of an older save: under `--cfg persist_forced_plan`, for the tests.
//!
//! Where the variable `PERSIST_FORCED_PLAN` is set, the schema of the save is really another one: fields and variants stand in
//! another order, and, unless it is `order`, numbers are wider. So the tests that values come back as they were hold for
//! records that are rewritten, too.

use std::borrow::Cow;
use std::ffi::OsString;

use super::Document;
use crate::Limits;
use crate::schema::{FieldSchema, Form, KindSchema};

/// Whether it is asked for.
pub(super) fn is_forced() -> bool {
    plan().is_some()
}

fn plan() -> Option<OsString> {
    std::env::var_os("PERSIST_FORCED_PLAN")
}

/// The save with its schema disarranged; one that is no save as it is.
pub(super) fn disarranged<'s>(save: &'s [u8], limits: &Limits) -> Cow<'s, [u8]> {
    let Some(plan) = plan() else { return Cow::Borrowed(save) };
    let Ok(document) = Document::within(save, limits) else { return Cow::Borrowed(save) };
    let widen = if plan == "order" { |_: &mut KindSchema| () } else { widen };
    let document = document.with_classes(|class| match &mut class.form {
        Form::Struct(fields) => disarrange(fields, widen),
        Form::Enum(variants) => {
            variants.reverse();
            variants.iter_mut().for_each(|variant| disarrange(&mut variant.fields, widen));
        }
        Form::Value(kind) => widen(kind),
    });
    document.to_vec().map_or(Cow::Borrowed(save), Cow::Owned)
}

fn disarrange(fields: &mut [FieldSchema], widen: fn(&mut KindSchema)) {
    fields.reverse();
    // Not all that stood together still does.
    let third = fields.len() / 3;
    fields.rotate_left(third);
    fields.iter_mut().for_each(|field| widen(&mut field.kind));
}

fn widen(kind: &mut KindSchema) {
    *kind = match kind {
        KindSchema::U8 => KindSchema::U16,
        KindSchema::U16 => KindSchema::U32,
        KindSchema::U32 => KindSchema::U64,
        KindSchema::U64 => KindSchema::U128,
        KindSchema::I8 => KindSchema::I16,
        KindSchema::I16 => KindSchema::I32,
        KindSchema::I32 => KindSchema::I64,
        KindSchema::I64 => KindSchema::I128,
        KindSchema::F32 => KindSchema::F64,
        KindSchema::Option(part)
        | KindSchema::List(part)
        | KindSchema::Set(part)
        | KindSchema::Array(part, _) => return widen(part),
        KindSchema::Map(parts) => {
            widen(&mut parts.0);
            return widen(&mut parts.1);
        }
        KindSchema::Tuple(parts) => return parts.iter_mut().for_each(widen),
        _ => return,
    };
}
