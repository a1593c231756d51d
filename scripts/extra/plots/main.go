// Plots measures how costs grow and draws each curve as SVG. scripts/extra/plot builds what it needs
// and starts it. It is a module of its own, so that the plotting library is not a
// dependency of what is shipped.
package main

import (
	"encoding/csv"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
)

// A curve is one line of a figure: what is measured at each of its points.
type curve struct {
	name string
	at   func(x int) (y float64, err error)
}

type figure struct {
	file, title, x, y string
	points            []int
	curves            []curve
}

// lab is where the programs are, and where they write to.
type lab struct {
	bin, work string
	scale     int // of the counts: 1 of a quick run
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "plots:", err)
		os.Exit(1)
	}
}

func run() error {
	var l lab
	flag.StringVar(&l.bin, "bin", "", "`directory` of what was built")
	flag.StringVar(&l.work, "work", "", "empty `directory` to write to")
	out := flag.String("out", "", "`directory` for the figures")
	quick := flag.Bool("quick", false, "measure less")
	only := flag.String("only", "", "draw only figures whose file name matches this regular `expression`")
	flag.Parse()
	want, err := regexp.Compile(*only)
	if err != nil {
		return err
	}
	if l.scale = 10; *quick {
		l.scale = 1
	}
	for _, f := range l.figures() {
		if !want.MatchString(f.file) {
			continue
		}
		lines := map[string]plotter.XYs{}
		for _, x := range f.points {
			for _, c := range f.curves {
				y, err := l.median(func() (float64, error) { return c.at(x) })
				if err != nil {
					return fmt.Errorf("%s, %s at %d: %w", f.file, c.name, x, err)
				}
				lines[c.name] = append(lines[c.name], plotter.XY{X: float64(x), Y: y})
				fmt.Fprintf(os.Stderr, "%s, %s at %d: %.4g %s\n", f.file, c.name, x, y, f.y)
			}
		}
		if err := f.draw(*out, lines); err != nil {
			return err
		}
	}
	return nil
}

// median returns the middle one of three values. A quick run has one.
func (l *lab) median(f func() (float64, error)) (float64, error) {
	all := make([]float64, 3)
	if l.scale == 1 {
		all = all[:1]
	}
	for i := range all {
		var err error
		if all[i], err = f(); err != nil {
			return 0, err
		}
	}
	slices.Sort(all)
	return all[len(all)/2], nil
}

// output runs a command and returns what it prints, and how many seconds it took.
func output(argv ...string) (string, float64, *os.ProcessState, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stderr = os.Stderr
	start := time.Now()
	b, err := cmd.Output()
	return string(b), time.Since(start).Seconds(), cmd.ProcessState, err
}

// target runs a target and returns the first number that it prints.
func (l *lab) target(args ...any) (float64, error) {
	argv := []string{filepath.Join(l.bin, "target")}
	for _, a := range args {
		argv = append(argv, fmt.Sprint(a))
	}
	out, _, _, err := output(argv...)
	if err != nil {
		return 0, err
	}
	first, _, _ := strings.Cut(strings.TrimSpace(out), " ")
	return strconv.ParseFloat(first, 64)
}

func (l *lab) tool(name string) string { return filepath.Join(l.bin, "bin", name) }

func (l *lab) figures() []figure {
	n := l.scale * 500_000
	each := func(count int, args ...any) (float64, error) {
		v, err := l.target(args...)
		return v / float64(count), err
	}
	logs := []int{1e5, 1e6, 1e7, 1e8}
	if l.scale == 1 {
		logs = logs[:2]
	}
	return []figure{
		{"writers", "Recording, by several writers into one stream", "writers", "ns per event, of all", []int{1, 2, 4, 8, 16, 64, 256}, l.crowds()},
		{"streams", "Recording, by streams that trace the process", "streams", "ns per event", []int{1, 10, 60}, []curve{
			{"all running", func(x int) (float64, error) { return each(n/x, "streams", x, n/x) }},
		}},
		{"types", "Recording, by event types", "event types", "ns per event", []int{10, 100, 1000}, []curve{
			{"in turn", func(x int) (float64, error) { return each(n/x*x, "types", x, n) }},
		}},
		{"payload", "Recording, by bytes of data", "bytes", "ns per event", []int{0, 16, 256, 1024, 4096}, []curve{
			{"one writer", func(x int) (float64, error) { return each(n, "loop", x, 1, n) }},
		}},
		{"logs", "Reading a log of ten minutes, by its events", "events", "seconds", logs, []curve{
			{"all, as text", func(x int) (float64, error) { return l.read(x) }},
			{"one second of it", func(x int) (float64, error) { return l.read(x, "--since", "+300s", "--until", "+301s") }},
		}},
		{"processes", "Processes that come, record one event, and go", "processes", "ms per process", []int{1, 10, 100, 1000}, []curve{
			{"ptrace-event", func(x int) (float64, error) {
				loop := `i=0; while [ $i -lt "$1" ]; do "$0" build.step || exit; i=$((i + 1)); done`
				_, s, _, err := output(l.tool("ptrace-run"), "--dump=never", "--", "sh", "-c", loop, l.tool("ptrace-event"), strconv.Itoa(x))
				return s * 1000 / float64(x), err
			}},
		}},
	}
}

