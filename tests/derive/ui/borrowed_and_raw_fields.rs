use persist::Persist;

#[derive(Persist)]
struct Label<'a> {
    text: &'a str,
    next: *const u8,
    #[persist(skipp)]
    width: u32,
}

#[derive(Persist)]
#[repr(C, packed)]
struct Packet {
    length: u32,
}

#[derive(Persist)]
union Bits {
    whole: u32,
    parts: [u8; 4],
}

fn main() {}
