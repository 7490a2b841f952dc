use super::Parser;
use crate::Result;
use crate::value::Value;
use crate::value::text::{continues_word, starts_word};

impl Parser<'_> {
    /// The bits of a float that is no number, and its type.
    pub(super) fn nan(&mut self) -> Result<Value> {
        self.need("(")?;
        self.need("0x")?;
        let at = self.at;
        let digits = self.take_while(|c| c.is_ascii_hexdigit());
        self.need(")")?;
        let ty = self.take_while(continues_word).trim_start_matches('_');
        let narrow = u32::from_str_radix(digits, 16).map(f32::from_bits);
        let wide = u64::from_str_radix(digits, 16).map(f64::from_bits);
        match (ty, narrow, wide) {
            ("f32", Ok(number), _) if number.is_nan() => Ok(Value::F32(number)),
            ("f64", _, Ok(number)) if number.is_nan() => Ok(Value::F64(number)),
            _ => Err(self.bad(at, &format!("{digits} are not the bits of a NaN of {ty:?}"))),
        }
    }

    pub(super) fn number(&mut self) -> Result<Value> {
        let start = self.at;
        if self.peek() == Some('-') {
            self.at += 1;
            if self.peek().is_some_and(starts_word) {
                let word = self.take_while(continues_word);
                return infinite(word, true)
                    .ok_or_else(|| self.bad(start, "expected a number after `-`"));
            }
        }
        let digits = |c: char| c.is_ascii_digit() || c == '_';
        self.take_while(digits);
        let mut is_float = false;
        if self.rest().starts_with('.') {
            is_float = true;
            self.at += 1;
            self.take_while(digits);
        }
        if let Some(rest) = self.rest().strip_prefix(['e', 'E']) {
            is_float = true;
            self.at += 1 + usize::from(rest.starts_with(['+', '-']));
            self.take_while(digits);
        }
        let number: String = self.text[start..self.at].chars().filter(|c| *c != '_').collect();
        let ty = self.take_while(continues_word);
        let value = match ty {
            "" if is_float => finite(number.parse().ok()).map(Value::F64),
            "" => whole(&number),
            "f32" => number.parse().ok().filter(|number: &f32| number.is_finite()).map(Value::F32),
            "f64" => finite(number.parse().ok()).map(Value::F64),
            "u8" => number.parse().ok().map(Value::U8),
            "u16" => number.parse().ok().map(Value::U16),
            "u32" => number.parse().ok().map(Value::U32),
            "u64" => number.parse().ok().map(Value::U64),
            "u128" => number.parse().ok().map(Value::U128),
            "i8" => number.parse().ok().map(Value::I8),
            "i16" => number.parse().ok().map(Value::I16),
            "i32" => number.parse().ok().map(Value::I32),
            "i64" => number.parse().ok().map(Value::I64),
            "i128" => number.parse().ok().map(Value::I128),
            _ => None,
        };
        value.ok_or_else(|| {
            let what = &self.text[start..self.at];
            let short: String = what.chars().take(60).collect();
            self.bad(start, &format!("{short} is no number, or does not fit its type"))
        })
    }
}

/// The infinity that a word is: `inf`, `inf_f32` or `inf_f64`.
pub(super) fn infinite(word: &str, negative: bool) -> Option<Value> {
    let sign = if negative { -1.0 } else { 1.0 };
    match word {
        "inf_f32" => Some(Value::F32(f32::INFINITY * sign)),
        "inf" | "inf_f64" => Some(Value::F64(f64::INFINITY * f64::from(sign))),
        _ => None,
    }
}

fn finite(number: Option<f64>) -> Option<f64> {
    number.filter(|number| number.is_finite())
}

/// An integer without its type.
fn whole(number: &str) -> Option<Value> {
    let narrow = number.parse().map(Value::I64).or_else(|_| number.parse().map(Value::U64));
    let wide = || number.parse().map(Value::I128).or_else(|_| number.parse().map(Value::U128));
    narrow.or_else(|_| wide()).ok()
}
