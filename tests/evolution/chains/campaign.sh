#!/usr/bin/env bash
# Tries families of types by the thousand, as tests/evolution/chains does with some: a crate of its own for each batch,
# since the compiler takes a second for each family.
#
#     tests/evolution/chains/campaign.sh [FAMILIES] [FIRST SEED]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
work=${CARGO_TARGET_DIR:-$root/target}/chains
trees=50 # 9 families each
batches=$(((${1:-10000} + trees * 9 - 1) / (trees * 9)))
mkdir -p "$work/src"
cat > "$work/Cargo.toml" <<TOML
[package]
name = "chains"
version = "0.0.0"
edition = "2024"
[dependencies]
persist = { path = "$root/persist" }
persist-tests = { path = "$root/tests" }
[profile.dev]
debug = 0
[profile.dev.package.persist]
opt-level = 1
[workspace]
TOML
printf '#[cfg(test)]\nmod chains;\n' > "$work/src/lib.rs"
mkdir -p "$work/src/chains"
cp "$here/mod.rs" "$work/src/chains/mod.rs"
for ((batch = 0; batch < batches; batch++)); do
    seed=$((${2:-1000} + batch))
    python3 "$here/generate.py" "$seed" "$trees" > "$work/src/chains/families.rs"
    echo "seed $seed"
    (cd "$work" && cargo test -q --lib -- --nocapture 2>&1 | grep -vE '^(warning|running|test result|\.|$)')
done
