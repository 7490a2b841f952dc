//! Measures a value that could not be loaded, so that the load continues after it.
//!
//! Its bytes have the form of the program's type. Values of classes that are found by number have the form of the
//! program or of the save.

use crate::Result;
use crate::codec::{Decoder, Fail, NoLinks, count};
use crate::env::Env;
use crate::schema::walk::{length, text_bytes};
use crate::schema::{Form, KindSchema, Plans, dynamic, fault, tag};

/// Bytes of a handle.
const HANDLE: usize = 9;

/// How many of these bytes the values of these kinds of the program take.
pub(crate) fn converted_length(
    plans: &Plans<'_>,
    kinds: &[KindSchema],
    (bytes, numbers): (&[u8], Option<&[u64]>),
    env: &Env<'_>,
) -> Result<usize> {
    let mut links = NoLinks::default();
    let mut input = Decoder::new(bytes, env, &mut links).in_page(numbers);
    for kind in kinds {
        skip(plans, kind, &mut input)
            .map_err(|fail| input.take_error().unwrap_or_else(|| fault(fail)))?;
    }
    Ok(bytes.len() - input.rest().len())
}

fn skip(plans: &Plans<'_>, kind: &KindSchema, input: &mut Decoder<'_>) -> Result<(), Fail> {
    match kind {
        KindSchema::Bool => input.value::<bool>().map(drop),
        KindSchema::Char => input.value::<char>().map(drop),
        KindSchema::Compact(integer) => integer.count(input).map(drop),
        KindSchema::Text => match std::str::from_utf8(text_bytes(input)?) {
            Ok(_) => Ok(()),
            Err(_) => Err(Fail::Text),
        },
        KindSchema::Option(part) => match input.value::<bool>()? {
            true => skip(plans, part, input),
            false => Ok(()),
        },
        KindSchema::List(_) | KindSchema::Set(_) | KindSchema::Map(_) => {
            let count = count::decode(input)?;
            skip_each(plans, kind.parts(), count, input)
        }
        KindSchema::Array(_, len) => skip_each(plans, kind.parts(), *len as u64, input),
        KindSchema::Tuple(parts) => skip_each(plans, parts, 1, input),
        KindSchema::Class(class) => skip_class(plans, *class, input),
        KindSchema::Reference { .. } | KindSchema::TraitReference { .. } => {
            count::decode(input).map(drop)
        }
        KindSchema::Handle(_) => input.take(HANDLE).map(drop),
        KindSchema::Dynamic(_) => {
            let class = dynamic(&plans.stored, input)?;
            match plans.resolve(class).filter(|_| plans.rewrites_dynamic(class)) {
                Some(class) => input.nested(|input| skip_class(plans, class, input)),
                None => skip_stored(plans, class, input),
            }
        }
        KindSchema::Unknown => {
            for _ in 0..count::decode(input)? {
                // A field or a variant alone has no number of a class.
                let class = input.count()?.checked_sub(1).ok_or(Fail::Value)?;
                if class >= plans.stored.len() && plans.stored.unknown_member(class).is_none() {
                    return Err(Fail::Value);
                }
                skip_stored(plans, class, input)?;
            }
            Ok(())
        }
        // All others have a fixed width.
        kind => input.take(kind.width()).map(drop),
    }
}

/// Passes `count` values, each of these parts.
fn skip_each(
    plans: &Plans<'_>,
    parts: &[KindSchema],
    count: u64,
    input: &mut Decoder<'_>,
) -> Result<(), Fail> {
    input.nested(|input| {
        for _ in 0..count {
            let previous = input.rest().len();
            parts.iter().try_for_each(|part| skip(plans, part, input))?;
            // Any number of values without bytes is none.
            if input.rest().len() == previous {
                break;
            }
        }
        Ok(())
    })
}

/// Passes a value of a class of the program.
fn skip_class(plans: &Plans<'_>, class: usize, input: &mut Decoder<'_>) -> Result<(), Fail> {
    let form = &plans.program.classes[class].form;
    let fields = match form {
        Form::Value(kind) => return input.nested(|input| skip(plans, kind, input)),
        Form::Struct(fields) => fields,
        Form::Enum(variants) => {
            let variant = tag(form, input)?;
            &variants.get(variant).ok_or(Fail::Value)?.fields
        }
    };
    input.nested(|input| fields.iter().try_for_each(|field| skip(plans, &field.kind, input)))
}

/// Passes a value of a class of the save, as it is stored.
fn skip_stored(plans: &Plans<'_>, class: usize, input: &mut Decoder<'_>) -> Result<(), Fail> {
    let (class, numbers) = ((class, &*plans.stored), input.numbers());
    let length = length(class, input.rest(), numbers, input.limits(), &mut |_, _, _| true);
    let length = length.map_err(|error| input.refuse(error))?;
    input.take(length).map(drop)
}
