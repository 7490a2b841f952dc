//! What the figures depend on: the versions of the rivals, the machine and the compiler.

const RIVALS: [&str; 6] = ["wincode", "bitcode", "savefile", "fory", "hecs", "postcard"];

/// One line on the versions and one on the machine, for the head of the figures and the foot of their picture.
pub(crate) fn lines() -> [String; 2] {
    let rivals = RIVALS.map(|name| format!("{name} {}", version(name)));
    [rivals.join(", "), format!("one core of an {}, {}", processor(), env!("COMPILER"))]
}

/// The version that the lock file gives, which is the one that was compiled.
fn version(name: &str) -> &'static str {
    let package = format!("name = \"{name}\"\nversion = \"");
    let (_, rest) = include_str!("../Cargo.lock").split_once(&package).expect("a dependency");
    rest.split_once('"').expect("a closed text").0
}

fn processor() -> String {
    let about = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = about.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    model.map_or("unknown processor", |(_, model)| model).replace("(R)", "")
}
