#!/usr/bin/env bash
# Makes the results behind docs/reproduction.md: two to three hours on two cores. What
# is there is not run again, so it can be stopped and started as you like.
#
#   UNALIGNED_DATA=<folder with the files> benchmarks/reproduce.sh [further options]
#
# Further options go to every command: --jobs 1, say, or --output elsewhere.
set -euo pipefail
cd "$(dirname "$0")/.."

bench() { unaligned bench "$@" --no-page; }
options=(--output benchmarks/results/reproduction "$@")

exact=proteinfold,wiki # the paper's own files
others=handwritten,reuters-1200,caltech101-20-recon
large=cifar10-10k-recon # the only one that the cubic methods have no time for

bench table4 --datasets $exact "${options[@]}"
bench table6 --datasets $exact "${options[@]}"
bench table7 --datasets $exact "${options[@]}"
# Released and default settings: grids of these would take days, and the paper has no
# figures that theirs could be compared with.
bench table4 --datasets $others --grid-shuffles 0 --shuffles 3 "${options[@]}"
bench table4 --datasets $large --grid-shuffles 0 --shuffles 3 --time-limit 300 "${options[@]}"
bench table6 --datasets $others,$large --shuffles 3 "${options[@]}"
bench figure3 --datasets $large "${options[@]}"
bench figure4 --datasets $exact --shuffles 3 "${options[@]}"
bench figure5 --datasets $exact "${options[@]}"
bench figure6 --datasets $exact,$others,$large "${options[@]}"
bench table5 --datasets $exact --grid-shuffles 0 --shuffles 3 "${options[@]}"
bench scaling --time-limit 300 "${options[@]}"
python -m benchmarks.pages reproduction
