# tier: system
# about: the same checks as a WebAssembly module without imports (node)
# shellcheck shell=bash

target=wasm32-unknown-unknown
command -v node >/dev/null || not_run "node is missing"
debian_rust
need_rust_lld

CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER=$RUST_LLD \
  RUSTC_BOOTSTRAP=1 with_debian_rust cargo build -q -Z build-std=core --release --locked \
  --manifest-path tests/wasm/Cargo.toml --target "$target" --target-dir target/wasm

module=target/wasm/$target/release/wasm.wasm
output=$(node tests/wasm/run.mjs "$module") || fail "exit code $?: $output"
say "$output"
say "$(stat -c %s "$module") bytes of module"
