# tier: system
# about: a program with the core and nothing else links, runs and holds every check
# shellcheck shell=bash

program_size() { size "$1" | awk 'NR == 2 {print $1 " bytes of text, " $2 + $3 " of data"}'; }

host=$(host_triple)
[[ $host == x86_64-unknown-linux-gnu ]] || not_run "the program is written for Linux on x86-64, this is $host"

# build_and_run MODE FLAGS...: no start files, no libraries, nothing left undefined.
build_and_run() {
  local mode=$1 output program=target/freestanding/$host/release/freestanding
  shift
  RUSTFLAGS="-C link-arg=-nostartfiles -C link-arg=-nostdlib -C link-arg=-static -C relocation-model=static" \
    cargo build -q --release --locked --manifest-path tests/freestanding/Cargo.toml \
    --target "$host" --target-dir target/freestanding "$@"
  if nm -u "$program" | grep .; then fail "$mode: symbols are undefined"; fi
  if [[ $mode == "without alloc" ]] && nm "$program" | grep -E '__rust_alloc|__rg_alloc|__rdl_alloc'; then
    fail "$mode: an allocator is linked"
  fi
  output=$("$program") || fail "$mode: exit code $?: $output"
  say "$mode: $output"
  say "$mode: $(program_size "$program")"
  "${program%/*}/machines" || fail "$mode: an exchange alone: exit code $?"
  say "$mode: caller and responder alone: $(program_size "${program%/*}/machines")"
}

build_and_run "without alloc"
build_and_run "with alloc" --features alloc
