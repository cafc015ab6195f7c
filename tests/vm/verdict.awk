# SPDX-License-Identifier: MIT
#
# Judge a run of the guest.  Input: the tests' output (KTAP between the marks
# of init), then the kernel's console.  Output, one line a result, fields
# separated by tabs: PASS|FAIL|SKIP, test, case, remark.
#
#   awk -f verdict.awk -v splats=FILE -v allow=FILE tests.log console.log
#
# splats: one extended regular expression a line, what a healthy kernel never
# says.  allow: "TEST-REGEX<tab>LINE-REGEX", what a test provokes on purpose.

function result(what, name, remark) {
	gsub(/\t/, " ", name)
	gsub(/\t/, " ", remark)
	printf "%s\t%s\t%s\t%s\n", what, test, name, remark
	count[what]++
	seen++
}

function close_test(status, why) {
	if (status == 4 && !count["FAIL"] && !count["PASS"] && !count["SKIP"])
		result("SKIP", "-", skip_reason != "" ? skip_reason : "exit status 4")
	else if (status != 0 && status != 4 && !count["FAIL"])
		result("FAIL", "-", why)
	else if (planned >= 0 && status == 0 && seen != planned && !whole_skip)
		result("FAIL", "-", "planned " planned " results, saw " seen)
	else if (!seen && !whole_skip)
		result("PASS", "-", "")
	test = ""
}

function read_list(file, array,    line, n) {
	n = 0
	while ((getline line < file) > 0)
		if (line !~ /^(#|[ \t]*$)/)
			array[++n] = line
	close(file)
	return n
}

BEGIN {
	nsplats = read_list(splats, splat)
	nallow = read_list(allow, allowed)
	planned = -1
}

{ sub(/\r+$/, "") }

# --- the tests' output ------------------------------------------------------------

FILENAME == ARGV[1] && /^#vm begin / {
	test = $3
	planned = -1
	seen = whole_skip = 0
	skip_reason = ""
	delete count
	next
}

FILENAME == ARGV[1] && /^#vm end / {
	status = $4
	why = "exit status " status
	if (status == 137 || status == 143)
		why = "killed: did not end in time"
	else if (status > 128)
		why = "killed by signal " (status - 128)
	close_test(status, why)
	next
}

FILENAME == ARGV[1] && /^#vm ready / { ready = 1; next }
FILENAME == ARGV[1] && /^#vm done / { finished = 1; next }
FILENAME == ARGV[1] && test == "" { next }

FILENAME == ARGV[1] && /^1\.\.[0-9]+/ {
	split($1, range, /\.\./)
	planned = range[2] + 0
	if (planned == 0 && $0 ~ /# *SKIP/) {
		reason = $0
		sub(/.*# *SKIP */, "", reason)
		result("SKIP", "-", reason)
		whole_skip = 1
	}
	next
}

FILENAME == ARGV[1] && /^(not )?ok [0-9]+/ {
	bad = /^not/
	name = $0
	sub(/^(not )?ok [0-9]+ *(- )?/, "", name)
	remark = ""
	if (match(name, /# *(SKIP|XFAIL|TODO|XPASS|TIMEOUT)/)) {
		remark = substr(name, RSTART)
		name = substr(name, 1, RSTART - 1)
		sub(/^# */, "", remark)
	}
	sub(/[ \t]+$/, "", name)
	if (remark ~ /^SKIP/) {
		sub(/^SKIP */, "", remark)
		result("SKIP", name, remark)
	} else if (bad && remark !~ /^(XFAIL|TODO)/) {
		result("FAIL", name, remark != "" ? remark : first_note)
	} else {
		result("PASS", name, remark)
	}
	first_note = ""
	next
}

FILENAME == ARGV[1] && /^#/ {
	note = $0
	sub(/^# */, "", note)
	# The first is the assertion, the rest follows from it.
	if (note ~ /^ *RUN/)
		first_note = ""
	else if (first_note == "" && note !~ /^ *(FAIL|OK|PASSED|FAILED|Totals|Starting|$)/ &&
		 note !~ /Test failed$/)
		first_note = note
	if ($0 ~ /SKIP/) {
		skip_reason = $0
		sub(/.*SKIP[: ]*/, "", skip_reason)
	}
	next
}

# --- the kernel's console -----------------------------------------------------------

FILENAME != ARGV[1] && !console {
	console = 1
	if (test != "") {
		open_test = test
		close_test(1, "the guest ended or hung within this test")
	}
	test = "vm_boot"
}

FILENAME != ARGV[1] && / vm: begin / {
	sub(/.* vm: begin /, "")
	test = $1
	next
}

FILENAME != ARGV[1] && / vm: end / { after = test; test = "after_" after; next }

FILENAME != ARGV[1] {
	for (i = 1; i <= nsplats; i++) {
		if ($0 !~ splat[i])
			continue
		for (j = 1; j <= nallow; j++) {
			split(allowed[j], pair, /\t/)
			if (test ~ ("^(after_)?(" pair[1] ")$") && $0 ~ pair[2])
				next
		}
		line = $0
		sub(/^\[[^]]*\] */, "", line)
		result("FAIL", "kernel log", line)
		next
	}
}

END {
	if (!console && test != "")
		close_test(1, "the guest ended or hung within this test")
	test = "vm_boot"
	if (!ready)
		result("FAIL", "boot", "the guest did not start its tests")
	else if (!finished && open_test == "")
		result("FAIL", "end", "the guest did not reach its end")
}
