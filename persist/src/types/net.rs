//! Network addresses: their octets in network order, ports as `u16`.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddrV4, SocketAddrV6};

use super::number::fixed_items;
use crate::Result;
use crate::codec::{Decoder, Fail, Generic, Layout, Persist, Prototypes};
use crate::reflect::Kind;

/// Expands to the impls of types that two functions convert to a fixed-width value and back.
macro_rules! stored_as {
    ($($ty:ident, $stored:ty, $prototype:expr, $to:expr, $from:expr;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl Persist for $ty {
            const __LAYOUT: Layout = Layout::number::<Self>(<$stored>::HEAD);

            fixed_items!();

            fn persist_kind() -> Kind {
                <$stored as Persist>::persist_kind()
            }

            fn persist_name() -> String {
                String::from(stringify!($ty))
            }

            fn persist_empty(_: &Prototypes<'_>) -> Result<Self> {
                Ok($prototype)
            }

            #[inline]
            fn __encode_head(&self, head: &mut [u8]) {
                let to: fn(&$ty) -> $stored = $to;
                to(self).__encode_head(head);
            }

            #[inline]
            fn __decode_fixed(head: &[u8], bad: &mut bool) -> Self {
                let from: fn($stored) -> $ty = $from;
                from(<$stored as Persist>::__decode_fixed(head, bad))
            }
        }
    )*};
}

stored_as! {
    Ipv4Addr, [u8; 4], Ipv4Addr::UNSPECIFIED, Ipv4Addr::octets, Ipv4Addr::from;
    Ipv6Addr, [u8; 16], Ipv6Addr::UNSPECIFIED, Ipv6Addr::octets, Ipv6Addr::from;
    SocketAddrV4, (Ipv4Addr, u16), SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0),
        |address| (*address.ip(), address.port()),
        |(ip, port)| SocketAddrV4::new(ip, port);
    SocketAddrV6, (Ipv6Addr, u16, u32, u32), SocketAddrV6::new(Ipv6Addr::UNSPECIFIED, 0, 0, 0),
        |address| (*address.ip(), address.port(), address.flowinfo(), address.scope_id()),
        |(ip, port, flow, scope)| SocketAddrV6::new(ip, port, flow, scope);
}
