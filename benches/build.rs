//! Lets the data sets derive the rivals' traits too.

fn main() {
    println!("cargo::rustc-check-cfg=cfg(rivals)");
    println!("cargo::rustc-cfg=rivals");
    println!("cargo::rerun-if-changed=build.rs");
}
