package main

import "testing"

func TestProcessorsAreNamedAsTheKernelNamesThem(t *testing.T) {
	for _, c := range []struct{ cpuinfo, name, family, file string }{
		{"processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 207\nmodel name\t: Intel(R) Xeon(R) Platinum 8592+\nstepping\t: 2\n\nprocessor\t: 1\nmodel name\t: another\n",
			"Intel(R) Xeon(R) Platinum 8592+ (Intel, family 6, model 207), 2 processors", intel, "intel-xeon-platinum-8592-6-207"},
		{"vendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 17\nmodel name\t: AMD EPYC\n",
			"AMD EPYC (AMD, family 25, model 17), 2 processors", amd, "amd-epyc-25-17"},
		{"processor\t: 0\nBogoMIPS\t: 2000.00\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU part\t: 0xd40\n",
			"arm processor (arm, implementer 0x41, part 0xd40), 2 processors", arm, "arm-processor-41-d40"},
		{"vendor_id\t: Another\ncpu family\t: 7\nmodel\t\t: 1\nmodel name\t: Some CPU @ 2.00GHz\n",
			"Some CPU @ 2.00GHz (family 7, model 1), 2 processors", "", "some-cpu-2-00ghz-7-1"},
		{"", "processor of an unknown kind, 2 processors", "", "processor-of-an-unknown-kind"},
	} {
		m := parseCPUInfo(c.cpuinfo)
		m.processors = 2
		if m.String() != c.name || m.family != c.family || m.file() != c.file {
			t.Errorf("%q, family %q, file %q; want %q, %q, %q", m, m.family, m.file(), c.name, c.family, c.file)
		}
		if got := familyOf(m.String()); got != c.family {
			t.Errorf("familyOf(%q) = %q, want %q", m, got, c.family)
		}
	}
}

func TestEachFamilyHasItsBar(t *testing.T) {
	differ, same := mostOn(0.28, 0.17), least(30)
	for _, c := range []struct {
		bars         bars
		family, want string
	}{
		{differ, intel, "≤ 0.28"},
		{differ, amd, "≤ 0.17"},
		{differ, arm, ""},
		{differ, "", ""},
		{same, intel, "≥ 30"},
		{same, arm, "≥ 30"},
		{atMost(10, count), amd, "≤ 10 events"},
		{bars{}, intel, ""},
	} {
		if got := c.bars.of(c.family).String(); got != c.want {
			t.Errorf("%v of %q: %q, want %q", c.bars, c.family, got, c.want)
		}
	}
}

func TestBarsAreMetByTheRatioTheValueOrTheOther(t *testing.T) {
	ratio := func(v float64, b bars) *item { return &item{ours: sample{1}, ratio: sample{v}, bar: b} }
	value := func(v float64, b bars) *item { return &item{ours: sample{v}, unit: count, bar: b} }
	either := ratio(1.3, most(1.2))
	either.or = ratio(1.2, most(1.25))
	none := ratio(1.3, most(1.2))
	none.or = ratio(1.3, most(1.25))
	none.or.or = none
	lost := ratio(0.1, most(1.2))
	lost.fault = "2 lost"
	for i, c := range []struct {
		it           *item
		family, want string
	}{
		{ratio(0.2, mostOn(0.28, 0.17)), intel, "yes"},
		{ratio(0.2, mostOn(0.28, 0.17)), amd, "NO"},
		{ratio(0.2, mostOn(0.28, 0.17)), arm, ""},
		{ratio(30, least(30)), intel, "yes"},
		{ratio(29, least(30)), intel, "NO"},
		{value(10, atMost(10, count)), intel, "yes"},
		{value(11, atMost(10, count)), intel, "NO"},
		{value(0, atMost(0, count)), intel, "yes"},
		{&item{bar: atMost(0, count)}, intel, ""},
		{&item{bar: most(1)}, intel, ""},
		{either, intel, "yes"},
		{none, intel, "NO"},
		{lost, intel, "NO: 2 lost"},
	} {
		if got := c.it.met(c.family); got != c.want {
			t.Errorf("item %d: %q, want %q", i, got, c.want)
		}
	}
}

func TestMetricsOfABenchmark(t *testing.T) {
	m := metrics("goos: linux\nBenchmarkLiveOrder/goroutines-2 \t 1\t8005742429 ns/op\t 34.00 disordered\t 35 late\t 1659703 read\nPASS\n")
	if m["disordered"] != 34 || m["late"] != 35 || m["read"] != 1659703 || m["ns/op"] != 8005742429 {
		t.Errorf("%v", m)
	}
}
