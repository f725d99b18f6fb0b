# tier: system
# about: the core's own tests with the oldest Rust it promises (Debian's 1.85)
# shellcheck shell=bash

promised=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' core/Cargo.toml)
debian_rust
have=$(debian_rustc -V | awk '{print $2}')
[[ $have == "$promised".* ]] || fail "core promises Rust $promised, the frozen toolchain is $have"
say "$(debian_rustc -V)"

# Every feature compiles, but for those that say that they need a newer Rust: `card`. The tests run
# without defmt, which links for embedded targets alone.
with_debian_rust cargo check -p agentwire-core --locked --target-dir target/msrv \
  --features loopback,serde,arbitrary,canonical,sign,defmt
with_debian_rust cargo test -p agentwire-core --locked --no-fail-fast --target-dir target/msrv \
  --features loopback,serde,arbitrary,canonical
