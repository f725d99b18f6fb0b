# tier: quick
# about: cargo test of every crate of the workspace, with their doc tests
# shellcheck shell=bash

cargo test --workspace --locked --no-fail-fast
