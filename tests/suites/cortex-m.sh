# tier: system
# about: the same checks on an emulated Cortex-M4 (QEMU)
# shellcheck shell=bash

target=thumbv7em-none-eabihf
debian_rust
need_rust_lld
need_program qemu-system-arm qemu-system-arm

CARGO_TARGET_THUMBV7EM_NONE_EABIHF_LINKER=$RUST_LLD \
  CARGO_TARGET_THUMBV7EM_NONE_EABIHF_RUSTFLAGS="-C link-arg=-T$PWD/tests/cortex-m/memory.ld" \
  RUSTC_BOOTSTRAP=1 with_debian_rust cargo build -q -Z build-std=core --release --locked \
  --manifest-path tests/cortex-m/Cargo.toml --target "$target" --target-dir target/cortex-m

program=target/cortex-m/$target/release/cortex-m
output=$(timeout 120 qemu-system-arm -cpu cortex-m4 -machine mps2-an386 -nographic -monitor none \
  -serial none -semihosting-config enable=on,target=native -kernel "$program") ||
  fail "exit code $?: $output"
say "$output"
say "$(size "$program" | awk 'NR == 2 {print $1 " bytes of text, " $2 + $3 " of data"}')"
