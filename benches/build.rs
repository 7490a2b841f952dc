//! Lets the data sets derive the rivals' traits too, and names the compiler for the figures.

use std::env;
use std::process::Command;

fn main() {
    println!("cargo::rustc-check-cfg=cfg(rivals)");
    println!("cargo::rustc-cfg=rivals");
    println!("cargo::rerun-if-changed=build.rs");
    let version =
        Command::new(env::var_os("RUSTC").expect("cargo sets it")).arg("--version").output();
    let version = String::from_utf8(version.expect("it compiles this").stdout).expect("it is text");
    // Without the commit and its date in brackets.
    let version = version.split(" (").next().unwrap_or_default();
    println!("cargo::rustc-env=COMPILER={version}");
}
