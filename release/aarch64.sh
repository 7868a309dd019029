#!/usr/bin/env bash
# Run the wheel for Linux on aarch64 under qemu-user, with Debian's Python and PyPI's wheels of what Palmette needs, and
# compare with the `palmette` of this machine: labels and trees must be the same bytes. aarch64.sh WHEEL [FOLDER]
# Needs apt-get (Debian), pip, and qemu-aarch64 (package qemu-user). Nothing is installed outside of the folder.
set -euo pipefail
wheel=$(realpath "$1")
work=$(realpath "${2:-$(mktemp -d)}")
root=$work/root
mkdir -p "$work"/apt/{lists,cache/archives}/partial "$work/wheels" "$work/site" "$work/here" "$work/there" "$root"
touch "$work/apt/status"
cat >"$work/apt.conf" <<APT
APT::Architecture "arm64";
APT::Architectures { "arm64"; };
APT::Sandbox::User "root";
Dir::State "$work/apt";
Dir::State::lists "$work/apt/lists";
Dir::State::status "$work/apt/status";
Dir::Cache "$work/apt/cache";
APT
(
    export APT_CONFIG=$work/apt.conf DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    apt-get install -qq -y --no-install-recommends --download-only python3 libstdc++6 >/dev/null
)
for package in "$work"/apt/cache/archives/*.deb; do dpkg -x "$package" "$root"; done

emulated() { qemu-aarch64 -L "$root" -E PYTHONPATH="$work/site" "$root"/usr/bin/python3.[0-9]* "$@"; }

version=$(emulated -c 'import sys; print("%d.%d" % sys.version_info[:2])')
pip download -q -d "$work/wheels" --only-binary=:all: --python-version "$version" --platform manylinux_2_28_aarch64 \
    --platform manylinux_2_27_aarch64 --platform manylinux2014_aarch64 "$wheel"
for file in "$work"/wheels/*.whl; do python3 -m zipfile -e "$file" "$work/site"; done
emulated -m palmette doctor | head -3

steps() { # steps COMMAND...: the same work here and there
    "$@" demo --dataset trees >/dev/null
    "$@" demo --corpus >/dev/null
    "$@" train train.txt -o tagger.palm --passes 2 --seed 1 -q
    "$@" tag tagger.palm test.txt -o tagged.txt -q
    [ -e ../crf.palm ] || "$@" train train.txt -o ../crf.palm --learner crf --iterations 5 -q # last bits of sums differ
    "$@" tag ../crf.palm test.txt -o crf.txt -q
    "$@" parser train trees.conllu -o parser.palm --passes 1 --seed 1 -q
    "$@" parser parse parser.palm trees_test.conllu -o parsed.conllu -q
}
(cd "$work/here" && steps palmette)
(cd "$work/there" && steps emulated -m palmette)
for file in tagged.txt crf.txt parsed.conllu tagger.palm parser.palm; do
    cmp "$work/here/$file" "$work/there/$file"
    echo "$file: the same on $(uname -m) and aarch64"
done
