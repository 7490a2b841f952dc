//! Conditions in paths, such as `[current < 5]`, slices, and how values are compared.

use std::cmp::Ordering;
use std::ops::Range;

use persist::Value;

use crate::path::Step;
use crate::values::{innermost, integer, is_same_key};

/// A condition, which holds if all comparisons of one of its lists do.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Condition {
    pub(crate) any: Vec<Vec<Comparison>>,
}

/// A comparison of the values that some steps lead to with a value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Comparison {
    /// Its left side as it was typed.
    pub(crate) text: String,
    pub(crate) left: Vec<Step>,
    pub(crate) operator: Operator,
    pub(crate) right: Value,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    /// A text has another one in it.
    Contains,
}

/// The operators as they stand in a path, those of two characters first.
pub(crate) const OPERATORS: [(&str, Operator); 7] = [
    ("==", Operator::Equal),
    ("!=", Operator::NotEqual),
    ("<=", Operator::LessOrEqual),
    (">=", Operator::GreaterOrEqual),
    ("<", Operator::Less),
    (">", Operator::Greater),
    ("~", Operator::Contains),
];

impl Comparison {
    /// Returns whether it holds for a value at its left.
    pub(crate) fn holds_for(&self, left: &Value) -> bool {
        let (left, right) = (innermost(left), &self.right);
        match self.operator {
            Operator::Equal => is_equal(left, right),
            Operator::NotEqual => !is_equal(left, right),
            Operator::Less => order(left, right).is_some_and(Ordering::is_lt),
            Operator::LessOrEqual => order(left, right).is_some_and(Ordering::is_le),
            Operator::Greater => order(left, right).is_some_and(Ordering::is_gt),
            Operator::GreaterOrEqual => order(left, right).is_some_and(Ordering::is_ge),
            Operator::Contains => match (left, right) {
                (Value::Text(text), Value::Text(part)) => text.contains(part),
                (Value::Text(text), Value::Char(part)) => text.contains(*part),
                _ => false,
            },
        }
    }
}

/// Returns whether a value of a save is the one that a person typed: numbers whatever their kinds, variants by their
/// names alone.
pub(crate) fn is_equal(value: &Value, typed: &Value) -> bool {
    match (value, typed) {
        (Value::Ref(None) | Value::Option(None), Value::Ref(None) | Value::Option(None)) => true,
        (Value::Enum(record), Value::Text(name)) => record.variant() == Some(name),
        _ => order(value, typed) == Some(Ordering::Equal) || is_same_key(value, typed),
    }
}

/// Returns the order of two numbers, texts or characters; `None` for other values.
pub(crate) fn order(value: &Value, typed: &Value) -> Option<Ordering> {
    match (value, typed) {
        (Value::Text(one), Value::Text(other)) => Some(one.cmp(other)),
        (Value::Char(one), Value::Char(other)) => Some(one.cmp(other)),
        (Value::Char(one), Value::Text(other)) => Some(one.to_string().cmp(other)),
        (Value::U128(one), Value::U128(other)) => Some(one.cmp(other)),
        _ => match (integer(value), integer(typed)) {
            (Some(one), Some(other)) => Some(one.cmp(&other)),
            (Some(one), None) => order_of_float(float(typed)?, one).map(Ordering::reverse),
            (None, Some(other)) => order_of_float(float(value)?, other),
            (None, None) => order_of_floats(value, typed),
        },
    }
}

/// Returns the order of two floats. Nobody types the digits that a float of 32 bits has as one of 64.
#[expect(clippy::cast_possible_truncation, reason = "the nearest float of 32 bits is meant")]
fn order_of_floats(value: &Value, typed: &Value) -> Option<Ordering> {
    match (value, typed) {
        (Value::F32(one), Value::F64(other)) => one.partial_cmp(&(*other as f32)),
        _ => float(value)?.partial_cmp(&float(typed)?),
    }
}

/// Returns the order of a float and an integer, which no rounding changes.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "both are compared"
)]
fn order_of_float(float: f64, integer: i128) -> Option<Ordering> {
    let order = float.partial_cmp(&(integer as f64))?;
    Some(order.then_with(|| (float as i128).cmp(&integer)))
}

fn float(value: &Value) -> Option<f64> {
    match value {
        Value::F32(number) => Some((*number).into()),
        Value::F64(number) => Some(*number),
        _ => None,
    }
}

/// A part of a list, such as `[2:]`. Negative numbers count from the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slice {
    pub(crate) from: Option<i64>,
    pub(crate) to: Option<i64>,
}

impl Slice {
    /// Parses the text between the brackets; `None` if it is no slice.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let number = |text: &str| match text.trim() {
            "" => Some(None),
            text => text.parse().ok().map(Some),
        };
        let (from, to) = text.split_once(':')?;
        Some(Self { from: number(from)?, to: number(to)? })
    }

    /// The element at an index, which may count from the end.
    pub(crate) fn of_index(index: i64) -> Self {
        Self { from: Some(index), to: index.checked_add(1).filter(|end| *end != 0) }
    }

    /// Returns the indices that it means in a list of a length. Beyond the ends of the list there are none.
    pub(crate) fn range(self, length: usize) -> Range<usize> {
        let place = |index: i64| {
            let distance = usize::try_from(index.unsigned_abs()).unwrap_or(usize::MAX);
            if index < 0 { length.saturating_sub(distance) } else { distance.min(length) }
        };
        let (start, end) = (self.from.map_or(0, place), self.to.map_or(length, place));
        start..end.max(start)
    }
}

