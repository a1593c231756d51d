package tool

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// list opens the list of the mappings of a process.
func list(t testing.TB, pid int) *os.File {
	t.Helper()
	maps, err := os.Open(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { maps.Close() })
	return maps
}

// mapFile maps the program that this process executes under another name. If removed, the name is gone
// then. It returns the address.
func mapFile(t *testing.T, name string, removed bool) uint64 {
	t.Helper()
	program, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, program, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, err := unix.Mmap(int(f.Fd()), 0, 64<<10, unix.PROT_READ, unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Munmap(b) })
	if removed {
		os.Remove(path)
	}
	return uint64(reflect.ValueOf(b).Pointer())
}

// The kernel's answer about one address is that of the list of all mappings: in this program, in one in C
// with shared libraries, for an unlinked file whatever its name, and for an address in no mapping.
func TestMappingAskedAndListed(t *testing.T) {
	mapFile(t, "plain", false)
	mapFile(t, "a b\n (deleted)x", true)
	cat := exec.Command("cat")
	in, err := cat.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cat.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cat.Start(); err != nil {
		t.Fatal(err)
	}
	defer cat.Wait()
	defer in.Close()
	var b [1]byte
	if _, err := in.Write(b[:]); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(b[:]); err != nil { // it has its libraries
		t.Fatal(err)
	}
	for _, pid := range []int{os.Getpid(), cat.Process.Pid} {
		known := 0
		for _, addr := range addresses(t, pid) {
			want, wrong := listed(list(t, pid), pid, addr)
			got, ok, err := asked(list(t, pid), pid, addr)
			if ok {
				known++
				if err != wrong || !reflect.DeepEqual(got, want) {
					t.Errorf("%#x: asked %+v, %v; listed %+v, %v", addr, got, err, want, wrong)
				}
			}
			if got, err := Mapping(pid, addr); err != wrong || !reflect.DeepEqual(got, want) {
				t.Errorf("Mapping(%#x) = %+v, %v; listed %+v, %v", addr, got, err, want, wrong)
			}
		}
		tracetest.Only(t, known > 0, "from Linux 6.11 on")
		if known < 4 {
			t.Errorf("the kernel answers for %d addresses", known)
		}
	}
}

// addresses returns the first and the last address of each mapping of a process that the process itself does
// not change, and one that is in none.
func addresses(t *testing.T, pid int) []uint64 {
	t.Helper()
	all := []uint64{0}
	in := bufio.NewScanner(list(t, pid))
	for in.Scan() {
		line := in.Text()
		var start, end uint64
		if _, err := fmt.Sscanf(line, "%x-%x", &start, &end); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if strings.Contains(line, "/") || strings.Contains(line, "[v") {
			all = append(all, start, end-1)
		}
	}
	if in.Err() != nil || len(all) < 9 {
		t.Fatalf("process %d: %d addresses, %v", pid, len(all), in.Err())
	}
	return all
}

// The list shows a newline in a path as it shows a path that has the characters of an escape. The kernel's
// answer has the path.
func TestMappingOfOddPath(t *testing.T) {
	const name = `a\012b`
	addr := mapFile(t, name, false)
	_, known, _ := asked(list(t, os.Getpid()), os.Getpid(), addr)
	tracetest.Only(t, known, "from Linux 6.11 on")
	if d, err := Mapping(os.Getpid(), addr); err != nil || filepath.Base(d.Path) != name || d.Removed {
		t.Errorf("%+v, %v, want %s", d, err, name)
	}
}

func BenchmarkMapping(b *testing.B) {
	addr := uint64(reflect.ValueOf(BenchmarkMapping).Pointer())
	for name, f := range map[string]func(*os.File) (posixtrace.MapData, error){
		"asked": func(maps *os.File) (posixtrace.MapData, error) {
			d, _, err := asked(maps, os.Getpid(), addr)
			return d, err
		},
		"listed": func(maps *os.File) (posixtrace.MapData, error) { return listed(maps, os.Getpid(), addr) },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				maps, err := os.Open("/proc/self/maps")
				if err != nil {
					b.Fatal(err)
				}
				if _, err := f(maps); err != nil {
					b.Fatal(err)
				}
				maps.Close()
			}
		})
	}
}
