//! The standard library's enums, as classes with two variants of one field.

use std::any::Any;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::ops::ControlFlow;

use super::whole_items;
use crate::codec::type_set::FieldCodec;
use crate::codec::{
    Decoder, Encoder, Fail, Generic, Layout, Persist, Prototypes, Reflect, Stop, TypeSet, Visitor,
    on_stack, out_of_line,
};
use crate::reflect::{
    Argument, Body, Class, FieldRecord, Kind, Prototype, TypeCode, VariantRecord,
};

macro_rules! std_enums {
    ($([$($param:ident)*] $ty:ty, $name:literal, $first:ident($a:ty), $second:ident($b:ty);)*) => {$(
        impl<$($param: Persist),*> Reflect for $ty {
            const CLASS: &'static Class = &Class::new::<Self>($name, Body::Enum(Self::VARIANTS))
                .arguments(&[$(Argument::Type($param::persist_name)),*])
                .prototype(Prototype::Variant(0));
            const FIELDS: &'static [FieldRecord] = &[];
            const __ROWS: &'static [&'static [FieldCodec]] =
                &[&[<$a as Persist>::__FIELD.part()], &[<$b as Persist>::__FIELD.part()]];
            const VARIANTS: &'static [VariantRecord] = &[
                VariantRecord {
                    name: stringify!($first),
                    aliases: &[],
                    fields: &[FieldRecord::new::<$a>("0", None, <$a as Persist>::persist_kind)],
                    other: false,
                    removed: &[],
                },
                VariantRecord {
                    name: stringify!($second),
                    aliases: &[],
                    fields: &[FieldRecord::new::<$b>("0", None, <$b as Persist>::persist_kind)],
                    other: false,
                    removed: &[],
                },
            ];

            fn persist_variant(&self) -> usize {
                match self {
                    Self::$first(_) => 0,
                    Self::$second(_) => 1,
                }
            }

            fn persist_field(&self, field: usize) -> Option<&dyn Any> {
                match (self, field) {
                    (Self::$first(value), 0) => Some(value),
                    (Self::$second(value), 0) => Some(value),
                    _ => None,
                }
            }

            fn persist_field_mut(&mut self, field: usize) -> Option<&mut dyn Any> {
                match (self, field) {
                    (Self::$first(value), 0) => Some(value),
                    (Self::$second(value), 0) => Some(value),
                    _ => None,
                }
            }
        }

        #[diagnostic::do_not_recommend]
        impl<$($param: Persist),*> Persist for $ty {
            const __LAYOUT: Layout = Layout {
                head: 1,
                leaf: <$a as Generic>::LEAF && <$b as Generic>::LEAF,
                on_stack: on_stack::<Self>(&[<$a as Generic>::ON_STACK, <$b as Generic>::ON_STACK]),
                ..Layout::new::<Self>()
            };
            const __CODE: &'static TypeCode =
                &TypeCode::Parts(&[<$a as Persist>::__CODE, <$b as Persist>::__CODE]);

            whole_items!();

            fn persist_kind() -> Kind {
                Kind::Class(|| Self::CLASS)
            }

            fn __reach(types: &mut TypeSet) {
                if types.class::<Self>() {
                    <$a as Persist>::__reach(types);
                    <$b as Persist>::__reach(types);
                }
            }

            fn persist_empty(prototypes: &Prototypes<'_>) -> crate::Result<Self> {
                Persist::persist_empty(prototypes).map(Self::$first)
            }

            #[inline(always)]
            fn __encode_head(&self, head: &mut [u8]) {
                head[0] = u8::from(matches!(self, Self::$second(_)));
            }

            #[inline]
            fn __encode_tail(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
                match self {
                    Self::$first(value) => out.value(value),
                    Self::$second(value) => out.value(value),
                }
            }

            #[inline]
            fn __decode(head: &[u8], input: &mut Decoder<'_>) -> Result<Self, Fail> {
                match head[0] {
                    0 => input.value().map(Self::$first),
                    1 => input.value().map(Self::$second),
                    _ => Err(Fail::Value),
                }
            }

            fn __decode_boxed(head: &[u8], input: &mut Decoder<'_>) -> Result<Box<Self>, Fail> {
                match head[0] {
                    0 => input.boxed().map(|value| out_of_line(|| Box::new(Self::$first(*value)))),
                    1 => input.boxed().map(|value| out_of_line(|| Box::new(Self::$second(*value)))),
                    _ => Err(Fail::Value),
                }
            }

            fn __visit(&mut self, visitor: &mut Visitor<'_>) -> crate::Result<()> {
                match self {
                    Self::$first(value) => value.__visit(visitor),
                    Self::$second(value) => value.__visit(visitor),
                }
            }

            fn __visit_shared(&self, visitor: &mut Visitor<'_>) -> crate::Result<()> {
                match self {
                    Self::$first(value) => value.__visit_shared(visitor),
                    Self::$second(value) => value.__visit_shared(visitor),
                }
            }
        }
    )*};
}

std_enums! {
    [B C] ControlFlow<B, C>, "ControlFlow", Continue(C), Break(B);
    [T E] Result<T, E>, "Result", Ok(T), Err(E);
    [] IpAddr, "IpAddr", V4(Ipv4Addr), V6(Ipv6Addr);
    [] SocketAddr, "SocketAddr", V4(SocketAddrV4), V6(SocketAddrV6);
}
