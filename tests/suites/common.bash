# Loaded before every suite, in the repository's root, under `set -euo pipefail`.
# shellcheck shell=bash

# A suite's own scratch space and the tools that .ci/run installs.
export PATH=$ROOT/target/tools/bin:$PATH

say() { echo "    $*"; }

fail() {
  echo "    $*" >&2
  exit 1
}

# The suite cannot run on this machine, and why.
not_run() {
  echo "$*" >"$REASON_FILE"
  say "not run: $*"
  exit 77
}

# Whether packages may be installed: root, and a system with apt.
can_apt() { [[ $(id -u) -eq 0 ]] && command -v apt-get >/dev/null; }

# Brings apt's lists up to date, unless this checkout did so within the last twelve hours.
apt_lists() {
  local stamp=$ROOT/target/suites/apt-lists
  if [[ -z $(find "$stamp" -mmin -720 2>/dev/null) ]]; then
    apt-get update -qq >&2 || return 1
    touch "$stamp"
  fi
}

# need_program PROGRAM PACKAGE...: the program is there, or is installed where that is allowed,
# or the suite is not run.
need_program() {
  local program=$1
  shift
  command -v "$program" >/dev/null && return 0
  can_apt || not_run "$program is missing (Debian: $*)"
  apt_install "$@" || not_run "$program is missing, and apt could not install $*"
  command -v "$program" >/dev/null || not_run "$program is missing after apt installed $*"
}

# apt_install PACKAGE...
apt_install() {
  say "apt: $*"
  apt_lists || return 1
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

# The triple of the installed compiler, and its sysroot.
host_triple() { rustc -vV | sed -n 's/^host: //p'; }
sysroot_lib() { echo "$(rustc --print sysroot)/lib/rustlib/$(host_triple)/lib"; }

# The linker that comes with the installed compiler.
need_rust_lld() {
  RUST_LLD=$(rustc --print sysroot)/lib/rustlib/$(host_triple)/bin/rust-lld
  [[ -x $RUST_LLD ]] || not_run "the installed Rust has no rust-lld"
}

# tests_needing FEATURE: the test targets of agentwire-tests that are there only with FEATURE, by
# `required-features` in tests/Cargo.toml or by `#![cfg(feature = "FEATURE")]` in their main file.
tests_needing() {
  cargo metadata --no-deps --format-version 1 | python3 -c '
import json, sys
feature = sys.argv[1]
for package in json.load(sys.stdin)["packages"]:
    if package["name"] == "agentwire-tests":
        for target in package["targets"]:
            if "test" in target["kind"] and (
                feature in target.get("required-features", [])
                or f"feature = \"{feature}\"" in open(target["src_path"]).read()
            ):
                print(target["name"])
' "$1"
}

# Debian's frozen Rust 1.85 (`rustc-web`), with the source of its library, unpacked into target/:
# nothing is installed. It shows the core's rust-version, and builds the library for targets
# that the installed toolchain has no library for. Sets DEBIAN_RUST, and the functions below use it.
DEBIAN_RUST=$ROOT/target/debian-rust
debian_rust() {
  local series=1.85.0 version package debs
  local packages=(rustc-web libstd-rust-web-1.85 libstd-rust-web-dev rust-web-src)
  if [[ ! -f $DEBIAN_RUST/ready ]]; then
    command -v apt-get >/dev/null && command -v dpkg >/dev/null ||
      not_run "needs Debian's rustc-web $series, and this system has no apt"
    if can_apt; then apt_lists || say "apt-get update failed; trying with the lists there are"; fi
    # The revision moves with security fixes; the newest one of the series is listed first.
    version=$(apt-cache madison rustc-web | awk -v s="$series" 'index($3, s) == 1 {print $3; exit}')
    [[ -n $version ]] || not_run "apt knows no rustc-web $series (Debian 12 has it)"
    say "unpacking Debian's rustc-web $version"
    debs=$DEBIAN_RUST/debs
    rm -rf "$DEBIAN_RUST"
    mkdir -p "$debs"
    (cd "$debs" && apt-get download -qq "${packages[@]/%/=$version}" libllvm19) ||
      not_run "apt could not download rustc-web $version"
    for package in "$debs"/*.deb; do dpkg -x "$package" "$DEBIAN_RUST"; done
    rm -rf "$debs"
    debian_rustc -V >/dev/null || not_run "Debian's rustc-web $version does not start here"
    touch "$DEBIAN_RUST/ready"
  fi
}

# with_debian_rust COMMAND...: runs it so that cargo uses that compiler.
with_debian_rust() {
  local libs
  libs=$(echo "$DEBIAN_RUST"/usr/lib/*-linux-gnu):$DEBIAN_RUST/usr/lib
  LD_LIBRARY_PATH=$libs RUSTC=$DEBIAN_RUST/usr/bin/rustc RUSTDOC=$DEBIAN_RUST/usr/bin/rustdoc "$@"
}
debian_rustc() { with_debian_rust "$DEBIAN_RUST/usr/bin/rustc" "$@"; }

# run_tests_needing FEATURE: runs those test targets. They are built as parts of the workspace,
# so that everything beneath them is what the workspace's own tests have built already.
run_tests_needing() {
  local name targets=()
  for name in $(tests_needing "$1"); do targets+=(--test "$name"); done
  [[ ${#targets[@]} -gt 0 ]] || not_run "no test target of agentwire-tests needs the feature $1"
  cargo test --workspace --locked --no-fail-fast --features "agentwire-tests/$1" "${targets[@]}"
}

# install_peers: the programs from the Python and npm registries, pinned, with hashes, by
# tests/peers/requirements.txt and tests/peers/package-lock.json, and installed under target/peers,
# without root and once for each content of the lock files. Test targets find them in venv/bin and
# node_modules of the folder that AGENTWIRE_PEERS names.
install_peers() {
  local peers=$ROOT/target/peers locks
  python3 -c "import sys; sys.exit(sys.version_info < (3, 10))" ||
    not_run "the pinned peers need Python 3.10 or newer"

  need_program node nodejs
  need_program npm npm

  locks=tests/peers/requirements.txt
  [[ -f tests/peers/package-lock.json ]] && locks+=" tests/peers/package-lock.json"
  # shellcheck disable=SC2086 # two names
  locks=$(cat $locks | sha256sum | cut -d ' ' -f 1)

  if [[ $(cat "$peers/stamp" 2>/dev/null) != "$locks" ]]; then
    rm -rf "$peers"
    mkdir -p "$peers"
    say "installing the Python peers"
    python3 -m venv "$peers/venv"
    "$peers/venv/bin/pip" install --quiet --require-hashes --no-deps --only-binary :all: \
      -r tests/peers/requirements.txt
    if [[ -f tests/peers/package-lock.json ]]; then
      say "installing the npm peers"
      cp tests/peers/package.json tests/peers/package-lock.json "$peers/"
      (cd "$peers" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error)
    fi
    echo "$locks" >"$peers/stamp"
  fi
  "$peers/venv/bin/python" -m pip check >/dev/null || fail "the pinned Python peers do not fit together"
  export AGENTWIRE_PEERS=$peers
}
