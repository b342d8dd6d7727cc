#!/usr/bin/env bash
# Makes the results behind docs/reproduction.md: hours of computing on two cores. What is
# there is not run again, so it can be stopped and started as you like.
#
#   UNALIGNED_DATA=<folder with the files> benchmarks/reproduce.sh [further options]
#
# Further options go to every command: --jobs 1, say, or --output elsewhere.
set -euo pipefail
cd "$(dirname "$0")/.."

bench() { unaligned bench "$@" --no-page; }
options=(--output benchmarks/results/reproduction --time-limit 1800 "$@")

exact=proteinfold,wiki # the paper's own files
small=$exact,handwritten,reuters-1200
large=caltech101-20-recon,cifar10-10k-recon

bench table4 --datasets $exact "${options[@]}"
bench table6 --datasets $exact "${options[@]}"
bench table7 --datasets $exact "${options[@]}"
bench table5 --datasets $exact "${options[@]}"
bench figure6 --datasets $small,$large "${options[@]}"
bench figure5 --datasets $small "${options[@]}"
bench figure4 --datasets $exact --methods PAVuC "${options[@]}"
bench figure4 --datasets $exact --methods SAVuC --shuffles 3 "${options[@]}"
bench figure3 --datasets cifar10-10k-recon "${options[@]}"
bench table4 --datasets handwritten,reuters-1200 "${options[@]}"
bench table6 --datasets handwritten,reuters-1200 "${options[@]}"
# Grids of large data take days: released and default settings only.
bench table4 --datasets $large --grid-shuffles 0 --shuffles 5 "${options[@]}"
bench table6 --datasets $large --shuffles 5 "${options[@]}"
bench scaling "${options[@]}"
python -m benchmarks.reproduction