// crowds are goroutines and processes that all write to one stream, of different sizes.
func (l *lab) crowds() (list []curve) {
	for _, kind := range []string{"goroutines", "processes"} {
		for _, s := range []struct {
			size int
			name string
		}{{64 << 10, "64 KiB"}, {1 << 20, "1 MiB"}, {16 << 20, "16 MiB"}} {
			list = append(list, curve{kind + ", " + s.name, func(x int) (float64, error) {
				return l.target("crowd", kind, x, s.size, fmt.Sprint(min(l.scale*300, 1000), "ms"))
			}})
		}
	}
	return list
}

// read lists a log of so many events, which is made when it is needed first.
func (l *lab) read(events int, args ...string) (float64, error) {
	log := filepath.Join(l.work, fmt.Sprint(events))
	if _, err := os.Stat(log); err != nil {
		if out, _, _, err := output(filepath.Join(l.bin, "target"), "span", log, "16", strconv.Itoa(events), "10m"); err != nil {
			return 0, fmt.Errorf("%w: %s", err, out)
		}
	}
	cmd := exec.Command(l.tool("ptrace-dump"), append(args, log)...) // to /dev/null
	cmd.Stderr = os.Stderr
	start := time.Now()
	err := cmd.Run()
	return time.Since(start).Seconds(), err
}

// draw writes the figure, and its numbers beside it.
func (f *figure) draw(dir string, lines map[string]plotter.XYs) error {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = f.title, f.x, f.y
	p.Legend.Top, p.Legend.Left = true, true
	p.Add(plotter.NewGrid())
	table := [][]string{{"curve", f.x, f.y}}
	var args []any
	top, bottom := 0.0, math.Inf(1)
	for _, c := range f.curves {
		args = append(args, c.name, lines[c.name])
		for _, v := range lines[c.name] {
			top, bottom = max(top, v.Y), min(bottom, v.Y)
			table = append(table, []string{c.name, strconv.FormatFloat(v.X, 'f', -1, 64), strconv.FormatFloat(v.Y, 'g', 4, 64)})
		}
	}
	if err := plotutil.AddLinePoints(p, args...); err != nil {
		return err
	}
	if f.points[0] > 0 {
		p.X.Scale = plot.LogScale{}
	}
	var ticks plot.ConstantTicks // where it was measured
	for _, x := range f.points {
		ticks = append(ticks, plot.Tick{Value: float64(x), Label: strconv.Itoa(x)})
	}
	p.X.Tick.Marker = ticks
	// Room for the half of the last label that is to the right of its tick.
	first, last := float64(f.points[0]), float64(f.points[len(f.points)-1])
	if p.X.Max = last + (last-first)*0.14; first > 0 {
		p.X.Max = last * math.Pow(last/first, 0.14)
	}
	p.Y.Min, p.Y.Max = 0, top*max(1.25, 1+float64(len(f.curves))/9) // room for the legend
	if top > 50*bottom && bottom > 0 {
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
		p.Y.Min, p.Y.Max = bottom/2, top*4
	}
	base := filepath.Join(dir, f.file)
	if err := p.Save(16*vg.Centimeter, 9*vg.Centimeter, base+".svg"); err != nil {
		return err
	}
	file, err := os.Create(base + ".csv")
	if err != nil {
		return err
	}
	if err := csv.NewWriter(file).WriteAll(table); err != nil {
		return err
	}
	return file.Close()
}