/// Returns the index that a key means in a list of a length; `None` beyond its ends.
pub(crate) fn index(key: &Value, length: usize) -> Option<usize> {
    let key = integer(key)?;
    let at = if key < 0 { i128::try_from(length).ok()?.checked_add(key)? } else { key };
    usize::try_from(at).ok().filter(|at| *at < length)
}

/// Returns whether the text between brackets is a condition: it compares something.
pub(crate) fn is_condition(text: &str) -> bool {
    find_bare(text, &["==", "!=", "<", ">", "~"]).is_some()
}

/// Returns the first place where one of some texts stands in no quotes and no brackets, with that text.
pub(crate) fn find_bare<'o>(text: &str, targets: &[&'o str]) -> Option<(usize, &'o str)> {
    let (mut quote, mut depth, mut chars) = (None, 0_usize, text.char_indices());
    while let Some((at, c)) = chars.next() {
        if quote.is_none()
            && depth == 0
            && let Some(target) = targets.iter().find(|target| text[at..].starts_with(**target))
        {
            return Some((at, target));
        }
        match (quote, c) {
            (_, '\\') => {
                chars.next();
            }
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '`' | '\'') => quote = Some(c),
            (None, '[' | '(' | '{') => depth += 1,
            (None, ']' | ')' | '}') => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}

/// Returns the place of a closing quote.
pub(crate) fn closing(text: &str, quote: char) -> Option<usize> {
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        if c == '\\' {
            chars.next();
        } else if c == quote {
            return Some(at);
        }
    }
    None
}

/// Splits a text at a separator that stands in no quotes and no brackets.
pub(crate) fn split_bare<'t>(mut text: &'t str, separator: &str) -> Vec<&'t str> {
    let mut parts = Vec::new();
    while let Some((at, _)) = find_bare(text, &[separator]) {
        parts.push(&text[..at]);
        text = &text[at + separator.len()..];
    }
    parts.push(text);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_ends_with_its_list() {
        let range = |text: &str, length| Slice::parse(text).expect(text).range(length);
        assert_eq!(range("0:3", 5), 0..3);
        assert_eq!(range("2:", 5), 2..5);
        assert_eq!(range(":5", 3), 0..3);
        assert_eq!(range("-2:", 5), 3..5);
        assert_eq!(range(" 1 : -1 ", 5), 1..4);
        assert_eq!(range(":", 2), 0..2);
        assert!(range("4:2", 5).is_empty());
        assert!(range("7:9", 5).is_empty());
        assert!(range("-9:", 0).is_empty());
        assert_eq!(range(&format!("{}:{}", i64::MIN, i64::MAX), 5), 0..5);
        assert_eq!([Slice::parse("a:b"), Slice::parse("1"), Slice::parse("1:2:3")], [None; 3]);
        assert_eq!(Slice::of_index(-1).range(5), 4..5);
        assert_eq!(Slice::of_index(1).range(5), 1..2);
        assert!(Slice::of_index(i64::MAX).range(5).is_empty());
    }

    #[test]
    fn an_index_from_the_end_is_in_the_list() {
        let at = |key: i64, length| index(&Value::I64(key), length);
        assert_eq!([at(0, 2), at(1, 2), at(2, 2)], [Some(0), Some(1), None]);
        assert_eq!([at(-1, 2), at(-2, 2), at(-3, 2)], [Some(1), Some(0), None]);
        assert_eq!(index(&Value::I128(i128::MIN), 2), None);
        assert_eq!(index(&Value::U128(u128::MAX), 2), None);
    }

    #[test]
    fn numbers_are_compared_whatever_their_kinds() {
        let order = |value: Value, typed: &str| order(&value, &typed.parse().expect(typed));
        let (less, equal, greater) =
            (Some(Ordering::Less), Some(Ordering::Equal), Some(Ordering::Greater));
        assert_eq!(order(5_u8.into(), "5"), equal);
        assert_eq!(order(Value::F32(0.1), "0.1"), equal);
        assert_eq!(order(Value::F64(0.1), "0.1"), equal);
        assert_eq!(order(5_u8.into(), "5.5"), less);
        assert_eq!(order(Value::F64(5.5), "5"), greater);
        assert_eq!(order(Value::U64((1 << 53) + 1), "9007199254740992.0"), greater);
        assert_eq!(order(Value::F64(9_007_199_254_740_992.0), "9007199254740993"), less);
        assert_eq!(order(Value::F64(f64::INFINITY), "5"), greater);
        assert_eq!(order(Value::F64(f64::NAN), "5"), None);
        assert_eq!(order(Value::U128(u128::MAX), "5"), None);
        assert_eq!(order("5".into(), "5"), None);
    }
}
