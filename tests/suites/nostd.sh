# tier: system
# about: the core compiles where there is no std, and where there is no heap either
# shellcheck shell=bash
#
# A sysroot that holds nothing but `core` (and, in a second one, `alloc`), copied from the
# installed toolchain: a crate anywhere in the graph that links more does not compile.
# With --target, the flags leave build scripts and procedural macros alone.

host=$(host_triple)
lib=$(sysroot_lib)

make_sysroot() {
  local name=$1 crate out
  shift
  out=target/nostd/$name/lib/rustlib/$host/lib
  rm -rf "target/nostd/$name"
  mkdir -p "$out"
  for crate in "$@"; do cp "$lib/lib$crate"-*.r* "$out/"; done
}

check() {
  local sysroot=$1
  shift
  RUSTFLAGS="--sysroot=$PWD/target/nostd/$sysroot" cargo check -q -p agentwire-core --locked \
    --no-default-features --target "$host" --target-dir "target/nostd/build-$sysroot" "$@"
}

compiles() {
  check "$@" || fail "does not compile on the sysroot: $*"
  say "compiles: $*"
}

# refused SYSROOT FEATURE CRATE: the feature must fail for want of that crate. Without this the
# sysroot could hold more than it should and nobody would see.
refused() {
  local output
  if output=$(check "$1" --features "$2" 2>&1); then fail "compiles though it must not: $1 --features $2"; fi
  grep -q "can't find crate for \`$3\`" <<<"$output" || fail "refused for another reason: $output"
  say "refused, as it must be: $1 --features $2"
}

make_sysroot core core compiler_builtins rustc_std_workspace_core
make_sysroot alloc core compiler_builtins rustc_std_workspace_core alloc rustc_std_workspace_alloc

compiles core
compiles core --features serde,defmt,sign
compiles alloc --features alloc
compiles alloc --features alloc,loopback,serde,defmt,sign
compiles alloc --features alloc,card
refused core alloc alloc
refused alloc std std
