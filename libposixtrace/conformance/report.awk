# The report of run: the results are name, what, text. A requirement has failed if one of its tests has,
# has passed if one of them has, and has else the result of the last.
function count(group, what) {
	if (!(group in seen)) {
		seen[group] = 1
		groups[++n] = group
	}
	number[group, what]++
}

function line(group, i, s) {
	s = ""
	for (i = 1; i <= 5; i++)
		if (number[group, kinds[i]])
			s = s sprintf("%s%d %s", s == "" ? "" : ", ", number[group, kinds[i]], words[i])
	printf "%-48s %s\n", group, s
}

BEGIN {
	split("pass,fail,not supported,not run,not portable", kinds, ",")
	split("passed,failed,not supported,not run,not tested by a portable program", words, ",")
	while ((getline row < requirements) > 0) {
		if (row ~ /^#/)
			continue
		split(row, f, " +")
		option[f[1]] = f[2]
		functions[f[1]] = f[3]
		choice[f[1]] = f[5] == "choice"
	}
}

{
	id = $1
	sub(/\/.*/, "", id)
	if (!(id in result)) {
		order[++ids] = id
		result[id] = $2
		text[id] = $3
	} else if ($2 == "fail" || ($2 == "pass" && result[id] != "fail")) {
		result[id] = $2
		text[id] = $3
	}
	if ($2 == "fail")
		failed++
	tests++
	if (form != "tap")
		next
	if ($2 == "fail") {
		printf "not ok %d - %s\n", NR, $1
		k = split($3, lines, "|")
		for (i = 1; i <= k; i++)
			print "# " lines[i]
	} else if ($2 == "pass")
		printf "ok %d - %s\n", NR, $1
	else
		printf "ok %d - %s # SKIP %s: %s\n", NR, $1, $2 == "not portable" ? "not tested by a portable program" : $2, $3
}

END {
	if (form == "tap") {
		print "1.." NR
		exit failed > 0
	}
	print "By requirement"
	for (i = 1; i <= ids; i++) {
		id = order[i]
		what = result[id]
		row = sprintf("%-8s %-4s %-14s %s", id (choice[id] ? "*" : ""), option[id], what, functions[id] == "-" ? "" : functions[id])
		sub(/ +$/, "", row)
		print row
		if (what != "pass") {
			k = split(text[id], lines, "|")
			for (j = 1; j <= k; j++)
				print "         " lines[j]
		}
		if (option[id] == "")
			continue
		required++
		count("all", what)
		count("option " option[id], what)
		k = split(functions[id], f, ",")
		for (j = 1; j <= k; j++)
			if (f[j] != "-")
				count("function " f[j], what)
	}
	print "\n* The requirement has a choice of libposixtrace's, where the standard leaves one: a failure may be another choice."
	print "\nBy option and function"
	for (i = 1; i <= n; i++)
		if (groups[i] != "all")
			sorted[++m] = groups[i]
	for (i = 2; i <= m; i++)
		for (j = i; j > 1 && after(sorted[j - 1], sorted[j]); j--) {
			swap = sorted[j]
			sorted[j] = sorted[j - 1]
			sorted[j - 1] = swap
		}
	for (i = 1; i <= m; i++)
		line(sorted[i])
	printf "\n%d tests of %d requirements\n", tests, required
	line("all")
	exit failed > 0
}

# Options before functions.
function after(a, b) {
	if (substr(a, 1, 1) != substr(b, 1, 1))
		return substr(a, 1, 1) == "f"
	return a > b
}
