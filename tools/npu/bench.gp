# SPDX-License-Identifier: MIT
# The figure of Documentation/performance.rst, from `npu bench --csv`:
#	npu bench --csv --no-submit > bench.csv
#	gnuplot -e "csv='bench.csv'; svg='performance.svg'" tools/npu/bench.gp
if (!exists("csv")) csv = "bench.csv"
if (!exists("svg")) svg = "performance.svg"

set terminal svg noenhanced size 1100,900 font "sans,12" background rgb "white"
set output svg
set datafile separator ","
set multiplot layout 2,1 title "Share of the memory bound, one thread"
set style data histograms
set style histogram clustered gap 1
set style fill solid 0.9 border -1
set boxwidth 0.95
set yrange [0:1.1]
set ytics 0.25
set grid ytics
set xtics rotate by -40 scale 0
set key outside top right horizontal

levels = system("tail -n +2 ".csv." | cut -d, -f2 | awk '!seen[$0]++'")
rows(level, set) = sprintf("< awk -F, '$2==\"%s\" && $3==\"%s\"' %s", level, set, csv)

do for [name in "L2 DRAM"] {
	set title (name eq "L2" ? "256 KiB, in the second-level cache" : "256 MiB, in memory")
	plot for [level in levels] rows(level, name) using 6:xtic(1) title level
}
unset multiplot
unset output
system(sprintf("sed -i '1a <!-- SPDX-License-Identifier: MIT -->' '%s'", svg))
