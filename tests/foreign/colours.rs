use rgb::{Bgr, Bgra, Rgb, Rgba};

use crate::support::{golden, is_stored_as, same_kind};

#[test]
fn colours_are_red_green_blue_alpha() {
    golden(&Rgb { r: 1_u8, g: 2, b: 3 }, &[1, 2, 3]);
    golden(&Bgr { r: 1_u8, g: 2, b: 3 }, &[1, 2, 3]);
    golden(&Rgba { r: 1_u8, g: 2, b: 3, a: 4 }, &[1, 2, 3, 4]);
    golden(&Bgra { r: 1_u16, g: 2, b: 3, a: 4 }, &[1, 0, 2, 0, 3, 0, 4, 0]);
    same_kind(&Bgr { r: 1_u8, g: 2, b: 3 }, &Rgb { r: 1_u8, g: 2, b: 3 });
}

#[test]
fn colours_come_back() {
    is_stored_as::<Rgb<u8>, [u8; 3]>(|[r, g, b]| Rgb { r, g, b }, |it| [it.r, it.g, it.b]);
    is_stored_as::<Bgr<f32>, [f32; 3]>(|[r, g, b]| Bgr { b, g, r }, |it| [it.r, it.g, it.b]);
    is_stored_as::<Rgba<u16>, [u16; 4]>(
        |[r, g, b, a]| Rgba { r, g, b, a },
        |it| [it.r, it.g, it.b, it.a],
    );
    is_stored_as::<Bgra<u8>, [u8; 4]>(
        |[r, g, b, a]| Bgra { b, g, r, a },
        |it| [it.r, it.g, it.b, it.a],
    );
}
