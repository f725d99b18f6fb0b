# tier: quick
# about: the programs that building and testing need, in versions that will do
# shellcheck shell=bash

missing=0
lack() {
  echo "    MISSING $*"
  missing=1
}

# at_least HAVE WANT: compares versions of the form 1.2.3.
at_least() { [[ $(printf '%s\n' "$2" "$1" | sort -V | head -n 1) == "$2" ]]; }

want=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' core/Cargo.toml io-*/Cargo.toml | sort -V | tail -n 1)
if ! command -v rustc >/dev/null || ! command -v cargo >/dev/null; then
  lack "Rust $want or newer, rustc and cargo (rustup installs both)"
else
  have=$(rustc -V | awk '{print $2}')
  at_least "$have" "$want" && say "rustc $have (wanted $want)" || lack "Rust $want or newer; this one is $have"
fi

if command -v cc >/dev/null; then
  say "cc $(cc -dumpversion 2>/dev/null)"
else
  lack "a C compiler named cc, which also links (Debian: gcc libc6-dev)"
fi
if ! command -v python3 >/dev/null; then
  lack "Python 3.10 or newer (Debian: python3 python3-venv)"
else
  have=$(python3 -c 'import platform; print(platform.python_version())')
  at_least "$have" 3.10 && say "python3 $have" || lack "Python 3.10 or newer; this one is $have"
  python3 -c 'import venv, ensurepip' 2>/dev/null || lack "Python's venv with pip (Debian: python3-venv)"
fi

if ! command -v node >/dev/null; then
  lack "node 20 or newer (Debian 13: nodejs)"
else
  have=$(node --version)
  at_least "${have#v}" 20 && say "node ${have#v}" || lack "node 20 or newer; this one is ${have#v}"
fi
command -v npm >/dev/null && say "npm $(npm --version)" || lack "npm, node's package manager (Debian: npm)"

[[ $missing -eq 0 ]]
