//! The standard library's enums, as classes with two variants of one field.

use std::any::Any;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

use crate::codec::{
    Decoder, Encoder, Fail, Order, OrderedFields, Persist, Prototypes, Reflect, Stop, TypeSet,
    Variant, Visitor,
};
use crate::reflect::{Argument, Body, Class, FieldRecord, Kind, Prototype, VariantRecord};

macro_rules! std_enums {
    ($([$($param:ident)*] $ty:ty, $name:literal, $first:ident($a:ty), $second:ident($b:ty);)*) => {$(
        impl<$($param: Persist),*> Reflect for $ty {
            const CLASS: &'static Class = &Class::new::<Self>($name, Body::Enum(Self::VARIANTS))
                .arguments(&[$(Argument::Type($param::name)),*])
                .prototype(Prototype::Variant(0));
            const FIELDS: &'static [FieldRecord] = &[];
            const VARIANTS: &'static [VariantRecord] = &[
                VariantRecord {
                    name: stringify!($first),
                    aliases: &[],
                    fields: &[FieldRecord::new::<$a>("0", None, <$a as Persist>::kind)],
                    other: false,
                },
                VariantRecord {
                    name: stringify!($second),
                    aliases: &[],
                    fields: &[FieldRecord::new::<$b>("0", None, <$b as Persist>::kind)],
                    other: false,
                },
            ];

            fn variant(&self) -> usize {
                match self {
                    Self::$first(_) => 0,
                    Self::$second(_) => 1,
                }
            }

            fn encode_field(&self, field: usize, out: &mut Encoder<'_>) -> Result<(), Stop> {
                match (self, field) {
                    (Self::$first(value), 0) => out.value(value),
                    (Self::$second(value), 0) => out.value(value),
                    _ => Err(out.no_field()),
                }
            }

            fn decode_fields(
                &mut self,
                fields: OrderedFields<'_>,
                input: &mut Decoder<'_>,
            ) -> Result<(), Fail> {
                for (field, order) in fields {
                    match (&mut *self, field) {
                        (Self::$first(value), 0) => value.decode_ordered_into(order, input)?,
                        (Self::$second(value), 0) => value.decode_ordered_into(order, input)?,
                        _ => return Err(Fail::Value),
                    }
                }
                Ok(())
            }

            fn encode_default(_: usize, _: usize, out: &mut Encoder<'_>) -> Result<(), Stop> {
                Err(out.no_field())
            }

            fn field(&self, field: usize) -> Option<&dyn Any> {
                match (self, field) {
                    (Self::$first(value), 0) => Some(value),
                    (Self::$second(value), 0) => Some(value),
                    _ => None,
                }
            }

            fn field_mut(&mut self, field: usize) -> Option<&mut dyn Any> {
                match (self, field) {
                    (Self::$first(value), 0) => Some(value),
                    (Self::$second(value), 0) => Some(value),
                    _ => None,
                }
            }
        }

        impl<$($param: Persist),*> Persist for $ty {
            const HEAD: usize = 1;
            const LEAF: bool = <$a as Persist>::LEAF && <$b as Persist>::LEAF;

            fn kind() -> Kind {
                Kind::Class(|| Self::CLASS)
            }

            fn reach(types: &mut TypeSet) {
                if types.class::<Self>() {
                    <$a as Persist>::reach(types);
                    <$b as Persist>::reach(types);
                }
            }

            fn prototype(prototypes: &Prototypes<'_>) -> crate::Result<Self> {
                Persist::prototype(prototypes).map(Self::$first)
            }

            #[inline(always)]
            fn encode_head(&self, head: &mut [u8]) {
                head[0] = u8::from(matches!(self, Self::$second(_)));
            }

            #[inline]
            fn encode_tail(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
                match self {
                    Self::$first(value) => out.value(value),
                    Self::$second(value) => out.value(value),
                }
            }

            fn decode_ordered(order: Order<'_>, input: &mut Decoder<'_>) -> Result<Self, Fail> {
                let (variant, mut fields) = match order.variant(input)? {
                    Variant::Whole(value) => return Ok(value),
                    Variant::Fields(variant, fields) => (variant, fields),
                };
                match (variant, fields.next(), fields.next()) {
                    (0, Some((0, order)), None) => {
                        Persist::decode_ordered(order, input).map(Self::$first)
                    }
                    (1, Some((0, order)), None) => {
                        Persist::decode_ordered(order, input).map(Self::$second)
                    }
                    _ => Err(Fail::Value),
                }
            }

            #[inline]
            fn decode(head: &[u8], input: &mut Decoder<'_>) -> Result<Self, Fail> {
                match head[0] {
                    0 => input.value().map(Self::$first),
                    1 => input.value().map(Self::$second),
                    _ => Err(Fail::Value),
                }
            }

            fn visit(&mut self, visitor: &mut Visitor<'_>) -> crate::Result<()> {
                match self {
                    Self::$first(value) => value.visit(visitor),
                    Self::$second(value) => value.visit(visitor),
                }
            }

            fn visit_shared(&self, visitor: &mut Visitor<'_>) -> crate::Result<()> {
                match self {
                    Self::$first(value) => value.visit_shared(visitor),
                    Self::$second(value) => value.visit_shared(visitor),
                }
            }
        }
    )*};
}

std_enums! {
    [T E] Result<T, E>, "Result", Ok(T), Err(E);
    [] IpAddr, "IpAddr", V4(Ipv4Addr), V6(Ipv6Addr);
    [] SocketAddr, "SocketAddr", V4(SocketAddrV4), V6(SocketAddrV6);
}
