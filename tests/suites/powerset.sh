# tier: system
# about: every pair of the core's features compiles without a warning (cargo-hack)
# shellcheck shell=bash

command -v cargo-hack >/dev/null ||
  not_run "cargo-hack is missing (cargo install --locked cargo-hack)"

# A target directory of its own, because the flag would make everything else build again.
RUSTFLAGS=-Dwarnings cargo hack check -p agentwire-core --feature-powerset --depth 2 \
  --exclude-features default --target-dir target/powerset
